"""Engine, transactions, and the unit of work: one commit at the edge of a request or job.

Operations take a `UnitOfWork` and never commit. They record what happened with `uow.emit(event)`; before the
commit the registered reactions run in the same transaction, and after it the collected hints and pushes go out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import CursorResult, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from app.config import DEFAULT_TIME_ZONE, Settings, plain_database_url, sqlalchemy_url
from app.db.pausing import pause

log = structlog.get_logger(__name__)

Reaction = Callable[["UnitOfWork", Any], Awaitable[None]]
Hint = Callable[[], Awaitable[None]]

MAX_REACTION_ROUNDS = 8


def make_engine(
    source: Settings | str,
    *,
    pool_size: int | None = None,
    max_overflow: int = 0,
    application_name: str = "warmline",
) -> AsyncEngine:
    """Return the engine of a process or a command. Every engine of ours is made here.

    `source` are its settings, or the bare address of a PostgreSQL (`postgresql://…`, `sslmode` is understood) for
    those who wait longer for a free connection, because nobody sits at a screen. Without `pool_size` it is the
    settings' own.
    """
    chosen = _Connecting.of(source)
    engine = create_async_engine(
        chosen.address,
        pool_size=chosen.pool_size if pool_size is None else pool_size,
        max_overflow=max_overflow,
        pool_timeout=chosen.pool_timeout,
        pool_use_lifo=True,  # few connections with warm statements, not all of them in turn
        execution_options={"organisation_zone": chosen.zone},
        hide_parameters=True,  # an error's text must not carry what people wrote into the log
        connect_args={
            "timeout": chosen.connect_timeout,
            "server_settings": {"timezone": "UTC", "application_name": application_name},
        },
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    return engine


def _refuse_closed(connection: Any, *_: object) -> None:
    """Let the pool give another connection where the server has closed this one. It costs no round trip, as a ping
    of the pool's own would (three of them).
    """
    if connection.driver_connection.is_closed():
        raise DisconnectionError


@dataclass(frozen=True, slots=True)
class _Connecting:
    """How to connect. Time-outs in seconds; waiting for a free connection and for a new one are told apart."""

    address: str
    pool_size: int = 16
    pool_timeout: float = 30.0
    connect_timeout: float = 5.0
    zone: str = DEFAULT_TIME_ZONE

    @classmethod
    def of(cls, source: Settings | str) -> _Connecting:
        if isinstance(source, str):
            return cls(sqlalchemy_url(plain_database_url(source)))
        return cls(
            source.sqlalchemy_url,
            source.database_pool_size,
            source.database_pool_timeout_seconds,
            source.database_connect_timeout_seconds,
            source.default_time_zone,
        )


@dataclass(slots=True)
class UnitOfWork:
    """One transaction, the events that happened in it, and what must go out once it has committed."""

    connection: AsyncConnection
    events: list[object] = field(default_factory=list)
    hints: dict[str, Hint] = field(default_factory=dict)

    @property
    def zone(self) -> str:
        """The organisation's time zone, an IANA name, as the settings of this process say."""
        known: str = self.connection.sync_connection.get_execution_options().get(  # type: ignore[union-attr]
            "organisation_zone", DEFAULT_TIME_ZONE
        )
        return known

    async def execute(
        self, sql: str, values: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> CursorResult[Any]:
        """Run one statement of plain SQL with named values."""
        await pause("statement", self.connection)
        return await self.connection.execute(text(sql), values)

    def emit(self, event: object) -> None:
        """Record that something happened; reactions to it run before the commit."""
        self.events.append(event)

    def after_commit(self, key: str, hint: Hint) -> None:
        """Run `hint` once after the commit; a later one with the same key replaces it."""
        self.hints[key] = hint


class Database:
    """The doors to the database: `transaction()` to change, `reading()` to look."""

    def __init__(
        self, engine: AsyncEngine, reactions: Mapping[type, Sequence[Reaction]] | None = None
    ) -> None:
        self.engine = engine
        self._reactions = dict(reactions or {})
        self._turns = asyncio.Semaphore(_places(engine))

    def react_to(self, reactions: Mapping[type, Sequence[Reaction]]) -> None:
        """Register what reacts to which event. Called once, by the composition root."""
        self._reactions = dict(reactions)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[UnitOfWork]:
        """Open a transaction; commit at the end after the reactions, or roll everything back on an error."""
        async with self._turns, self.engine.begin() as connection:
            uow = UnitOfWork(connection)
            yield uow
            await self._react(uow)
            await pause("commit.before", connection)
        await pause("commit.after")
        await _send_out(uow)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[UnitOfWork]:
        """Open a read-only look at the database; nothing is committed."""
        async with self._turns, self.engine.connect() as connection:
            yield UnitOfWork(connection)

    async def _react(self, uow: UnitOfWork) -> None:
        for _ in range(MAX_REACTION_ROUNDS):
            if not uow.events:
                return
            happened, uow.events = uow.events, []
            for what in happened:
                for reaction in self._reactions.get(type(what), ()):
                    await reaction(uow, what)
        raise RuntimeError("Reactions answer each other without end.")


def _places(engine: AsyncEngine) -> int:
    """Return how many may be at work at once: the pool's places, less one that a clock follower may hold.

    The pool itself lets whoever comes at the right moment overtake those who wait, for seconds under load; a semaphore
    serves them in the order in which they came.
    """
    pool = engine.sync_engine.pool
    size = pool.size() if isinstance(pool, QueuePool) else 16
    return max(1, size - 1)


async def _send_out(uow: UnitOfWork) -> None:
    """Send hints and pushes. They are safe to lose, so a failure is said in the log and goes no further."""
    for key, hint in uow.hints.items():
        try:
            await hint()
        except Exception as error:  # a hint must never fail what has been committed
            log.warning("hint.lost", key=key, error=type(error).__name__)
