"""The ledger is append-only and versions never change: the database itself refuses, on each partition too."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import DBAPIError

from app.db.session import Database
from app.ledger.models import LEDGER_PARTITIONS

TABLES = ["ledger", *(f"ledger_p{n}" for n in range(LEDGER_PARTITIONS))]


async def _refused(database: Database, statement: str) -> str:
    with pytest.raises(DBAPIError) as refusal:
        async with database.transaction() as uow:
            await uow.execute(statement)
    return str(refusal.value.orig)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", ["UPDATE {} SET type = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
async def test_what_was_written_is_never_changed(database: Database, table: str, statement: str) -> None:
    said = await _refused(database, statement.format(table))
    assert "append-only" in said
    async with database.reading() as uow:
        assert (await uow.execute("SELECT count(*) FROM ledger WHERE type = 'touched'")).scalar_one() == 200


async def test_every_partition_holds_something_so_that_each_refusal_above_was_real(
    database: Database,
) -> None:
    async with database.reading() as uow:
        for table in TABLES:
            assert (await uow.execute(f"SELECT count(*) FROM {table}")).scalar_one() > 0, table


async def test_there_is_no_partition_that_this_module_does_not_know(database: Database) -> None:
    async with database.reading() as uow:
        rows = await uow.execute("SELECT inhrelid::regclass::text FROM pg_inherits "
                                 "WHERE inhparent = 'ledger'::regclass ORDER BY 1")  # fmt: skip
        assert [row[0] for row in rows] == TABLES[1:]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE campaign_versions SET definition = '{}'",
        "UPDATE campaign_versions SET number = 9",
        "DELETE FROM campaign_versions",
        "TRUNCATE campaign_versions",
    ],
)
async def test_a_published_version_is_immutable(database: Database, statement: str) -> None:
    async with database.transaction() as uow:
        await uow.execute("INSERT INTO programs (id, key, name) VALUES (1, 'p', 'P') ON CONFLICT DO NOTHING")
        await uow.execute(
            "INSERT INTO campaigns (id, program_id, key, name) VALUES (1, 1, 'c', 'C') ON CONFLICT DO NOTHING"
        )
        await uow.execute(
            "INSERT INTO campaign_versions (campaign_id, number, definition, structure_hash, published_at) "
            "VALUES (1, 1, '{}', 'x', now()) ON CONFLICT DO NOTHING"
        )
    assert "append-only" in await _refused(database, statement)
