"""A business that takes the simulator's webhooks, and Twilio's own client pointed at the simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from twilio.http.async_http_client import AsyncTwilioHttpClient
from twilio.http.response import Response
from twilio.request_validator import RequestValidator
from twilio.rest.api.v2010.account.message import MessageInstance

from app.simulator.messages import Button
from tests.fixtures.simulator import Content

BUSINESS = "whatsapp:+60320000100"
LEAD = "whatsapp:+60120000001"
WELCOME = Content(
    sid="HX" + "a" * 32,
    body="Hello {{1}}, shall we save a place for {{2}}?",
    buttons=(
        Button(title="Yes please", payload="yes"),
        Button(title="Book", kind="url", url="https://example.org/{{2}}"),
    ),
    variables={"1": "there", "2": "Saturday"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One webhook that arrived."""

    path: str
    query: dict[str, str]
    params: dict[str, str]
    headers: dict[str, str]
    is_genuine: bool

    @property
    def status(self) -> str:
        return self.params.get("MessageStatus", "")


@dataclass
class Business:
    """Takes webhooks; `answers` decides what it says to each, 200 by itself."""

    url: str
    token: str
    public_url: str
    hooks: list[Hook] = field(default_factory=list)
    answers: Callable[[Hook], int] = lambda _: 200

    async def take(self, request: web.Request) -> web.Response:
        params = {name: str(value) for name, value in (await request.post()).items()}
        url = self.public_url + request.raw_path
        genuine = RequestValidator(self.token).validate(
            url, params, request.headers.get("X-Twilio-Signature", "")
        )
        hook = Hook(
            path=request.path,
            query=dict(request.query),
            params=params,
            headers=dict(request.headers),
            is_genuine=genuine,
        )
        self.hooks.append(hook)
        return web.Response(status=self.answers(hook))

    def statuses(self) -> list[str]:
        return [hook.status for hook in self.hooks if hook.path.endswith("/status")]

    def callback(self, attempt: str = "att_1") -> str:
        return f"{self.public_url}/webhooks/twilio/status?attempt={attempt}"


class SimulatedTwilio(AsyncTwilioHttpClient):
    """Twilio's own client with its host replaced, and its credentials in the header that aiohttp asks for
    now.
    """

    def __init__(self, base_url: str, *, timeout: float = 5.0) -> None:
        super().__init__()
        self.base_url = base_url
        self.seconds = timeout

    async def close(self) -> None:
        """Close the client's session; the SDK leaves the method untyped."""
        await super().close()  # type: ignore[no-untyped-call]

    async def request(  # type: ignore[override]  # the client itself overrides a synchronous one
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
        assert auth is not None
        credentials = {"Authorization": aiohttp.encode_basic_auth(*auth)}
        return await super().request(
            method,
            url.replace("https://api.twilio.com", self.base_url),
            params=params,
            data=data,
            headers={**(headers or {}), **credentials},
            # The client's own `timeout` is not applied to asynchronous requests: it comes with each.
            timeout=timeout or self.seconds,
            allow_redirects=allow_redirects,
        )


def state(message: MessageInstance) -> str:
    """Return a message's status as the text that it is (the client's types call it a class)."""
    return str(message.status)
