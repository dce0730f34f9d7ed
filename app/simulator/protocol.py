"""An HTTP server whose application can end a connection without an answer, as a dying provider does."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

EXTENSION = "warmline.hang_up"
_NO_LINGER = struct.pack("ii", 1, 0)
"""Closing then sends a reset instead of a regular end."""


class HangUpProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol, with a way to end the connection in the ASGI scope's extensions."""

    def on_headers_complete(self) -> None:
        """Begin a request as usual, and hand it the means to hang up."""
        super().on_headers_complete()
        scope, cycle = cast("dict[str, Any]", self.scope), self.cycle
        scope["extensions"] = {**(scope.get("extensions") or {}), EXTENSION: {"hang_up": _hanging_up(cycle)}}


def _hanging_up(cycle: RequestResponseCycle) -> Callable[[bool], None]:
    def hang_up(reset: bool) -> None:
        cycle.disconnected = True  # what the application still sends goes nowhere
        if reset:
            connection = cycle.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            cycle.transport.abort()
        else:
            cycle.transport.close()

    return hang_up


def hang_up(scope: Mapping[str, Any], how: Literal["close", "reset"]) -> None:
    """End the connection of this request; nothing of an answer is sent. Raises RuntimeError under another
    server.
    """
    extension = (scope.get("extensions") or {}).get(EXTENSION)
    if extension is None:
        raise RuntimeError("the simulator hangs up only when served by HangUpProtocol")
    extension["hang_up"](how == "reset")
