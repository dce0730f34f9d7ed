"""Where a request came from: the peer's address, or what a proxy that we trust says about it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from app.web.viewer import Connection


def client_address(connection: Connection, *, trusted_proxies: Sequence[str]) -> str:
    """Return the address of who asks.

    X-Forwarded-For is read from its end, past proxies that are trusted; the first other address is the
    client's.
    What stands before it was written by the client and is worth nothing.
    """
    peer = connection.client.host if connection.client else ""
    forwarded = ",".join(connection.headers.getall("x-forwarded-for", []))
    address = peer
    for named in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
        if not _is_trusted(address, trusted_proxies) or not _is_address(named):
            break
        address = named
    return address


def _is_trusted(address: str, networks: Sequence[str]) -> bool:
    return _is_address(address) and any(
        ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False) for network in networks
    )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
