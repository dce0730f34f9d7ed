"""One id from request to worker to provider: made here, never taken from outside, in every log line and
answer.
"""

from __future__ import annotations

import secrets
import time

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars, get_contextvars

log = structlog.get_logger(__name__)

HEADER = "x-correlation-id"


def correlation_id() -> str:
    """Return the id of what is being done now, or nothing outside of requests and jobs."""
    return str(get_contextvars().get("correlation_id", ""))


class Correlation:
    """Gives each request its id and one line in the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve with a fresh id bound to every log line."""
        if scope["type"] not in set(ScopeType):
            await self._app(scope, receive, send)
            return
        reference = secrets.token_hex(8)
        started, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (HEADER.encode(), reference.encode())]
            await send(message)

        with bound_contextvars(correlation_id=reference):
            await self._app(scope, receive, send_with_id)
            if scope["type"] == ScopeType.HTTP:
                _note(scope, status=status, seconds=time.perf_counter() - started)


def _note(scope: Scope, *, status: int, seconds: float) -> None:
    # The route's pattern, not the path: signed links and names stay out of the log.
    route = scope.get("path_template") or "(none)"
    if str(route).startswith("/static"):
        return
    log.info(
        "request.done", method=scope.get("method"), route=route, status=status, ms=round(seconds * 1000, 1)
    )
