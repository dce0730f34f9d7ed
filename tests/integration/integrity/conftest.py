"""A sound organisation: one lead with a message on its way and a timer, one who answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from app.db.session import Database, UnitOfWork, make_engine
from tests.factories.journeys import (
    MONDAY,
    Lead,
    add_lead,
    found_organisation,
    minutes,
    say,
    send_due,
    take_lead,
)


@dataclass(frozen=True, slots=True)
class World:
    """`waiting` was sent the first message and waits; `engaged` answered it and has an adviser."""

    database: Database
    waiting: Lead
    engaged: Lead

    @asynccontextmanager
    async def damaged(self, *statements: str, **values: object) -> AsyncIterator[UnitOfWork]:
        """Run statements past every trigger and key, as damage would come; all is undone at the end."""
        async with self.database.reading() as uow:
            await uow.execute("SET LOCAL session_replication_role = replica")
            for statement in statements:
                await uow.execute(statement, values)
            yield uow


@pytest.fixture(scope="module")
async def world(module_database_url: str) -> AsyncIterator[World]:
    """Give a sound world; no test of the module leaves a trace in it."""
    engine = make_engine(module_database_url)
    database = Database(engine)
    await found_organisation(database)
    waiting = await add_lead(database, phone="+60123000001", name="Waiting Lead")
    engaged = await add_lead(database, phone="+60123000002", name="Engaged Lead")
    await send_due(database, now=MONDAY + timedelta(seconds=5))
    await say(database, phone=engaged.phone, text="How much is it?", now=MONDAY + minutes(3))
    await take_lead(database, contact_id=engaged.contact_id, user_id=1, now=MONDAY + minutes(4))
    yield World(database, waiting, engaged)
    await engine.dispose()
