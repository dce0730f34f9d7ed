"""Visits in the database: the journey follows the booking, and a person is never left out."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.campaigns.operations.visits import (
    find_reminders,
    remind_by_hand,
    visit_booked,
    visit_cancelled,
    visit_marked,
    visit_rescheduled,
)
from app.kernel.errors import CommandRefused
from tests.fixtures.engine import World
from tests.integration.campaigns.steps import enrol_one, enrolment, hand_back, told

DEFINITION: dict[str, Any] = {
    "paths": {
        "nurture": [
            {"key": "hello", "kind": "message", "template": "hello"},
            {"key": "wait_1", "kind": "wait", "days": 20},
            {"key": "last", "kind": "message", "template": "last"},
        ],
        "confirmation": [
            {"key": "confirmed", "kind": "message", "template": "nudge"},
            {"key": "day_before", "kind": "wait", "until": {"booking": "start", "before": {"hours": 24}}},
            {"key": "reminder", "kind": "message", "template": "last"},
        ],
        "post_visit": [{"key": "thanks", "kind": "message", "template": "hello"}],
        "rebook": [{"key": "again", "kind": "message", "template": "nudge"}],
    }
}
IN_FIVE_DAYS = timedelta(days=5, hours=2)


@pytest.fixture
async def open_day(world: World) -> World:
    """Give a campaign with visits."""
    await world.restart(definition=DEFINITION)
    return world


async def book(world: World, lead: int, *, at: datetime | None = None) -> int:
    """Book a visit as the booking page will: the row, and the journey with it."""
    starts = at or world.now + IN_FIVE_DAYS
    async with world.database.transaction() as uow:
        row = (
            await uow.execute(
                "INSERT INTO bookings (contact_id, program_id, starts_at, ends_at, created_at, created_by, updated_at) "
                "SELECT :lead, id, :starts, :ends, :now, 'lead', :now FROM programs RETURNING id",
                {"lead": lead, "starts": starts, "ends": starts + timedelta(hours=1), "now": world.now},
            )
        ).one()
        await visit_booked(uow, booking_id=row.id, actor="lead", now=world.now)
    booking_id: int = row.id
    return booking_id


async def steps_sent(world: World, lead: int) -> list[str]:
    """Return the keys of the steps that were accepted, in order."""
    rows = await world.rows(
        "SELECT step FROM sends WHERE contact_id = :id AND accepted_at IS NOT NULL ORDER BY accepted_at, id",
        id=lead,
    )
    return [r.step for r in rows]


async def open_tasks(world: World, lead: int) -> list[str]:
    """Return the kinds of the open tasks of a lead."""
    rows = await world.rows(
        "SELECT kind FROM tasks WHERE contact_id = :id AND done_at IS NULL ORDER BY id", id=lead
    )
    return [r.kind for r in rows]


async def sweep(world: World) -> None:
    """Let what falls due before a visit go to a person, as the sweep does."""
    async with world.database.reading() as uow:
        due = await find_reminders(uow, now=world.now)
    for enrolment_id in due:
        async with world.database.transaction() as uow:
            await remind_by_hand(uow, enrolment_id=enrolment_id, now=world.now)


async def test_from_booking_over_reminder_to_thanks(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    open_day.clock.advance(timedelta(days=1))
    booking = await book(open_day, lead)
    await open_day.run()
    assert await steps_sent(open_day, lead) == ["hello", "confirmed"]
    await open_day.advance(days=4, hours=3)
    assert await steps_sent(open_day, lead) == ["hello", "confirmed", "reminder"]
    await open_day.advance(days=1, hours=2)
    assert await open_tasks(open_day, lead) == ["mark_visit"]
    async with open_day.database.transaction() as uow:
        await visit_marked(uow, booking_id=booking, came=True, actor="user:1", now=open_day.now)
    await open_day.run()
    assert await steps_sent(open_day, lead) == ["hello", "confirmed", "reminder", "thanks"]
    assert (await enrolment(open_day, lead)).stage == "closed"
    assert await open_tasks(open_day, lead) == []


async def test_C05_a_visit_stops_the_nurture_also_while_a_message_is_queued(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    await open_day.advance(days=19, hours=20)
    await book(open_day, lead)
    await open_day.advance(days=4)
    assert "last" not in await steps_sent(open_day, lead)


async def test_who_books_without_a_journey_gets_one_and_rests_do_not_stop_it(open_day: World) -> None:
    [lead] = await open_day.add_leads(1)
    await open_day.execute(
        "INSERT INTO cooldowns (contact_id, reason, starts_at, ends_at, created_by, written_at) "
        "VALUES (:id, 'lost', :now, :until, 'test', :now)",
        id=lead,
        now=open_day.now,
        until=open_day.now + timedelta(days=90),
    )
    await book(open_day, lead)
    await open_day.run()
    assert await steps_sent(open_day, lead) == ["confirmed"]
    assert (await enrolment(open_day, lead)).stage == "booked"
    [told_enrolled] = await open_day.rows("SELECT data FROM ledger WHERE type = 'enrolled'")
    assert "their own act" in told_enrolled.data["override"]


async def test_a_visit_that_no_campaign_can_confirm_goes_to_a_person(open_day: World) -> None:
    lead = await open_day.add_lead("+60129990001", consent=False)
    await book(open_day, lead)
    assert await open_tasks(open_day, lead) == ["review"]
    assert await told(open_day, lead) == ["enrol_refused", "booked"]


async def test_a_second_visit_is_refused_and_leaves_no_booking(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await book(open_day, lead)
    await open_day.execute(
        "UPDATE bookings SET program_id = program_id + 1"
    )  # the index allows one in each program
    with pytest.raises(CommandRefused):
        await book(open_day, lead)
    assert await open_day.value("SELECT count(*) FROM bookings") == 1


async def test_a_cancelled_visit_goes_to_a_person_who_can_hand_back(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    booking = await book(open_day, lead)
    await open_day.run()
    async with open_day.database.transaction() as uow:
        await visit_cancelled(uow, booking_id=booking, actor="lead", now=open_day.now)
    journey = await enrolment(open_day, lead)
    assert (journey.stage, journey.automation, journey.path, journey.step) == (
        "engaged",
        "paused",
        "nurture",
        "wait_1",
    )
    assert await open_day.value("SELECT reason FROM handoffs WHERE contact_id = :id", id=lead) == "cancelled"
    await hand_back(open_day, lead)
    assert (await enrolment(open_day, lead)).stage == "nurturing"


async def test_another_time_is_confirmed_again_and_the_old_reminder_is_gone(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    booking = await book(open_day, lead)
    await open_day.advance(hours=3)
    await open_day.execute(
        "UPDATE bookings SET starts_at = starts_at + interval '5 days', ends_at = ends_at + interval '5 days'"
    )
    async with open_day.database.transaction() as uow:
        await visit_rescheduled(uow, booking_id=booking, actor="lead", now=open_day.now)
    await open_day.advance(minutes=1)
    assert await steps_sent(open_day, lead) == ["hello", "confirmed", "confirmed"]
    await open_day.advance(days=5)
    assert await steps_sent(open_day, lead) == ["hello", "confirmed", "confirmed"]
    await open_day.advance(days=4)
    assert (await steps_sent(open_day, lead))[-1] == "reminder"


async def test_a_reminder_that_falls_due_while_a_person_has_the_lead_is_their_task(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    await book(open_day, lead)
    await open_day.advance(hours=21)
    await open_day.reply(lead, "Can I bring my mother?")
    open_day.clock.advance(timedelta(days=4))
    await sweep(open_day)
    await sweep(open_day)
    assert await open_tasks(open_day, lead) == ["visit_reminder"]
    assert "reminder" not in await steps_sent(open_day, lead)
    await open_day.run()
    assert "reminder" not in await steps_sent(open_day, lead)


async def test_who_came_after_all_is_corrected(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    booking = await book(open_day, lead)
    await open_day.advance(days=5, hours=4)
    for came in (False, True):
        async with open_day.database.transaction() as uow:
            await visit_marked(uow, booking_id=booking, came=came, actor="user:1", now=open_day.now)
    journey = await enrolment(open_day, lead)
    assert (journey.stage, journey.path) == ("attended", "post_visit")


async def test_two_workers_remind_once(open_day: World) -> None:
    lead = await enrol_one(open_day)
    await open_day.run()
    await book(open_day, lead)
    await open_day.advance(hours=21)
    await open_day.reply(lead, "One question")
    open_day.clock.advance(timedelta(days=4))
    await asyncio.gather(sweep(open_day), sweep(open_day))
    assert await open_tasks(open_day, lead) == ["visit_reminder"]
