"""Pushes: "topic X changed" to every page that watches it, after the commit, coalesced, safe to lose.

Payloads are small and hold no personal data: `v` (a number that grows) and the topic's facts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import structlog

from app.db.session import UnitOfWork
from app.realtime.redis_rooms import RedisRooms

log = structlog.get_logger(__name__)

COALESCE_SECONDS = 0.12
TEAM_SECONDS = 1.0
"""Managers watch the whole team: once a second is enough to see and little to fetch."""

Fact = str | int | float | bool | None
Emit = Callable[[str, dict[str, Any]], Awaitable[None]]


class Pushes(Protocol):
    """What operations need of a pusher."""

    def later(self, uow: UnitOfWork, topic: str, **facts: Fact) -> None:
        """Push once this transaction has committed; several for one topic become one."""
        ...


async def push(rooms: RedisRooms, topic: str, **facts: Fact) -> None:
    """Tell whoever watches `topic` at once. Never raises because Redis is away."""
    await rooms.emit(topic, _payload(facts), namespace="/", room=topic)


class Pusher:
    """Collects pushes for a moment, so that a burst becomes one event per topic; the last one is never
    dropped.
    """

    def __init__(
        self, emit: Emit, *, seconds: float = COALESCE_SECONDS, team_seconds: float = TEAM_SECONDS
    ) -> None:
        self._emit = emit
        self._seconds = seconds
        self._team_seconds = team_seconds
        self._waiting: dict[str, dict[str, Fact]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    @classmethod
    def over(cls, rooms: RedisRooms, **options: float) -> Pusher:
        """Return a pusher that emits through `rooms` (a web process's own, or a write-only one of a
        worker).
        """

        async def emit(topic: str, data: dict[str, Any]) -> None:
            await rooms.emit(topic, data, namespace="/", room=topic)

        return cls(emit, **options)

    def later(self, uow: UnitOfWork, topic: str, **facts: Fact) -> None:
        """Push once this transaction has committed; facts of several pushes to one topic are united, the
        later win.
        """
        key = f"push:{topic}"
        earlier = uow.hints.get(key)
        united = {**(earlier.facts if isinstance(earlier, _Push) else {}), **facts}
        uow.after_commit(key, _Push(self, topic, united))

    def soon(self, topic: str, **facts: Fact) -> None:
        """Push within the coalescing time, outside any transaction. Returns at once."""
        if topic in self._waiting:
            self._waiting[topic].update(facts)
            return
        self._waiting[topic] = dict(facts)
        task = asyncio.get_running_loop().create_task(self._flush(topic))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Send what waits and return when it has gone (or was given up)."""
        self._closing.set()
        await asyncio.gather(*self._tasks)

    async def _flush(self, topic: str) -> None:
        delay = self._team_seconds if topic == "team" else self._seconds
        try:
            await asyncio.wait_for(self._closing.wait(), delay)
        except TimeoutError:
            pass
        facts = self._waiting.pop(topic)
        try:
            await self._emit(topic, _payload(facts))
        except Exception as error:  # a push must never fail what has been committed
            log.warning("realtime.push_lost", topic_kind=topic.partition(":")[0], error=type(error).__name__)


class _Push:
    """The after-commit hint of one topic in one transaction."""

    def __init__(self, pusher: Pusher, topic: str, facts: dict[str, Fact]) -> None:
        self.facts = facts
        self._pusher = pusher
        self._topic = topic

    async def __call__(self) -> None:
        self._pusher.soon(self._topic, **self.facts)


class NullPusher:
    """Pushes nothing: for commands without listeners. Pages refresh by polling."""

    def later(self, uow: UnitOfWork, topic: str, **facts: Fact) -> None:
        """Do nothing."""


def _payload(facts: dict[str, Fact]) -> dict[str, Any]:
    return {**facts, "v": time.time_ns() // 1_000_000}
