"""`/healthz` makes a real round trip to each server and says plainly which one fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
import pytest
from litestar import Litestar
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import create_async_engine

from app.config import Settings
from app.web.health import database_check, health_handler, redis_check

NOBODY_THERE = "127.0.0.1:9"


async def ask(
    database_url: str, redis_url: str, *, timeout_seconds: float = 2.0
) -> tuple[int, dict[str, str]]:
    engine = create_async_engine(database_url)
    redis = Redis.from_url(redis_url)
    checks = {"database": database_check(engine), "redis": redis_check(redis)}
    app = Litestar([health_handler(checks, timeout_seconds=timeout_seconds)], openapi_config=None)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(cast("Any", app)), base_url="http://here"
    ) as client:
        answer = await client.get("/healthz")
    await redis.aclose()
    await engine.dispose()
    return answer.status_code, answer.json()


@pytest.fixture
async def silent_server() -> AsyncIterator[str]:
    """Give the address of a server that takes connections and never says a word (a half-open link)."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    yield f"{host}:{port}"
    server.close()


async def test_all_well(settings: Settings) -> None:
    assert await ask(settings.sqlalchemy_url, settings.redis_url) == (
        200,
        {"status": "ok", "database": "ok", "redis": "ok"},
    )


async def test_a_missing_database_is_named(settings: Settings) -> None:
    status, answer = await ask(f"postgresql+asyncpg://u:hush@{NOBODY_THERE}/d", settings.redis_url)
    assert status == 503
    assert answer == {"status": "unavailable", "database": "cannot be reached", "redis": "ok"}


async def test_T05_redis_is_part_of_health(settings: Settings) -> None:
    status, answer = await ask(settings.sqlalchemy_url, f"redis://:hush@{NOBODY_THERE}")
    assert status == 503
    assert answer["database"] == "ok"
    assert "hush" not in answer["redis"]


async def test_T05_a_half_open_redis_is_found_within_the_time(settings: Settings, silent_server: str) -> None:
    status, answer = await ask(settings.sqlalchemy_url, f"redis://{silent_server}", timeout_seconds=0.3)
    assert (status, answer["redis"]) == (503, "did not answer within 0.3 s")


async def test_a_wrong_password_is_told_without_it(settings: Settings) -> None:
    wrong = settings.redis_url.replace("redis://:", "redis://:not-")
    status, answer = await ask(settings.sqlalchemy_url, wrong)
    assert status == 503
    assert answer["redis"].startswith("refuses to work")
