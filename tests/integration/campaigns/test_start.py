"""Starting: the last moment at which a send can be stopped, and what stops it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from app.campaigns.domain.vocabulary import Outcome, Stim
from app.campaigns.operations.call import still_wanted
from app.campaigns.operations.leftovers import process_leftovers
from app.campaigns.operations.operate import close_journey
from app.campaigns.operations.plan import plan
from app.messaging.operations.receive import keep_inbound
from tests.fixtures.engine import SENDER, World, form
from tests.integration.campaigns.steps import (
    command,
    enrol_one,
    enrolment,
    plan_and_start,
    review,
    sends,
    start_now,
    the_send,
    told,
)


async def keep_reply(world: World, lead: int, text: str = "Hello?") -> None:
    """Store a reply as the first commit of a webhook does, and process nothing."""
    fields = {
        "MessageSid": f"SM{lead:032d}",
        "From": f"whatsapp:{await world.phone_of(lead)}",
        "To": f"whatsapp:{SENDER}",
        "Body": text,
    }
    async with world.database.transaction() as uow:
        await keep_inbound(uow, fields=form(fields), now=world.now)


async def test_a_pause_between_planning_and_starting_stops_the_send_which_goes_once_after_it(
    world: World,
) -> None:
    lead = await enrol_one(world)
    await plan(world.database, now=world.now)
    await command(world, lead, Stim.OPERATOR_PAUSED)
    assert await start_now(world) == []
    send, journey = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, send.reason, send.attempts) == ("waiting", "paused", 0)
    assert (journey.lock_token, journey.next_run_at) == (None, None)
    await command(world, lead, Stim.OPERATOR_RESUMED)
    await world.run()
    assert list((await world.received()).values()) == [1]
    assert len(await sends(world, lead)) == 1


async def test_a_send_whose_position_has_moved_is_superseded(world: World) -> None:
    lead = await enrol_one(world)
    await plan(world.database, now=world.now)
    await world.execute("UPDATE sends SET step = 'nudge'")
    assert await start_now(world) == []
    send = await the_send(world, lead)
    assert (send.status, send.reason) == ("superseded", "position_moved")
    assert (await enrolment(world, lead)).lock_token is None


async def test_a_send_of_a_journey_that_has_ended_is_superseded(world: World) -> None:
    lead = await enrol_one(world)
    await plan(world.database, now=world.now)
    async with world.database.transaction() as uow:
        await close_journey(
            uow, contact_id=lead, outcome=Outcome.WON, not_now_until=None, actor="user:1", now=world.now
        )
    assert await start_now(world) == []
    assert (await the_send(world, lead)).status == "superseded"
    assert (await enrolment(world, lead)).lock_token is None


async def test_C01_a_reply_that_nobody_has_read_yet_stops_the_send(world: World) -> None:
    lead = await enrol_one(world)
    await plan(world.database, now=world.now)
    await keep_reply(world, lead)
    assert await start_now(world) == []
    assert (await the_send(world, lead)).reason == "unread_inbound"
    assert (await enrolment(world, lead)).next_run_at == world.now + timedelta(seconds=10)
    await process_leftovers(world.database)
    assert (await enrolment(world, lead)).automation == "paused"
    await world.advance(days=30)
    assert await world.received() == {}


async def test_C01_a_call_that_waited_is_not_made_once_the_lead_has_written(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    assert await still_wanted(world.database, call)
    await keep_reply(world, lead)
    assert not await still_wanted(world.database, call)
    await process_leftovers(world.database)
    assert not await still_wanted(world.database, call)


async def test_quiet_hours_defer_to_the_morning_and_it_goes_then_once(world: World) -> None:
    world.clock.advance(timedelta(hours=14))  # 23:00
    lead = await enrol_one(world)
    await world.run()
    assert await world.received() == {}
    journey = await enrolment(world, lead)
    assert journey.next_run_at.isoformat() == "2026-12-01T00:00:00+00:00"  # 08:00
    assert (await the_send(world, lead)).verdict["until"] == journey.next_run_at.isoformat()
    await world.advance(hours=8, minutes=59)
    assert await world.received() == {}
    await world.advance(minutes=1)
    assert list((await world.received()).values()) == [1]


@pytest.mark.parametrize("approval", ["pending", "paused"])
async def test_a_template_that_waits_for_approval_defers_and_goes_when_approved(
    world: World, approval: str
) -> None:
    await world.execute("UPDATE templates SET approval = :to WHERE key = 'hello'", to=approval)
    lead = await enrol_one(world)
    await world.run()
    assert (await the_send(world, lead)).reason == f"template_{approval}"
    await world.execute("UPDATE templates SET approval = 'approved'")
    await world.advance(minutes=10)
    assert list((await world.received()).values()) == [1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE templates SET approval = 'rejected'", "template_rejected"),
        ("UPDATE consents SET granted = false", "no_consent"),
        ("DELETE FROM consents", "no_consent"),
    ],
)
async def test_what_can_never_go_is_skipped_with_its_reason_and_the_flow_goes_on(
    world: World, change: str, reason: str
) -> None:
    lead = await enrol_one(world)
    await world.execute(change)
    await world.run()
    send, journey = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, send.reason, send.attempts) == ("skipped", reason, 0)
    assert (journey.step, journey.next_run_at) == ("wait_1", world.now + timedelta(days=2))
    assert (await told(world, lead))[-1] == "skipped"


async def test_without_an_address_or_with_a_closed_channel_it_is_skipped(world: World) -> None:
    lead, other = await enrol_one(world), await enrol_one(world)
    world.breaks = {"I6"}  # an address that vanished is found
    await world.execute("DELETE FROM contact_identities WHERE contact_id = :id", id=lead)
    await world.execute(
        "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
        "VALUES (:id, 'whatsapp', 'unreachable', 'test', now())",
        id=other,
    )
    await world.run()
    assert (await the_send(world, lead)).reason == "no_address"
    assert (await the_send(world, other)).reason == "suppressed:unreachable"


async def test_a_variable_that_cannot_be_filled_goes_to_a_person(world: World) -> None:
    await world.execute(
        'UPDATE templates SET variables = \'[{"name": "1", "source": "lead.school", "fallback": ""}]\''
    )
    lead = await enrol_one(world)
    await world.run()
    assert (await the_send(world, lead)).status == "needs_review"
    assert (await enrolment(world, lead)).automation == "held"
    await world.execute('UPDATE contacts SET attributes = \'{"school": "SK Bangsar"}\'')
    await review(world, lead, "again")
    await world.run()
    assert (await the_send(world, lead)).content["text"].startswith("Hi SK Bangsar,")
    assert list((await world.received()).values()) == [1]


async def test_the_attempt_is_counted_before_the_call_with_its_lease_and_its_bubble(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    send = await the_send(world, lead)
    assert (send.status, send.attempts) == ("sending", 1)
    [attempt] = await world.rows(
        "SELECT *, lease_expires_at > clock_timestamp() AS leased FROM send_attempts"
    )
    assert (attempt.id, attempt.outcome, attempt.leased) == (call.attempt_id, None, True)
    assert (await enrolment(world, lead)).lock_token == f"send:{send.id}"
    assert await world.value("SELECT text FROM messages WHERE send_id = :id", id=send.id) == (
        "Hi Aisyah, thank you for asking about our open day. Shall we keep you a place?"
    )
    assert call.message.validity_seconds == 4 * 3600


async def test_a_lead_gets_the_template_in_their_own_language(world: World) -> None:
    [lead] = await world.add_leads(1, language="ms")
    await world.enrol([lead])
    await world.run()
    assert (await the_send(world, lead)).content["language"] == "ms"


async def test_no_send_starts_after_a_pause_has_committed(world: World) -> None:
    leads = await world.add_leads(15)
    await world.enrol(leads)
    await plan(world.database, now=world.now)
    await world.execute("UPDATE sends SET not_before = clock_timestamp()")
    starting = asyncio.create_task(start_now(world))
    await asyncio.gather(*(command(world, lead, Stim.OPERATOR_PAUSED) for lead in leads))
    calls = [*await starting, *await start_now(world)]
    # Which ones slipped through is chance; that none started after its pause is the invariant I2.
    assert len(calls) <= 15
    assert await world.value("SELECT count(*) FROM enrolments WHERE automation = 'paused'") == 15
