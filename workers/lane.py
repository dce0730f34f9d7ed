"""A lane: one kind of work, drained again and again; woken by hints, by the next due moment, by a moved clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)

DRAIN_SECONDS = 20.0
AFTER_FAULT_SECONDS = 1.0


class Lane:
    """Runs `work` until it reports that nothing is left, then sleeps as long as `idle` says.

    `work()` does one round and returns True where another may find more. Only one drain runs at a time in a
    process; any number of processes may run the same lane, for the rows are locked in the database.
    """

    def __init__(
        self, name: str, *, work: Callable[[], Awaitable[bool]], idle: Callable[[], Awaitable[float]]
    ) -> None:
        self.name = name
        self._work = work
        self._idle = idle
        self._woken = asyncio.Event()
        self._drains = asyncio.Lock()
        self.stopping = asyncio.Event()

    def wake(self) -> None:
        """Look at once."""
        self._woken.set()

    def stop(self) -> None:
        """Finish the round that runs, then end."""
        self.stopping.set()
        self._woken.set()

    async def drain(self, *, seconds: float = DRAIN_SECONDS) -> None:
        """Work until nothing is left, for at most `seconds`."""
        async with self._drains:
            end = time.monotonic() + seconds
            while not self.stopping.is_set() and time.monotonic() < end:
                if not await self._work():
                    return

    async def run(self) -> None:
        """Drain for ever. A fault (a lost database, say) is logged and tried again after a second."""
        while not self.stopping.is_set():
            self._woken.clear()
            try:
                await self.drain()
                pause = await self._idle()
            except Exception:  # a lane never dies of one bad round
                log.exception("lane.fault", lane=self.name)
                pause = AFTER_FAULT_SECONDS
            await self._sleep(pause)

    async def _sleep(self, seconds: float) -> None:
        if seconds <= 0 or self.stopping.is_set():
            return
        try:
            await asyncio.wait_for(self._woken.wait(), seconds)
        except TimeoutError:
            return
