"""What every answer carries: what a page may load, where it may be shown, and that nobody keeps private
pages.
"""

from __future__ import annotations

from collections.abc import Mapping

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",  # 'self' covers the socket of the same host (CSP level 3)
        "media-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "worker-src 'self'",
        "manifest-src 'self'",
    )
)
YEAR_SECONDS = 31_536_000


def security_headers(*, public_base_url: str) -> Mapping[str, str]:
    """Return the headers of every answer. A handler may set its own value for any of them."""
    headers = {
        "content-security-policy": CONTENT_SECURITY_POLICY,
        # Not `no-referrer`: forms would then come with `Origin: null` and could not be told from foreign
        # ones.
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "cache-control": "no-store",
    }
    if public_base_url.startswith("https://"):
        headers["strict-transport-security"] = f"max-age={YEAR_SECONDS}"
    return headers


class SecurityHeaders:
    """Adds the headers outside of everything else, so that error pages and unknown addresses carry them
    too.
    """

    def __init__(self, app: ASGIApp, *, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, with the headers that the answer does not set by itself."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message["headers"])
                names = {name.lower() for name, _ in given}
                message["headers"] = given + [pair for pair in self._headers if pair[0] not in names]
            await send(message)

        await self._app(scope, receive, send_with_headers)
