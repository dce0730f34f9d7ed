"""A database with one campaign to import into."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from app.clock import FixedClock
from app.contacts.imports.operations.people import RunSettings
from app.db.session import Database, UnitOfWork
from tests.fixtures.emptying import empty_within

NOW = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
CAMPAIGN = "open-day"
SETTINGS = RunSettings(default_country="MY")

DEFINITION = {
    "paths": {
        "nurture": [
            {"kind": "message", "key": "hello", "template": "hello"},
            {"kind": "end", "key": "end", "reason": "path_end"},
        ]
    }
}


@pytest.fixture
async def database(clean_database: Database) -> Database:
    """Give the doors to a database with one published campaign and a sender, and nobody in it."""
    async with clean_database.transaction() as uow:
        await begin_with_nobody(uow)
    return clean_database


async def begin_with_nobody(uow: UnitOfWork) -> None:
    """Take everybody out of a test's database; the campaign is made where it is missing."""
    await empty_within(uow, "contacts", "runs", "run_files", "senders")
    await uow.execute(
        "INSERT INTO programs (id, key, name) VALUES (1, 'family', 'Family programme') ON CONFLICT DO NOTHING"
    )
    await uow.execute(
        "INSERT INTO campaigns (id, program_id, key, name, current_version_id) "
        "VALUES (1, 1, :key, 'Open day', 2) ON CONFLICT DO NOTHING",
        {"key": CAMPAIGN},
    )
    await uow.execute(
        "INSERT INTO campaign_versions (id, campaign_id, number, definition, structure_hash, published_at) "
        "VALUES (2, 1, 1, CAST(:definition AS jsonb), 'x', :now) ON CONFLICT DO NOTHING",  # 1 is the journeys' own
        {"definition": json.dumps(DEFINITION), "now": NOW},
    )
    await uow.execute(
        "INSERT INTO senders (key, channel, provider, address) "
        "VALUES ('main', 'whatsapp', 'twilio', '+60300000000')"
    )


@pytest.fixture
def clock() -> FixedClock:
    """Give a clock that stands on a Monday morning."""
    return FixedClock(NOW)
