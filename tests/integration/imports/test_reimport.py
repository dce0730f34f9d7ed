"""A list that comes again: nobody who stopped comes back, nothing that waits is moved, and who is busy waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.campaigns.imports.queries import SinceThen, since_then
from app.campaigns.imports.work import carry_on_imports
from app.campaigns.waiting.turns import admit_due
from app.clock import FixedClock
from app.contacts.imports.queries import notable_rows, run_view
from app.db.session import Database
from tests.integration.imports.conftest import NOW, SETTINGS
from tests.integration.imports.people import begin, one, rows, run_all

HEAD = "phone,full_name,consent_whatsapp,consent_email,email,tag\n"
SITI = "+60123000001,Siti,yes,yes,siti@example.my,open house\n"
OMAR = "+60123000002,Omar,yes,yes,omar@example.my,open house\n"


async def change(database: Database, sql: str, **values: object) -> None:
    """Change something by plain SQL."""
    async with database.transaction() as uow:
        await uow.execute(sql, values)


async def close_channel(
    database: Database, channel: str, reason: str, *, phone: str = "+60123000001"
) -> None:
    """Close a channel of a known person."""
    await change(
        database,
        "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
        "SELECT contact_id, :channel, :reason, 'test', :now FROM contact_identities WHERE value = :phone",
        channel=channel,
        reason=reason,
        now=NOW,
        phone=phone,
    )


async def door_words(database: Database, run_id: int) -> list[str]:
    """Return what the door said of each row, in the words of the page."""
    async with database.reading() as uow:
        shown = await notable_rows(uow, run_id=run_id, campaigns={"elsewhere": "Elsewhere"})
    return [note for row in shown for note in row.notes]


async def journeys(database: Database) -> list[tuple[Any, ...]]:
    """Return every enrolment with its timers, and every send, as they stand."""
    return [
        *await rows(database, "SELECT e::text FROM enrolments e ORDER BY id"),
        *await rows(database, "SELECT s::text FROM sends s ORDER BY id"),
    ]


async def live_elsewhere(database: Database, *, phone: str = "+60123000001") -> None:
    """Put a known person into another campaign."""
    await change(
        database,
        "INSERT INTO campaigns (id, program_id, key, name, current_version_id) "
        "VALUES (7, 1, 'elsewhere', 'Elsewhere', 2) ON CONFLICT DO NOTHING",
    )
    await change(
        database,
        "UPDATE enrolments SET campaign_id = (SELECT id FROM campaigns WHERE key = 'elsewhere'), ref = 'elsewhere:1' "
        "WHERE contact_id = (SELECT contact_id FROM contact_identities WHERE value = :phone)",
        phone=phone,
    )


@pytest.mark.parametrize("again", ["0123000001", "+60 12-300 0001", "60123000001"])
async def test_K05_a_yes_in_a_list_brings_nobody_back_who_stopped_however_it_is_written(
    database: Database, clock: FixedClock, again: str
) -> None:
    await run_all(database, HEAD + SITI.replace("yes", "no"), clock=clock)
    await close_channel(database, "all", "stop_word")
    run_id = await run_all(database, f"{HEAD}{again},Siti,yes,yes,SITI@Example.MY,autumn\n", clock=clock)
    assert await door_words(database, run_id) == ["Not enrolled: this person does not want messages"]
    assert await one(database, "SELECT count(*) FROM suppressions WHERE lifted_at IS NULL") == 1
    assert await one(database, "SELECT count(*) FROM contacts") == 1
    assert await one(
        database, "SELECT count(*) FROM ledger WHERE type = 'enrol_refused' AND cause = 'suppressed'"
    )


async def test_H03_a_new_consent_does_not_open_what_the_provider_keeps_closed(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, HEAD + SITI.replace("yes", "no"), clock=clock)
    await close_channel(database, "whatsapp", "provider_block")
    run_id = await run_all(database, HEAD + SITI, clock=clock)
    assert await door_words(database, run_id) == ["Not enrolled: no consent for a channel of this campaign"]
    assert await one(database, "SELECT count(*) FROM sends") == 0
    assert await one(database, "SELECT count(*) FROM suppressions WHERE lifted_at IS NULL") == 1


async def test_a_persons_own_no_is_not_lifted_by_a_list(database: Database, clock: FixedClock) -> None:
    await run_all(database, HEAD + SITI.replace("yes", "no"), clock=clock)
    await change(database, "UPDATE consents SET source = 'their own form'")
    await run_all(database, HEAD + SITI, clock=clock)
    assert await one(database, "SELECT count(*) FROM consents WHERE granted") == 0


async def test_X03_the_same_list_changed_rows_and_a_tag_taken_away_and_made_again_move_no_journey(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, HEAD + SITI + OMAR, clock=clock)
    await change(
        database, "UPDATE enrolments SET next_run_at = :at, step = 'end'", at=NOW + timedelta(days=2)
    )
    before = await journeys(database)
    assert len(before) == 2
    for content in (
        HEAD + SITI + OMAR,  # the same file
        HEAD
        + OMAR.replace("Omar", "Omar bin Ali")
        + SITI.replace("open house", ""),  # other words, other order
        HEAD.replace(",tag", "") + SITI.replace(",open house", "") + OMAR.replace(",open house", ""),
        HEAD + SITI.replace("open house", "spring") + OMAR.replace("open house", "spring"),
        HEAD + SITI + OMAR + "+60123000003,Mei,no,no,,open house\n",  # and one more
    ):
        clock.advance(timedelta(hours=1))
        await run_all(database, content, clock=clock)
        assert await journeys(database) == before


async def test_who_is_in_another_campaign_waits_and_the_result_says_so_and_what_became_of_it(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, HEAD + SITI, clock=clock)
    await live_elsewhere(database)
    run_id = await run_all(database, HEAD + SITI + OMAR, clock=clock)
    async with database.reading() as uow:
        run = await run_view(uow, run_id=run_id)
        since = await since_then(uow, run_id=run_id)
    assert (run.counts["waiting"], run.counts["enrolled"], run.counts.get("refused", 0)) == (1, 1, 0)
    assert since == SinceThen(admitted=0, waiting=1, dropped=0)
    assert await door_words(database, run_id) == ["Waits for their turn: in the campaign Elsewhere now"]
    again = await run_all(database, HEAD + SITI + OMAR, clock=clock)
    assert await one(database, "SELECT count(*) FROM enrolment_requests") == 1
    async with database.reading() as uow:
        assert (await run_view(uow, run_id=again)).counts["waiting"] == 1
    await change(
        database,
        "UPDATE enrolments SET stage = 'closed', automation = 'completed' WHERE ref = 'elsewhere:1'",
    )
    await change(database, "UPDATE enrolment_requests SET not_before = :now", now=NOW)
    await admit_due(database, now=NOW)
    async with database.reading() as uow:
        assert await since_then(uow, run_id=run_id) == SinceThen(admitted=1, waiting=0, dropped=0)
    third = await run_all(database, HEAD + SITI + OMAR, clock=clock)
    async with database.reading() as uow:
        counts = (await run_view(uow, run_id=third)).counts
    assert (counts.get("enrolled", 0), counts["repeated"], counts["before"]) == (0, 1, 1)


async def test_an_import_that_was_told_to_leaves_out_who_is_busy_and_one_from_before_the_choice_does(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, HEAD + SITI, clock=clock)
    await live_elsewhere(database)
    run_id = await begin(database, HEAD + SITI + OMAR)
    await change(database, "UPDATE runs SET params = params - 'waits' WHERE id = :id", id=run_id)
    await carry_on_imports(database, clock=clock, settings=SETTINGS)
    assert await door_words(database, run_id) == ["Not enrolled: in the campaign Elsewhere now"]
    assert await one(database, "SELECT count(*) FROM enrolment_requests") == 0


async def test_the_end_of_a_rest_is_shown_as_a_date_of_the_organisation(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, HEAD + SITI, clock=clock)
    await change(database, "UPDATE enrolments SET stage = 'closed', automation = 'completed', ref = 'x'")
    await change(
        database,
        "INSERT INTO cooldowns (contact_id, reason, starts_at, ends_at, created_by) "
        "SELECT id, 'lost', :starts, :ends, 'test' FROM contacts",
        starts=NOW - timedelta(days=1),
        ends=datetime(2027, 2, 28, 17, 0, tzinfo=UTC),  # 01:00 on the first of March in Kuala Lumpur
    )
    run_id = await run_all(database, HEAD + SITI + "\n", clock=clock)
    assert await door_words(database, run_id) == ["Not enrolled: in cool-down until 2027-03-01"]
