"""The commands over a real database: what they print, and with which exit code they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import warmline
from app.db.session import Database, make_engine
from tests.factories.journeys import MONDAY, Lead, add_lead, found_organisation, minutes, say, send_due

Run = Callable[..., Awaitable[Result]]


@pytest.fixture
async def lead(database_url: str) -> Lead:
    """Give a lead who answered, in a sound database."""
    engine = make_engine(database_url)
    database = Database(engine)
    await found_organisation(database)
    lead = await add_lead(database, phone="+60123000001", name="Siti Aminah")
    await send_due(database, now=MONDAY)
    await say(database, phone=lead.phone, text="How much is it?", now=MONDAY + minutes(3))
    await engine.dispose()
    return lead


async def damage(database_url: str, statement: str) -> None:
    """Run a statement past every trigger."""
    engine = make_engine(database_url)
    async with Database(engine).transaction() as uow:
        await uow.execute("SET LOCAL session_replication_role = replica")
        await uow.execute(statement)
    await engine.dispose()


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


async def test_check_counts_each_invariant_and_fails_when_one_is_broken(
    lead: Lead, run: Run, database_url: str
) -> None:
    sound = await run("check", "--json")
    assert sound.exit_code == 0, sound.output
    found = json.loads(sound.stdout.splitlines()[-1])
    assert found == {
        "violations": 0,
        "invariants": dict.fromkeys(["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I10", "I11", "I12"], 0),
        "stuck": 0,
    }
    await damage(database_url, "UPDATE enrolments SET stage = 'booked'")
    broken = await run("check", "--json")
    assert broken.exit_code == 1
    found = json.loads(broken.stdout.splitlines()[-1])
    assert (found["violations"], found["invariants"]["I4"]) == (1, 1)
    assert f"contact {lead.contact_id}: enrolment {lead.enrolment_id}: differs in stage" in broken.stdout
    plain = await run("check")
    assert plain.exit_code == 1 and "1 violations" in plain.stdout and "{" not in plain.stdout


async def test_stuck_lists_what_does_not_move(lead: Lead, run: Run, database_url: str) -> None:
    assert "Nothing is stuck." in (await run("stuck")).stdout
    await damage(database_url, "UPDATE sends SET status = 'needs_review', reason = 'Was this sent?'")
    listed = await run("stuck")
    assert listed.exit_code == 0
    assert "needs_review" in listed.stdout and "Was this sent?" in listed.stdout


async def test_journey_tells_the_ledger_in_words_in_the_zone_of_the_reader(lead: Lead, run: Run) -> None:
    for contact in ("012-3000001", "+60123000001", str(lead.contact_id)):
        told = await run("journey", contact)
        assert told.exit_code == 0, told.output
        lines = told.stdout.splitlines()
        assert lines[0] == "Siti Aminah, +60 12-•••• 0001, contact 1: Engaged, paused"
        assert "Mon 30 Nov 2026, Kuala Lumpur time" in lines
        first, last = lines[3], lines[-1]
        assert first == "  09:00:00  Joined “Enquiry to visit”: Version 1  [Import 1]"
        assert last.startswith("  09:03:00  Handed to a person: First reply due")
        assert "  09:03:00  The lead answered: “How much is it?”  [The lead, by their message]" in lines
    elsewhere = await run("journey", "1", "--zone", "Europe/Berlin")
    assert "  02:00:00  Joined" in elsewhere.stdout and "Berlin time" in elsewhere.stdout


async def test_journey_says_plainly_whom_it_does_not_know(lead: Lead, run: Run) -> None:
    unknown = await run("journey", "012-9999999")
    assert unknown.exit_code == 1 and "Nobody is known as 012-9999999." in unknown.output
    assert (await run("journey", "1", "--zone", "Mars/Olympus")).exit_code == 2


async def test_review_answers_what_became_of_a_message_once(lead: Lead, run: Run, database_url: str) -> None:
    await damage(
        database_url,
        "INSERT INTO tasks (kind, subject, contact_id, enrolment_id, title, due_at, created_at) "
        f"SELECT 'review', 'send:' || id, {lead.contact_id}, {lead.enrolment_id}, 'Was it sent?', now(), now() "
        "FROM sends",
    )
    await damage(database_url, "UPDATE sends SET status = 'needs_review'")
    await damage(database_url, "UPDATE send_attempts SET outcome = 'unknown'")
    assert (await run("review", "1", "perhaps")).exit_code == 2
    assert (await run("review", "1", "skip", "--message-id", "SM1")).exit_code == 2
    done = await run("review", "1", "sent")
    assert (done.exit_code, done.stdout) == (0, "Review 1 is done: sent.\n"), done.output
    again = await run("review", "1", "again")
    assert again.exit_code == 1 and "This review is done already." in again.output
    engine = make_engine(database_url)
    async with Database(engine).reading() as uow:
        stored = (await uow.execute("SELECT s.status, t.outcome, t.done_by FROM sends s, tasks t")).one()
    await engine.dispose()
    assert stored.status == "accepted" and stored.outcome == "sent" and stored.done_by.startswith("cli:")
