"""Work that nobody waits for: begun at once in the background, and of a burst under one name only one more follows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)

Work = Callable[[], Awaitable[None]]


class Soon:
    """Runs named work in this event loop. What fails is logged: somebody else finds what it should have done."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, Work] = {}

    def run(self, name: str, work: Work) -> None:
        """Begin `work`, or let it follow the one of this name that runs now. Returns at once."""
        self._again[name] = work
        if name not in self._running:
            self._running[name] = asyncio.get_running_loop().create_task(self._run(name))

    async def close(self) -> None:
        """Return when what was begun, and what that began in its turn, is done or was given up."""
        while self._running:
            await asyncio.gather(*self._running.values())

    async def _run(self, name: str) -> None:
        try:
            while (work := self._again.pop(name, None)) is not None:
                await self._try(name, work)
        finally:
            del self._running[name]

    async def _try(self, name: str, work: Work) -> None:
        try:
            await work()
        except Exception as error:  # it was never promised to anybody
            log.warning("soon.failed", name=name, error=type(error).__name__)
