"""A database for one command: opened on the attached servers, closed at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from app.cli.attached import attached
from app.config import Settings
from app.db.session import Database, make_engine

T = TypeVar("T")


def with_database(work: Callable[[Database, Settings], Awaitable[T]], *, home: Path | None) -> T:
    """Return what `work` answers. Raises `LaunchError` or `ConfigError` with a plain text."""
    with attached(home=home) as settings:
        return asyncio.run(_run(work, settings))


async def _run(work: Callable[[Database, Settings], Awaitable[T]], settings: Settings) -> T:
    engine = make_engine(settings, pool_size=1, application_name="warmline-command")
    try:
        return await work(Database(engine), settings)
    finally:
        await engine.dispose()
