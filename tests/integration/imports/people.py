"""Short ways for these tests to import text and to look at what came of it."""

from __future__ import annotations

from typing import Any

from app.campaigns.imports.work import carry_on_imports
from app.clock import Clock
from app.contacts.imports.domain.mapping import propose_mapping
from app.contacts.imports.domain.sniffing import sniff
from app.contacts.imports.operations.start import keep_file, prepare_import, read_file, start_import
from app.db.session import Database
from tests.integration.imports.conftest import CAMPAIGN, NOW, SETTINGS


async def begin(database: Database, content: bytes | str) -> int:
    """Store a file and start its run with the proposed mapping."""
    data = content.encode() if isinstance(content, str) else content
    targets = propose_mapping(sniff(data).header).as_targets()
    file = await read_file(name="leads.csv", content=data)
    prepared = await prepare_import(file, targets=targets)
    async with database.transaction() as uow:
        await keep_file(uow, file=file, now=NOW)
        return await start_import(uow, prepared=prepared, campaign_key=CAMPAIGN, user_id=None, now=NOW)


async def run_all(database: Database, content: bytes | str, *, clock: Clock) -> int:
    """Import a file to its end and return the run."""
    run_id = await begin(database, content)
    assert await carry_on_imports(database, clock=clock, settings=SETTINGS) == run_id
    return run_id


async def one(database: Database, sql: str, **values: object) -> Any:
    """Return one value."""
    async with database.reading() as uow:
        return (await uow.execute(sql, values)).scalar_one()


async def rows(database: Database, sql: str, **values: object) -> list[tuple[Any, ...]]:
    """Return rows as tuples."""
    async with database.reading() as uow:
        return [tuple(row) for row in await uow.execute(sql, values)]


async def outcomes(database: Database, run_id: int) -> dict[str, int]:
    """Return how many rows of a run had each outcome."""
    found = await rows(
        database, "SELECT outcome, count(*) FROM run_rows WHERE run_id = :id GROUP BY outcome", id=run_id
    )
    return {str(outcome): int(count) for outcome, count in found}


async def everything(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that an import may write about people, to compare before and after."""
    return {
        table: await rows(database, f"SELECT t::text FROM {table} t ORDER BY 1")
        for table in ("contacts", "contact_identities", "consents", "suppressions", "enrolments")
    }
