"""TCP ports of this machine."""

from __future__ import annotations

import socket


def is_free(port: int, *, host: str = "127.0.0.1") -> bool:
    """Tell whether a server could listen on the port now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(*, preferred: int = 0) -> int:
    """Return the preferred port if it is free, else any free one. Another may still be faster."""
    if preferred and is_free(preferred):
        return preferred
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
