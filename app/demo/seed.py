"""Seeds the demo into an empty database, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

from app.accounts.passwords import Passwords
from app.clock import FixedClock
from app.config import Settings
from app.db.demo_clock import start_demo_clock
from app.db.session import Database, make_engine
from app.demo.cast import LEADS, OPENS_AT
from app.demo.organisation import plant_organisation
from app.demo.stories import Storyteller
from app.reactions import Wiring, reactions
from app.realtime.push import NullPusher

T = TypeVar("T")
SeedState = Literal["none", "broken_off", "done"]


def seed_demo(*, settings: Settings) -> None:
    """Seed the demo into empty tables: through the real operations, on a clock that ends where the demo opens."""
    asyncio.run(_with_database(settings, _seed))


def seed_state(*, settings: Settings) -> SeedState:
    """Say how far a seed came; the demo clock is its last act."""
    return asyncio.run(_with_database(settings, _state))


async def _with_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    database = Database(make_engine(settings, pool_size=4, application_name="warmline-demo"))
    try:
        return await work(database)
    finally:
        await database.engine.dispose()


async def _state(database: Database) -> SeedState:
    async with database.reading() as uow:
        row = (
            await uow.execute(
                "SELECT EXISTS (SELECT 1 FROM demo_clock) AS clock, EXISTS (SELECT 1 FROM programs) AS begun"
            )
        ).one()
    if row.clock:
        return "done"
    return "broken_off" if row.begun else "none"


async def _seed(database: Database) -> None:
    clock = FixedClock(min(lead.enrolled_at for lead in LEADS))
    silence = NullPusher()
    database.react_to(reactions(Wiring(database=database, clock=clock, pusher=silence)))
    storyteller = Storyteller(database=database, clock=clock, passwords=Passwords(), pushes=silence)
    async with database.transaction() as uow:
        await plant_organisation(uow, now=clock.now())
    await storyteller.hire()
    await storyteller.play()
    async with database.transaction() as uow:
        await start_demo_clock(uow, at=OPENS_AT)
