"""Opening, touching, answering and closing: one handoff, one clock, one outcome."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.advisers.events import CapacityFreed, HandoffClosed, HandoffOpened, HandoffTouched
from app.advisers.invariants import I7, I8
from app.advisers.operations.handoffs import close_open, open_or_touch, record_answer
from app.advisers.operations.outcome import lock_lead, log_outcome
from app.kernel.errors import Conflict, Invalid
from tests.fixtures.desk import MORNING, Desk, lock_contact


def after(minutes: int) -> datetime:
    return MORNING + timedelta(minutes=minutes)


async def answer(desk: Desk, contact_id: int, user_id: int, now: datetime) -> int | None:
    async with desk.database.transaction() as uow:
        await lock_contact(uow, contact_id)
        return await record_answer(uow, contact_id=contact_id, user_id=user_id, now=now)


async def close(desk: Desk, contact_id: int, outcome: str = "booked") -> int | None:
    async with desk.database.transaction() as uow:
        await lock_contact(uow, contact_id)
        return await close_open(uow, contact_id=contact_id, outcome=outcome, actor="signal:2", now=after(9))


async def log(desk: Desk, handoff_id: int, outcome: str, *, live: bool) -> None:
    async with desk.database.transaction() as uow:
        await lock_lead(uow, handoff_id=handoff_id)
        await log_outcome(
            uow,
            handoff_id=handoff_id,
            outcome=outcome,
            not_now_until=None,
            has_live_enrolment=live,
            actor="user:1",
            now=MORNING,
        )


async def test_a_reply_opens_a_handoff_in_the_pool_with_its_clock_running(desk: Desk) -> None:
    contact_id = await desk.lead()
    async with desk.database.transaction() as uow:
        change = await open_or_touch(
            uow,
            contact_id=contact_id,
            enrolment_id=7,
            reason="replied",
            trigger_send_id=8,
            actor="signal:1",
            now=MORNING,
        )
        events = list(uow.events)
    row = await desk.row(change.handoff_id)
    assert (change.opened, change.owner_id) == (True, None)
    assert events == [HandoffOpened(contact_id, change.handoff_id, "main")]
    assert (row["status"], row["owner_id"], row["enrolment_id"], row["trigger_send_id"]) == (
        "open",
        None,
        7,
        8,
    )
    assert (row["clock_started_at"], row["warn_at"], row["due_at"]) == (MORNING, after(10), after(15))
    assert [kind for kind, _ in await desk.ledger(contact_id)] == ["handoff_opened"]


async def test_the_first_unanswered_message_counts(desk: Desk) -> None:
    contact_id = await desk.lead()
    first = await desk.handoff(contact_id)
    before = await desk.row(first)
    assert await desk.handoff(contact_id, now=after(12)) == first
    assert await desk.row(first) == before


async def test_a_message_after_an_answer_starts_the_next_reply_clock(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await answer(desk, contact_id, aina, after(5))
    async with desk.database.transaction() as uow:
        await lock_contact(uow, contact_id)
        change = await open_or_touch(
            uow, contact_id=contact_id, enrolment_id=None, reason="replied", actor="signal:2", now=after(30)
        )
        assert uow.events == [HandoffTouched(contact_id, handoff_id, aina, clock_started=True)]
    assert (change.opened, change.owner_id) == (False, aina)
    row = await desk.row(handoff_id)
    assert (row["status"], row["waiting_since"], row["clock_started_at"]) == ("answered", None, after(30))
    assert (row["warn_at"], row["due_at"]) == (after(75), after(90))


async def test_a_word_that_may_mean_stop_is_shown_on_an_open_handoff_too(desk: Desk) -> None:
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    assert await desk.handoff(contact_id, flag="may_want_to_stop") == handoff_id
    assert (await desk.row(handoff_id))["reason"] == "may_want_to_stop"


async def test_an_answer_stops_the_clock_and_says_how_long_it_took(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    assert await answer(desk, contact_id, aina, after(16)) == handoff_id
    row = await desk.row(handoff_id)
    assert (row["status"], row["due_at"], row["warn_at"], row["waiting_since"]) == (
        "answered",
        None,
        None,
        after(16),
    )
    assert row["accepted_at"] == row["first_answered_at"] == row["answered_at"] == after(16)
    kind, data = (await desk.ledger(contact_id))[-1]
    assert (kind, data["seconds"], data["in_time"], data["is_first"]) == ("answered", 960, False, True)


async def test_working_time_alone_counts_for_an_answer(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    saturday_evening = datetime(2026, 11, 28, 14, 0, tzinfo=UTC)
    await desk.handoff(contact_id, now=saturday_evening)
    await answer(desk, contact_id, aina, datetime(2026, 11, 30, 1, 10, tzinfo=UTC))
    _, data = (await desk.ledger(contact_id))[-1]
    assert (data["seconds"], data["in_time"]) == (600, True)


async def test_a_second_message_of_ours_is_not_a_second_answer(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await answer(desk, contact_id, aina, after(5))
    await answer(desk, contact_id, aina, after(8))
    row = await desk.row(handoff_id)
    assert (row["first_answered_at"], row["waiting_since"]) == (after(5), after(8))
    assert [kind for kind, _ in await desk.ledger(contact_id)].count("answered") == 1


async def test_an_answer_out_of_the_pool_makes_the_handoff_the_answerers(desk: Desk) -> None:
    aina = await desk.adviser(capacity=1)
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await answer(desk, contact_id, aina, after(1))
    assert (await desk.row(handoff_id))["owner_id"] == aina
    [assignment] = await desk.read("SELECT * FROM assignments")
    assert (assignment["reason"], assignment["load_seen"], assignment["capacity_seen"]) == (
        "answered from the pool",
        0,
        1,
    )
    assert assignment["override_by"] is None
    assert await desk.read("SELECT owner_id FROM contacts") == [{"owner_id": aina}]


@pytest.mark.parametrize("has_seat", [True, False])
async def test_answering_above_capacity_is_a_recorded_override(desk: Desk, has_seat: bool) -> None:
    person = await desk.adviser(capacity=0) if has_seat else await desk.user("Mei Demo")
    contact_id = await desk.lead()
    await desk.handoff(contact_id)
    await answer(desk, contact_id, person, after(1))
    [assignment] = await desk.read("SELECT override_by, override_reason FROM assignments")
    assert assignment == {"override_by": f"user:{person}", "override_reason": "answered from the pool"}
    assert await desk.read(I8.sql) == []


async def test_a_colleagues_answer_leaves_the_owner(desk: Desk) -> None:
    aina, ben = await desk.adviser(), await desk.adviser("Ben Demo")
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await answer(desk, contact_id, aina, after(1))
    await desk.handoff(contact_id, now=after(2))
    await answer(desk, contact_id, ben, after(3))
    assert (await desk.row(handoff_id))["owner_id"] == aina
    assert (await desk.ledger(contact_id))[-1][1]["user_id"] == ben


async def test_nothing_is_answered_or_closed_where_no_handoff_is_open(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    assert await answer(desk, contact_id, aina, MORNING) is None
    assert await close(desk, contact_id) is None
    assert await desk.ledger(contact_id) == []


async def test_closing_happens_once_and_frees_a_place(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await answer(desk, contact_id, aina, after(5))
    async with desk.database.transaction() as uow:
        await close_open(uow, contact_id=contact_id, outcome="booked", actor="signal:2", now=after(9))
        assert uow.events == [HandoffClosed(contact_id, handoff_id, aina, "booked"), CapacityFreed("main")]
    assert await close(desk, contact_id, "lost") is None
    row = await desk.row(handoff_id)
    assert (row["status"], row["outcome"], row["closed_at"]) == ("closed", "booked", after(9))
    assert [kind for kind, _ in await desk.ledger(contact_id)].count("handoff_closed") == 1


async def test_a_reply_after_the_close_opens_a_new_handoff(desk: Desk) -> None:
    contact_id = await desk.lead()
    first = await desk.handoff(contact_id)
    await close(desk, contact_id)
    assert await desk.handoff(contact_id) != first


@pytest.mark.parametrize("live", [True, False])
async def test_an_outcome_closes_the_handoff_once_with_and_without_a_campaign(desk: Desk, live: bool) -> None:
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await log(desk, handoff_id, "won", live=live)
    assert (await desk.row(handoff_id))["outcome"] == "won"
    assert [kind for kind, _ in await desk.ledger(contact_id)].count("handoff_closed") == 1
    with pytest.raises(Conflict):
        await log(desk, handoff_id, "lost", live=live)


async def test_nothing_to_do_is_refused_while_a_campaign_waits(desk: Desk) -> None:
    handoff_id = await desk.handoff()
    with pytest.raises(Invalid):
        await log(desk, handoff_id, "no_action", live=True)
    assert (await desk.row(handoff_id))["status"] == "open"
    await log(desk, handoff_id, "no_action", live=False)
    assert (await desk.row(handoff_id))["outcome"] == "no_action"


async def test_the_sla_setting_is_read_and_an_unusable_one_does_not_lose_a_reply(desk: Desk) -> None:
    await desk.write(
        """INSERT INTO settings (key, value) VALUES ('sla', '{"first_reply_minutes": 30}'),
        ('working_calendar', '{"zone": "UTC", "week": {"mon": [["00:00", "24:00"]]}}')"""
    )
    assert (await desk.row(await desk.handoff()))["due_at"] == after(30)
    sunday = MORNING - timedelta(days=1)
    assert (await desk.row(await desk.handoff(now=sunday)))["due_at"] == datetime(
        2026, 11, 30, 0, 30, tzinfo=UTC
    )
    await desk.write("""UPDATE settings SET value = '{"first_reply_minutes": 1}' WHERE key = 'sla'""")
    await desk.write("""UPDATE settings SET value = '{"zone": "Nowhere"}' WHERE key = 'working_calendar'""")
    assert (await desk.row(await desk.handoff()))["due_at"] == after(15)


async def test_i7_finds_an_owner_who_does_not_exist(desk: Desk) -> None:
    handoff_id = await desk.handoff()
    assert await desk.read(I7.sql) == []
    await desk.write("UPDATE handoffs SET owner_id = 999, waiting_since = now()")
    [finding] = await desk.read(I7.sql)
    assert finding["detail"] == f"handoff {handoff_id}: two clocks, owner does not exist"
