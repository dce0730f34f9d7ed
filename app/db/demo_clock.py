"""The demo clock as stored: read it, move it, and keep a process's DemoClock fresh."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.clock import Clock, DemoClock, DemoReading, SystemClock
from app.db.session import Database, UnitOfWork

log = structlog.get_logger(__name__)

CHANNEL = "demo_clock"
REFRESH_SECONDS = 1.0
MAX_RATE = 86_400.0

_NOW = "demo_base + (clock_timestamp() - real_base) * rate"


async def read_reading(uow: UnitOfWork) -> DemoReading | None:
    """Return the stored reading, or None where business time is real time."""
    row = (await uow.execute("SELECT real_base, demo_base, rate FROM demo_clock")).one_or_none()
    return DemoReading(row.real_base, row.demo_base, row.rate) if row else None


async def start_demo_clock(uow: UnitOfWork, *, at: datetime, rate: float = 1.0) -> None:
    """Set the demo clock going from `at`, unless there is one already."""
    await uow.execute(
        "INSERT INTO demo_clock (id, real_base, demo_base, rate) VALUES (1, clock_timestamp(), :at, :rate) "
        "ON CONFLICT DO NOTHING",
        {"at": at, "rate": rate},
    )


async def move_demo_clock(
    uow: UnitOfWork, *, by: timedelta = timedelta(0), rate: float | None = None
) -> None:
    """Move the demo clock forward and set its rate; it never goes back. Every process hears of it."""
    if by < timedelta(0):
        raise ValueError("The demo clock never goes back.")
    if rate is not None and not 0 <= rate <= MAX_RATE:
        raise ValueError(f"The rate lies between 0 and {MAX_RATE:g}.")
    await uow.execute(
        f"UPDATE demo_clock SET demo_base = {_NOW} + CAST(:by AS interval), real_base = clock_timestamp(), "
        "rate = coalesce(:rate, rate)",
        {"by": by, "rate": rate},
    )
    await uow.execute(f"NOTIFY {CHANNEL}")


class ClockFollower:
    """Keeps one DemoClock in step with its row: on NOTIFY, and each second in case one was lost."""

    def __init__(self, database: Database, clock: DemoClock, changed: asyncio.Event | None = None) -> None:
        self._database = database
        self._clock = clock
        self._changed = changed

    async def run(self) -> None:
        """Follow until cancelled; a lost database is tried again each second."""
        while True:
            try:
                await self._follow()
            except (OSError, SQLAlchemyError) as error:
                log.warning("demo_clock.lost", error=type(error).__name__)
                await asyncio.sleep(REFRESH_SECONDS)

    async def _follow(self) -> None:
        heard = asyncio.Event()
        async with self._database.engine.connect() as connection:
            raw = (await connection.get_raw_connection()).driver_connection
            if raw is None:
                raise OSError("no connection")
            await raw.add_listener(CHANNEL, lambda *_: heard.set())
            await connection.commit()
            while True:
                await self.refresh()
                heard.clear()
                try:
                    await asyncio.wait_for(heard.wait(), REFRESH_SECONDS)
                except TimeoutError:
                    if raw.is_closed():
                        raise OSError("connection closed") from None

    async def refresh(self) -> None:
        """Read the row once; wake whoever waits when it changed."""
        async with self._database.reading() as uow:
            reading = await read_reading(uow)
        if reading is not None and reading != self._clock.reading:
            self._clock.reading = reading
            if self._changed is not None:
                self._changed.set()


async def make_clock(database: Database) -> Clock:
    """Return the clock of this installation: the demo clock where there is one, else the system's."""
    async with database.reading() as uow:
        reading = await read_reading(uow)
    return DemoClock(reading) if reading else SystemClock()
