"""`/healthz`: whether this process can do its work, asked of what it depends on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from redis.asyncio import Redis
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

Check = Callable[[], Awaitable[None]]
"""Returns if all is well, raises if not."""

_log = structlog.get_logger()


def health_handler(checks: Mapping[str, Check], *, timeout_seconds: float) -> HTTPRouteHandler:
    """Return the handler of `/healthz`: 200 if every check passes within the time, else 503 with the reasons.

    The reasons name what is wrong and never an address or a password.
    """

    @get("/healthz", opt={"public": True}, include_in_schema=False, cache_control=None)
    async def healthz() -> Response[dict[str, str]]:
        answers = await asyncio.gather(
            *(_ask(name, check, timeout_seconds) for name, check in checks.items())
        )
        found = dict(zip(checks, answers, strict=True))
        well = all(answer == "ok" for answer in answers)
        return Response(
            {"status": "ok" if well else "unavailable", **found},
            status_code=200 if well else 503,
            headers={"Cache-Control": "no-store"},
        )

    return healthz


def database_check(engine: AsyncEngine) -> Check:
    """Return a check that makes a round trip to PostgreSQL."""

    async def check() -> None:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT 1"))

    return check


def redis_check(redis: Redis) -> Check:
    """Return a check that makes a round trip to Redis."""

    async def check() -> None:
        await redis.echo("warmline")

    return check


async def _ask(name: str, check: Check, timeout_seconds: float) -> str:
    try:
        async with asyncio.timeout(timeout_seconds):
            await check()
    except TimeoutError:
        reason = f"did not answer within {timeout_seconds:g} s"
    except OSError:
        reason = "cannot be reached"
    except Exception as error:  # whatever is wrong with it, the answer has to be an answer
        reason = f"refuses to work ({type(error).__name__})"
    else:
        return "ok"
    _log.warning("health.failed", dependency=name, reason=reason)
    return reason
