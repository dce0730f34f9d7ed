"""Leads tasks step by step: one goes on at a time, and only this decides which.

A task that waits for a row's lock counts as parked: it goes on by itself once the lock is free. A crash is a
cancelled task, whose transaction ends undone; a cut connection is noticed by its task at the next statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from random import Random

from sqlalchemy.ext.asyncio import AsyncConnection

from app.db.pausing import PAUSE
from app.db.session import Database

LOOK_AT_LOCKS_AFTER = 0.004
"""Seconds. A task that has not come to its next place by then is either slow or waits for a lock."""
LONGEST_STEP = 20.0
MOST_LOOKS = 5_000
STATEMENTS_STOPPED_AT = 0.12
"""The share of statements before which a task stands; at commits and calls it always does."""

_IN_TRANSACTION = "SELECT count(*) FROM pg_locks WHERE pid = :pid AND locktype = 'transactionid'"
_LOCK_HOLDERS = "SELECT unnest(pg_blocking_pids(pid)) FROM pg_locks WHERE NOT granted"
_LOCK_WAITERS = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


class StandStillError(RuntimeError):
    """Nothing moves any more, and no lock explains it."""


@dataclass(slots=True)
class Actor:
    """One task that the scheduler leads, and where it stands."""

    name: str
    random: Random
    task: asyncio.Task[None] | None = None
    at: str = ""
    connection: AsyncConnection | None = None
    go: asyncio.Future[None] | None = None
    was_cut: bool = False
    was_crashed: bool = False
    waits_for_lock: bool = False
    """It goes on by itself once the lock is free, and stands at the next place whatever that is."""

    @property
    def stands(self) -> bool:
        """Whether it waits for its turn."""
        return self.go is not None

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self.task is not None and self.task.done()


@dataclass(slots=True)
class Scheduler:
    """Leads actors over one database. `random` alone decides."""

    database: Database
    random: Random
    actors: list[Actor] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    trace: list[str] = field(default_factory=list)

    async def begin(self, name: str, work: Callable[[Random], Awaitable[None]]) -> Actor:
        """Start an actor and lead it to its first place."""
        actor = Actor(name, Random(self.random.random()))
        context = copy_context()

        async def stop_here(place: str, connection: AsyncConnection | None) -> None:
            await self._stand(actor, place, connection)

        context.run(PAUSE.set, stop_here)
        actor.task = asyncio.get_running_loop().create_task(
            _run(work, actor.random), context=context, name=name
        )
        actor.task.add_done_callback(lambda _: self.moved.set())
        self.actors.append(actor)
        await self._settle()
        return actor

    async def go_on(self, actor: Actor) -> None:
        """Let one actor go to its next place."""
        self.trace.append(f"{actor.name}@{actor.at}")
        _release(actor)
        await self._settle()

    async def crash(self, actor: Actor) -> None:
        """End an actor where it stands, as a killed process ends."""
        self.trace.append(f"CRASH {actor.name}@{actor.at}")
        assert actor.task is not None
        actor.was_crashed = True
        actor.go = None
        pid = await _server_pid(actor)
        actor.task.cancel()
        await asyncio.wait([actor.task])
        await self._until_undone(pid)
        await self._settle()

    async def cut(self, actor: Actor) -> None:
        """Cut the connection of an actor where it stands, and let it find out."""
        if actor.connection is None:
            return
        self.trace.append(f"CUT {actor.name}@{actor.at}")
        pid = await _server_pid(actor)
        raw = await actor.connection.get_raw_connection()
        assert raw.driver_connection is not None
        actor.was_cut = True
        raw.driver_connection.terminate()
        await self._until_undone(pid)
        await self._settle()
        _release(actor)
        await self._settle()

    async def wait_for_locks(self) -> None:
        """Wait for those who are parked at a lock; raises `StandStillError` where that never ends."""
        await self._settle(parked_too=True)

    def standing(self) -> list[Actor]:
        """Return who waits for a turn, in the order in which they began."""
        return [actor for actor in self.actors if actor.stands]

    async def may_go_on(self) -> list[Actor]:
        """Return whose turn may be next. While somebody waits for a lock, only who holds it.

        Of two who wait for one row, PostgreSQL may serve either; a history would not replay.
        """
        standing = self.standing()
        if len(standing) == len(self.actors):
            return standing
        async with self.database.reading() as uow:
            holders = set((await uow.execute(_LOCK_HOLDERS)).scalars())
        return [actor for actor in standing if await _server_pid(actor) in holders] or standing

    def take_ended(self) -> list[Actor]:
        """Return who has ended since the last time."""
        ended = [actor for actor in self.actors if actor.done]
        self.actors = [actor for actor in self.actors if not actor.done]
        return ended

    async def _stand(self, actor: Actor, place: str, connection: AsyncConnection | None) -> None:
        stops = place != "statement" or actor.random.random() < STATEMENTS_STOPPED_AT
        if not (stops or actor.waits_for_lock):
            return
        actor.waits_for_lock = False
        actor.at, actor.connection = place, connection
        actor.go = asyncio.get_running_loop().create_future()
        self.moved.set()
        await actor.go

    async def _settle(self, *, parked_too: bool = False) -> None:
        """Wait until everybody who is not done stands at a place, or waits for a lock unless `parked_too`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + LONGEST_STEP
        while running := [a for a in self.actors if not a.stands and not a.done]:
            self.moved.clear()
            try:
                await asyncio.wait_for(self.moved.wait(), LOOK_AT_LOCKS_AFTER)
                continue
            except TimeoutError:
                pass
            if not parked_too and await self._lock_waiters() >= len(running):
                for actor in running:
                    actor.waits_for_lock = True
                return
            if loop.time() > end:
                raise StandStillError(", ".join(a.name for a in running))

    async def _until_undone(self, pid: int | None) -> None:
        """Wait until the server has undone what this connection had begun, so that who waited for it is known."""
        for _ in range(MOST_LOOKS):
            async with self.database.reading() as uow:
                if pid is None or not (await uow.execute(_IN_TRANSACTION, {"pid": pid})).scalar_one():
                    return
            await asyncio.sleep(0.001)
        raise StandStillError(f"connection {pid} does not end")

    async def _lock_waiters(self) -> int:
        async with self.database.reading() as uow:
            return int((await uow.execute(_LOCK_WAITERS)).scalar_one())


async def _run(work: Callable[[Random], Awaitable[None]], random: Random) -> None:
    await work(random)


async def _server_pid(actor: Actor) -> int | None:
    if actor.connection is None or actor.connection.closed:
        return None
    raw = await actor.connection.get_raw_connection()
    return None if raw.driver_connection is None else int(raw.driver_connection.get_server_pid())


def _release(actor: Actor) -> None:
    go, actor.go = actor.go, None
    if go is not None and not go.done():
        go.set_result(None)
