"""Calling the business's webhooks as the provider does: form-encoded, signed, with its retries."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urldefrag, urlencode, urlsplit, urlunsplit

import aiohttp
import structlog

from app.simulator.settings import LOOPBACK, SimulatorSettings
from app.simulator.signing import signature

log = structlog.get_logger()
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOverrides:
    """The provider's settings in a URL's fragment, `#ct=…&rt=…&rc=…&rp=…`.

    Source: twilio.com/docs/usage/webhooks/webhooks-connection-overrides. Times in milliseconds.
    """

    connect_ms: int = 5000
    read_ms: int = 15000
    retries: int = 1
    retry_on: frozenset[str] = frozenset({"ct"})

    @classmethod
    def of(cls, fragment: str) -> ConnectionOverrides:
        """Return the overrides of a fragment; what it does not name, or names badly, stays as usual."""
        values = {name: texts[0] for name, texts in parse_qs(fragment).items()}
        return cls(
            connect_ms=_number(values.get("ct"), usual=5000, low=100, high=10000),
            read_ms=_number(values.get("rt"), usual=15000, low=100, high=15000),
            retries=_number(values.get("rc"), usual=1, low=0, high=5),
            retry_on=frozenset(values.get("rp", "ct").split(",")),
        )

    def retries_after(self, outcome: str) -> bool:
        """Tell whether a failure of this kind (`ct`, `rt`, `4xx`, `5xx`) is tried again."""
        return "all" in self.retry_on or outcome in self.retry_on


def _number(text: str | None, *, usual: int, low: int, high: int) -> int:
    return min(max(int(text), low), high) if text is not None and text.isdecimal() else usual


class WebhookCaller:
    """Posts webhooks, a bounded number at once. Never leaves this machine: a foreign host is reached at the
    configured base.
    """

    def __init__(self, settings: SimulatorSettings) -> None:
        self._settings = settings
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Open the connections' pool."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_AT_ONCE),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def stop(self) -> None:
        """Close the connections' pool."""
        if self._session is not None:
            await self._session.close()

    async def post(self, *, url: str, params: Mapping[str, str]) -> int | None:
        """Post the parameters, again where the URL's settings say so; returns the last HTTP status, None if
        there was none.
        """
        bare, fragment = urldefrag(url)
        overrides = ConnectionOverrides.of(fragment)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            "User-Agent": "TwilioProxy/1.1",
            "X-Twilio-Signature": signature(auth_token=self._settings.auth_token, url=bare, params=params),
            "I-Twilio-Idempotency-Token": str(uuid.uuid4()),
        }
        body = urlencode(params)
        outcome, status = await self._once(bare, body, headers, overrides)
        for _ in range(overrides.retries):
            if outcome == "ok" or not overrides.retries_after(outcome):
                break
            outcome, status = await self._once(bare, body, headers, overrides)
        if outcome != "ok":
            log.warning("simulator.webhook_failed", outcome=outcome, status=status)
        return status

    async def _once(
        self, url: str, body: str, headers: Mapping[str, str], overrides: ConnectionOverrides
    ) -> tuple[str, int | None]:
        if self._session is None:
            raise RuntimeError("the webhook caller is not started")
        timeout = aiohttp.ClientTimeout(
            sock_connect=overrides.connect_ms / 1000, sock_read=overrides.read_ms / 1000
        )
        target, host = _on_this_machine(url, base=self._settings.local_base)
        sent = {**headers, "Host": host}
        async with self._slots:
            try:
                async with self._session.post(
                    target, data=body, headers=sent, timeout=timeout, allow_redirects=False
                ) as answer:
                    await answer.read()
                    return _outcome(answer.status), answer.status
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
                return "ct", None
            except (TimeoutError, aiohttp.ClientError):
                return "rt", None


def _outcome(status: int) -> str:
    return "ok" if status < 400 else f"{status // 100}xx"


def _on_this_machine(url: str, *, base: str) -> tuple[str, str]:
    """Return where to connect and the Host to name: the URL itself on the loopback, else the base with its
    path and query.
    """
    parts = urlsplit(url)
    if parts.hostname in LOOPBACK:
        return url, parts.netloc
    here = urlsplit(base)
    return urlunsplit((here.scheme, here.netloc, parts.path, parts.query, "")), parts.netloc
