"""Hints never hold a request up, and the last one of a burst is never lost."""

from __future__ import annotations

import asyncio

from app.kernel.hints import Lane
from app.kernel.soon import Soon
from app.realtime.background_hints import BackgroundHints


class SlowPort:
    """A queue that hangs until it is let go."""

    def __init__(self) -> None:
        self.begun: list[Lane] = []
        self.gate = asyncio.Event()

    async def hint(self, lane: Lane) -> None:
        self.begun.append(lane)
        await self.gate.wait()


class LostPort:
    """A queue that is away."""

    async def hint(self, lane: Lane) -> None:
        raise ConnectionError


async def test_a_burst_during_a_slow_hint_becomes_one_more() -> None:
    port = SlowPort()
    soon = Soon()
    hints = BackgroundHints(port, soon)
    async with asyncio.timeout(1):
        await hints.hint("plan")
        await asyncio.sleep(0)
        for _ in range(10):
            await hints.hint("plan")
        await hints.hint("send")
    port.gate.set()
    await soon.close()
    assert sorted(port.begun) == ["plan", "plan", "send"]
    await hints.hint("plan")
    await soon.close()
    assert port.begun.count("plan") == 3


async def test_a_queue_that_is_away_costs_a_hint_and_nothing_else() -> None:
    soon = Soon()
    hints = BackgroundHints(LostPort(), soon)
    for _ in range(2):
        await hints.hint("sweep")
        await soon.close()
