"""A scripted stand-in for Twilio's HTTP: it answers what a test tells it to and records what it was asked."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

ACCOUNT = "AC0a1b2c3d4e5f60718293a4b5c6d7e8f9"
MESSAGES = f"/2010-04-01/Accounts/{ACCOUNT}/Messages"


@dataclass
class Answer:
    """One scripted answer. `drop` closes the connection after the request was read; `delay` in seconds."""

    status: int = 201
    body: str | dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    drop: bool = False
    content_type: str = "application/json"


@dataclass
class Stub:
    base_url: str
    answers: list[Answer] = field(default_factory=list)
    default: Callable[[dict[str, str]], Answer] | None = None
    created: list[dict[str, str]] = field(default_factory=list)
    listed: list[dict[str, str]] = field(default_factory=list)
    authorisations: set[str] = field(default_factory=set)
    connections: set[object] = field(default_factory=set)


def resource(**changes: Any) -> dict[str, Any]:
    """A message as the API shows it."""
    return {
        "sid": "SM" + "1" * 32,
        "account_sid": ACCOUNT,
        "status": "queued",
        "direction": "outbound-api",
        "from": "whatsapp:+60320000100",
        "to": "whatsapp:+60120000001",
        "body": "Hello",
        "messaging_service_sid": None,
        "date_created": "Sun, 29 Nov 2026 02:40:10 +0000",
        "date_updated": "Sun, 29 Nov 2026 02:40:10 +0000",
        "date_sent": None,
        "error_code": None,
        "error_message": None,
        **changes,
    }


def page(messages: list[dict[str, Any]], *, next_uri: str | None = None) -> dict[str, Any]:
    return {
        "messages": messages,
        "next_page_uri": next_uri,
        "page": 0,
        "page_size": 50,
        "uri": MESSAGES + ".json",
    }


@asynccontextmanager
async def running_stub() -> AsyncIterator[Stub]:
    """The stub on a free loopback port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    stub = Stub(f"http://127.0.0.1:{listener.getsockname()[1]}")

    async def create(request: web.Request) -> web.StreamResponse:
        form = {key: str(value) for key, value in (await request.post()).items()}
        stub.created.append(form)
        return await answer(request, form)

    async def show(request: web.Request) -> web.StreamResponse:
        stub.listed.append(dict(request.query))
        return await answer(request, {})

    async def answer(request: web.Request, form: dict[str, str]) -> web.StreamResponse:
        stub.authorisations.add(request.headers.get("Authorization", ""))
        stub.connections.add(request.transport)
        given = stub.answers.pop(0) if stub.answers else _default(stub, form)
        await asyncio.sleep(given.delay)
        if given.drop:
            assert request.transport is not None
            request.transport.abort()
        text = given.body if isinstance(given.body, str) else json.dumps(given.body)
        return web.Response(
            status=given.status, text=text, headers=given.headers, content_type=given.content_type
        )

    app = web.Application()
    app.router.add_post(f"{MESSAGES}.json", create)
    app.router.add_get(f"{MESSAGES}.json", show)
    app.router.add_get(MESSAGES + "/{sid}.json", show)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    try:
        yield stub
    finally:
        await runner.cleanup()


def _default(stub: Stub, form: dict[str, str]) -> Answer:
    return stub.default(form) if stub.default else Answer(201, resource())
