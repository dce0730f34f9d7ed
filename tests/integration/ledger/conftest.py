"""A ledger with an event in each of its partitions, and what the database must refuse there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from app.db.session import Database, make_engine
from app.ledger.repository import LedgerRow, append_events

MORNING = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
async def database(module_database_url: str) -> AsyncIterator[Database]:
    """Give a database whose ledger has events of 200 contacts."""
    database = Database(make_engine(module_database_url))
    async with database.transaction() as uow:
        await append_events(uow, [LedgerRow(n, "touched", MORNING, "test") for n in range(1, 201)])
    yield database
    await database.engine.dispose()
