"""`warmline cooldowns backfill` over a real database: what it prints, and that a dry run changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.campaigns.backfill.work import start_backfill
from app.campaigns.domain.vocabulary import Outcome
from app.campaigns.operations.enrol import EnrolRequest, enrol
from app.campaigns.operations.operate import close_journey
from app.cli import warmline
from app.db.session import Database, make_engine
from tests.factories.journeys import CAMPAIGN, MONDAY, Lead, add_lead, found_organisation, minutes
from tests.fixtures.emptying import dump

Run = Callable[..., Awaitable[Result]]


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Give a database with one lead whose end left no rest, and who came in again."""
    database = Database(make_engine(database_url, pool_size=2))
    await found_organisation(database)
    lead: Lead = await add_lead(database, phone="+60123000001")
    async with database.transaction() as uow:
        await close_journey(
            uow,
            contact_id=lead.contact_id,
            outcome=Outcome.LOST,
            not_now_until=None,
            actor="user:1",
            now=MONDAY + minutes(1),
        )
        await uow.execute("DELETE FROM cooldowns")
        request = EnrolRequest(lead.contact_id, "list:2")
        await enrol(uow, campaign_key=CAMPAIGN, request=request, actor="list", now=MONDAY + minutes(2))
    yield database
    await database.engine.dispose()


@pytest.fixture
def run(database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a command against this test's database."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("WARMLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WARMLINE_DEMO", "1")

    async def execute(*arguments: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, warmline, list(arguments))

    return execute


async def test_a_dry_run_counts_a_run_does_it_and_again_there_is_nothing_to_do(
    database: Database, run: Run
) -> None:
    async with database.transaction() as uow:
        await uow.execute(
            "INSERT INTO demo_clock (real_base, demo_base, rate) VALUES (clock_timestamp(), :at, 0)",
            {"at": MONDAY + minutes(5)},
        )
    before = await dump(database)
    dry = await run("cooldowns", "backfill", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "1  rests would be written, 1 of them still run" in dry.output
    assert "1  journeys would be paused" in dry.output
    assert await dump(database) == before
    done = await run("cooldowns", "backfill")
    assert done.exit_code == 0, done.output
    assert "1  rests written" in done.output and "after “lost”" in done.output
    assert "1  of them were running and are paused" in done.output
    again = await run("cooldowns", "backfill")
    assert "0  rests written" in again.output and "0  of them were running" in again.output


async def test_the_command_goes_on_with_a_run_that_was_put_aside(database: Database, run: Run) -> None:
    async with database.transaction() as uow:
        run_id = await start_backfill(uow, user_id=None, now=MONDAY + minutes(5))
        await uow.execute("UPDATE runs SET status = 'needs_review', problem = 'It stops after enrolment 0.'")
    done = await run("cooldowns", "backfill")
    assert done.exit_code == 0, done.output
    assert f"Backfill {run_id} has not ended" in done.output and "1  rests written" in done.output
