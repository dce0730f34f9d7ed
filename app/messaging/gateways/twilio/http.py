"""The SDK's HTTP client with one bounded, shared connection pool, explicit time-outs and guarded hosts.

The SDK's own client has no time-out, makes its session without limits and logs addresses of recipients; this
one replaces its request wholly. Nothing is repeated: aiohttp repeats only idempotent methods on a connection
that went away, creation is a POST.
"""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from twilio.http.async_http_client import AsyncTwilioHttpClient
from twilio.http.response import Response

from app.messaging.gateways.twilio.settings import TwilioSettings

IDLE_SECONDS = 2.0
"""How long an idle connection is kept: less than any server keeps it (5 s are common). A request on a connection that
the other side is just closing has an unknown outcome, and a person would have to look.
"""


class RefusedHostError(Exception):
    """A request was about to leave for a host that is not Twilio's."""


class GatewayClosedError(Exception):
    """The gateway is closed; nothing was sent."""


@dataclass(slots=True)
class Call:
    """What is known about the call in progress, beyond what the SDK's result or exception tells."""

    deadline: float
    handed_over: bool = False
    """From here on the request may be on the wire."""
    status: int | None = None
    retry_after: str | None = None


_CURRENT: Final[ContextVar[Call | None]] = ContextVar("twilio_call", default=None)


@contextmanager
def call(deadline: float) -> Iterator[Call]:
    """Give the requests inside a deadline in seconds each, and collect evidence about the last of them."""
    current = Call(deadline)
    token = _CURRENT.set(current)
    try:
        yield current
    finally:
        _CURRENT.reset(token)


class BoundedHttpClient(AsyncTwilioHttpClient):
    """One session for the life of a gateway, opened at the first request inside the running loop."""

    def __init__(self, settings: TwilioSettings) -> None:
        super().__init__(pool_connections=False)
        self._settings = settings
        self._base = urlsplit(settings.base_url) if settings.base_url else None
        self._shared: ClientSession | None = None
        self._closed = False

    async def request(  # type: ignore[override]  # as in the SDK: the port is declared synchronous
        self,
        method: str,
        url: str,
        params: dict[str, object] | None = None,
        data: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        timeout: float | None = None,
        allow_redirects: bool = False,
    ) -> Response:
        """One request, never redirected. Raises aiohttp's errors and `TimeoutError` as they are."""
        current = _CURRENT.get()
        if current is None:
            raise RuntimeError("a Twilio request needs a deadline")
        target = self.target(url)
        query, form = _texts(params), _texts(data)
        session = self._session()
        current.handed_over = True
        async with session.request(
            method.upper(),
            target,
            params=query,
            data=form or None,
            headers=_with_login(headers, auth),
            timeout=self._timeout(current.deadline),
            allow_redirects=False,
        ) as response:
            current.status = response.status
            current.retry_after = response.headers.get("Retry-After")
            return Response(response.status, await response.text("utf-8"), response.headers)

    async def close(self) -> None:
        """Close the connections; later requests are refused before anything is written."""
        self._closed = True
        if self._shared is not None:
            await self._shared.close()

    def target(self, url: str) -> str:
        """The address to call: the stand-in's scheme and host, or Twilio's own, which alone is allowed."""
        parts = urlsplit(url)
        if self._base is not None:
            return urlunsplit(parts._replace(scheme=self._base.scheme, netloc=self._base.netloc))
        host = parts.hostname or ""
        if parts.scheme != "https" or not host.endswith(".twilio.com") or "@" in parts.netloc:
            raise RefusedHostError
        return url

    def _session(self) -> ClientSession:
        if self._closed:
            raise GatewayClosedError
        if self._shared is None:
            connector = TCPConnector(
                limit=self._settings.max_connections,
                limit_per_host=self._settings.max_connections,
                ttl_dns_cache=300,
                keepalive_timeout=IDLE_SECONDS,
            )
            self._shared = ClientSession(connector=connector, cookie_jar=DummyCookieJar())
        return self._shared

    def _timeout(self, deadline: float) -> ClientTimeout:
        """Connecting, waiting for a free connection included, ends before the whole: so it can be told apart.

        Without the threshold aiohttp would round time-outs of more than 5 s up to the next full second.
        """
        connect = min(self._settings.connect_seconds, deadline / 2)
        return ClientTimeout(total=deadline, connect=connect, sock_connect=connect, ceil_threshold=inf)


def _with_login(headers: dict[str, str] | None, auth: tuple[str, str] | None) -> dict[str, str]:
    """The headers with Basic authentication."""
    if auth is None:
        return headers or {}
    login = b64encode(":".join(auth).encode("utf-8")).decode("ascii")
    return (headers or {}) | {"Authorization": f"Basic {login}"}


def _texts(values: dict[str, object] | None) -> list[tuple[str, str]]:
    """Parameters as text pairs; a list becomes a repeated name.

    Raises `UnicodeEncodeError` for text that has no encoding, before anything is written.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in (values or {}).items():
        pairs += [(name, str(v)) for v in value] if isinstance(value, list | tuple) else [(name, str(value))]
    for _, text in pairs:
        text.encode("utf-8")
    return pairs
