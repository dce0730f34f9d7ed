"""A run turns files into people and enrolments, exactly once, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy.pool import QueuePool

from app.campaigns.imports.door import offer_to_campaign
from app.campaigns.imports.work import carry_on_imports
from app.clock import FixedClock
from app.contacts.imports.operations.start import resume_import, stop_import
from app.contacts.imports.operations.work import LeadToEnrol, work_on_next_run
from app.contacts.imports.queries import download_rows
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Conflict
from tests.integration.imports.conftest import NOW, SETTINGS
from tests.integration.imports.people import begin, everything, one, outcomes, rows, run_all

DATA = Path(__file__).parents[2] / "data"
OPEN_DAY = (DATA / "leads-open-day.csv").read_bytes()
MESSY = (DATA / "leads-messy.csv").read_bytes()
RUN = "SELECT status FROM runs WHERE id = :id"


class KilledError(BaseException):
    """Stands for the process being killed: nothing of ours catches it."""


class MortalDoor:
    """The real door into the campaign, which kills the worker at its nth batch (after or before the work)."""

    def __init__(self, *, at: int) -> None:
        self.left = at

    async def __call__(
        self, uow: UnitOfWork, *, campaign_key: str, leads: Sequence[LeadToEnrol], actor: str, now: datetime
    ) -> Mapping[str, str]:
        said = await offer_to_campaign(uow, campaign_key=campaign_key, leads=leads, actor=actor, now=now)
        self.left -= 1
        if self.left == 0:
            raise KilledError
        return said


async def let_lease_run_out(database: Database) -> None:
    async with database.transaction() as uow:
        await uow.execute("UPDATE runs SET lease_expires_at = clock_timestamp() - interval '1 second'")


async def test_open_day_gives_1178_people_and_960_enrolments(database: Database, clock: FixedClock) -> None:
    run_id = await run_all(database, OPEN_DAY, clock=clock)
    assert await one(database, RUN, id=run_id) == "done"
    assert await outcomes(database, run_id) == {"created": 1178, "merged": 22}
    assert await one(database, "SELECT count(*) FROM contacts") == 1178
    assert await one(database, "SELECT count(*) FROM consents WHERE channel = 'whatsapp' AND granted") == 960
    assert await one(database, "SELECT count(DISTINCT contact_id) FROM enrolments") == 960
    assert await one(database, "SELECT count(*) FROM enrolments WHERE automation = 'active'") == 960


async def test_messy_rows_become_what_is_expected(database: Database, clock: FixedClock) -> None:
    run_id = await run_all(database, MESSY, clock=clock)
    expected = json.loads((DATA / "leads-messy.expected.json").read_text(encoding="utf-8"))
    found = await rows(
        database, "SELECT row, outcome FROM run_rows WHERE run_id = :id ORDER BY row", id=run_id
    )
    assert found == [(row["row"], row["outcome"]) for row in expected]
    phones = await rows(database, "SELECT value FROM contact_identities WHERE kind = 'phone' ORDER BY 1")
    wanted = {row["phone"] for row in expected if row["outcome"] != "conflict" and row["phone"]}
    assert [phone for (phone,) in phones] == sorted(wanted)


async def test_people_of_a_conflict_are_left_as_they_were(database: Database, clock: FixedClock) -> None:
    await run_all(database, MESSY, clock=clock)
    owners = await rows(
        database,
        "SELECT count(DISTINCT contact_id), count(*) FROM contact_identities "
        "WHERE value IN ('+60120001013', 'grace@example.sg')",
    )
    assert owners == [(2, 2)]


async def test_a_second_touch_keeps_the_first_name_and_adds_what_was_unknown(
    database: Database, clock: FixedClock
) -> None:
    await run_all(
        database,
        "phone,name,email,area,age\n0123456789,Ana,,KL,\n0123456789,Other,ana@x.example,PJ,7\n",
        clock=clock,
    )
    assert await rows(database, "SELECT name, attributes FROM contacts") == [
        ("Ana", {"area": "KL", "age": "7"})
    ]
    assert await one(database, "SELECT value FROM contact_identities WHERE kind = 'email'") == "ana@x.example"


async def test_o11_the_same_file_tomorrow_changes_nothing(database: Database, clock: FixedClock) -> None:
    await run_all(database, OPEN_DAY, clock=clock)
    before = await everything(database)
    again = await run_all(database, OPEN_DAY, clock=clock)
    assert await everything(database) == before
    assert await outcomes(database, again) == {"unchanged": 1200}
    assert await one(database, "SELECT counts->>'enrolled' FROM runs WHERE id = :id", id=again) is None


async def test_o11_the_same_people_in_another_file_are_touched_and_not_enrolled_again(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, OPEN_DAY, clock=clock)
    enrolled = await rows(database, "SELECT id, contact_id, ref FROM enrolments ORDER BY id")
    run_id = await run_all(database, OPEN_DAY + b"\r\n", clock=clock)
    assert await outcomes(database, run_id) == {"merged": 1200}
    assert await rows(database, "SELECT id, contact_id, ref FROM enrolments ORDER BY id") == enrolled


@pytest.mark.parametrize("at", [1, 2, 3])
async def test_o11_a_killed_worker_is_followed_by_another_at_the_checkpoint(
    database: Database, clock: FixedClock, at: int
) -> None:
    run_id = await begin(database, OPEN_DAY)
    with pytest.raises(KilledError):
        await work_on_next_run(database, clock=clock, enrol=MortalDoor(at=at), settings=SETTINGS)
    enrolled = await one(database, "SELECT count(*) FROM enrolments")
    assert await one(database, "SELECT position FROM runs WHERE id = :id", id=run_id) == 500 * (at - 1)
    assert await carry_on_imports(database, clock=clock, settings=SETTINGS) is None  # the lease still stands
    await let_lease_run_out(database)
    assert await carry_on_imports(database, clock=clock, settings=SETTINGS) == run_id
    assert enrolled < 960
    assert await one(database, "SELECT count(*) FROM enrolments") == 960
    assert await outcomes(database, run_id) == {"created": 1178, "merged": 22}
    assert await one(database, "SELECT counts->>'enrolled' FROM runs WHERE id = :id", id=run_id) == "960"


async def test_a_worker_that_lost_its_lease_writes_nothing_more(
    database: Database, clock: FixedClock
) -> None:
    run_id = await begin(database, OPEN_DAY)
    taken_over = asyncio.Event()

    async def slow_door(
        uow: UnitOfWork, *, campaign_key: str, leads: Sequence[LeadToEnrol], actor: str, now: datetime
    ) -> Mapping[str, str]:
        if not taken_over.is_set():
            taken_over.set()
            raise ConnectionResetError
        return await offer_to_campaign(uow, campaign_key=campaign_key, leads=leads, actor=actor, now=now)

    await work_on_next_run(database, clock=clock, enrol=slow_door, settings=SETTINGS)
    assert await one(database, RUN, id=run_id) == "waiting"
    async with database.transaction() as uow:
        await stop_import(uow, run_id=run_id, now=NOW)
    assert await carry_on_imports(database, clock=clock, settings=SETTINGS) is None
    assert await one(database, "SELECT count(*) FROM enrolments") == 0


async def test_a_worker_that_is_told_to_stop_hands_the_run_to_the_next(
    database: Database, clock: FixedClock
) -> None:
    run_id = await begin(database, OPEN_DAY)
    at_work = asyncio.Event()

    async def waiting_door(
        uow: UnitOfWork, *, campaign_key: str, leads: Sequence[LeadToEnrol], actor: str, now: datetime
    ) -> Mapping[str, str]:
        at_work.set()
        await asyncio.Event().wait()
        return {}

    worker = asyncio.create_task(
        work_on_next_run(database, clock=clock, enrol=waiting_door, settings=SETTINGS)
    )
    await at_work.wait()
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    assert await one(database, RUN, id=run_id) == "waiting"
    assert await carry_on_imports(database, clock=clock, settings=SETTINGS) == run_id
    assert await one(database, "SELECT count(*) FROM enrolments") == 960


async def test_two_workers_never_work_on_one_run(database: Database, clock: FixedClock) -> None:
    run_id = await begin(database, OPEN_DAY)
    both = await asyncio.gather(
        *(carry_on_imports(database, clock=clock, settings=SETTINGS) for _ in range(3))
    )
    assert sorted(both, key=str) == sorted([run_id, None, None], key=str)
    assert await one(database, "SELECT count(*) FROM run_rows") == 1200


async def test_two_files_with_the_same_people_at_once_make_each_person_once(
    database: Database, clock: FixedClock
) -> None:
    lines = OPEN_DAY.splitlines(keepends=True)
    await begin(database, OPEN_DAY)
    await begin(database, b"".join([lines[0], *reversed(lines[1:])]))
    await asyncio.gather(*(carry_on_imports(database, clock=clock, settings=SETTINGS) for _ in range(2)))
    assert await rows(database, "SELECT DISTINCT status FROM runs") == [("done",)]
    assert await one(database, "SELECT count(*) FROM contacts") == 1178
    assert await one(database, "SELECT count(*) FROM enrolments") == 960


async def test_o13_the_same_file_in_progress_is_refused_with_its_run(database: Database) -> None:
    run_id = await begin(database, OPEN_DAY)
    with pytest.raises(Conflict) as refused:
        await begin(database, OPEN_DAY)
    assert refused.value.facts == {"run_id": run_id}


async def test_o13_two_who_press_at_the_same_time_start_one_run(database: Database) -> None:
    pressed = await asyncio.gather(*(begin(database, MESSY) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(result, int) for result in pressed) == 1
    assert sum(isinstance(result, Conflict) for result in pressed) == 3


async def test_an_error_at_one_place_three_times_needs_a_person_and_can_go_on_then(
    database: Database, clock: FixedClock
) -> None:
    run_id = await begin(database, MESSY)

    async def broken_door(
        uow: UnitOfWork, *, campaign_key: str, leads: Sequence[LeadToEnrol], actor: str, now: datetime
    ) -> Mapping[str, str]:
        raise RuntimeError("phone +60123456789")

    for _ in range(3):
        await work_on_next_run(database, clock=clock, enrol=broken_door, settings=SETTINGS)
    assert await one(database, RUN, id=run_id) == "needs_review"
    assert await rows(database, "SELECT DISTINCT message FROM run_errors") == [("RuntimeError",)]
    assert await carry_on_imports(database, clock=clock, settings=SETTINGS) is None
    async with database.transaction() as uow:
        await resume_import(uow, run_id=run_id)
    await carry_on_imports(database, clock=clock, settings=SETTINGS)
    assert await one(database, RUN, id=run_id) == "done"


async def test_k05_an_opted_out_person_in_another_spelling_stays_suppressed(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, "phone,email,consent whatsapp\n+60123456789,ana@x.com,yes\n", clock=clock)
    async with database.transaction() as uow:
        await uow.execute(
            "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
            "SELECT id, 'all', 'stop_word', 'test', :now FROM contacts",
            {"now": NOW},
        )
        await uow.execute(
            "UPDATE enrolments SET stage = 'opted_out', automation = 'completed', exit_reason = 'opted_out', "
            "next_run_at = NULL"
        )
    run_id = await run_all(
        database, "Mobile,E-mail,Consent WhatsApp\n012-345 6789,,yes\n,ANA@X.com,yes\n", clock=clock
    )
    assert await rows(
        database, "SELECT outcome, enrolment FROM run_rows WHERE run_id = :id ORDER BY row", id=run_id
    ) == [("merged", "suppressed"), ("merged", "suppressed")]
    assert await one(database, "SELECT count(*) FROM suppressions WHERE lifted_at IS NULL") == 1
    assert await one(database, "SELECT count(*) FROM enrolments WHERE automation <> 'completed'") == 0


async def test_a_no_far_down_the_file_is_known_before_anybody_is_enrolled(
    database: Database, clock: FixedClock
) -> None:
    people = "".join(f"01{i:08},yes\n" for i in range(20_000_000, 20_000_600))
    await run_all(database, f"phone,consent whatsapp\n{people}0120000000,no\n", clock=clock)
    assert await one(database, "SELECT count(*) FROM enrolments") == 599


@pytest.mark.parametrize(
    ("first", "second", "granted"),
    [
        ("phone,consent sms\n0123456789,yes\n0123456789,no\n", "", False),
        ("phone,consent sms\n0123456789,no\n0123456789,yes\n", "", False),
        ("phone,consent sms\n0123456789,yes\n", "phone,consent sms\n0123456789,no\n", False),
        ("phone,consent sms\n0123456789,no\n", "phone,consent sms\n0123456789,yes\n", True),
        ("phone,consent sms\n0123456789,yes\n", "phone,consent sms\n0123456789,\n", True),
    ],
)
async def test_consent_is_the_latest_files_word_and_a_no_wins_inside_one_file(
    database: Database, clock: FixedClock, first: str, second: str, granted: bool
) -> None:
    await run_all(database, first, clock=clock)
    if second:
        await run_all(database, second, clock=clock)
    assert await one(database, "SELECT granted FROM consents") is granted


async def test_a_no_that_the_person_gave_is_not_lifted_by_a_list(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, "phone,consent sms\n0123456789,yes\n", clock=clock)
    async with database.transaction() as uow:
        await uow.execute("UPDATE consents SET granted = false, source = 'reply'")
    await run_all(database, "phone,consent sms,area\n0123456789,yes,KL\n", clock=clock)
    assert await one(database, "SELECT granted FROM consents") is False


async def test_v01_nul_and_invisible_marks_of_a_cell_reach_no_table(
    database: Database, clock: FixedClock
) -> None:
    await run_all(database, b"phone,name,note\n0123456789,A\x00na,x\x00y\n", clock=clock)
    assert await rows(database, "SELECT name, attributes FROM contacts") == [("Ana", {"note": "xy"})]
    assert await one(database, "SELECT warnings FROM run_rows") == ["nul_removed"]


async def test_whoever_reads_a_download_slowly_holds_no_connection(
    database: Database, clock: FixedClock
) -> None:
    run_id = await run_all(database, "phone,name\n0123000001,Siti\n0123000002,Adam\n", clock=clock)
    lines = download_rows(database, run_id=run_id)
    heads = 0
    async for text in lines:
        heads += text.startswith("\ufeff")
        pool = database.engine.pool
        assert isinstance(pool, QueuePool) and pool.checkedout() == 0
    assert heads == 1
