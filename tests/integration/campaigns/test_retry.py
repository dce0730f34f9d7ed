"""A failure after acceptance: the same send once more where that can help, and never over a head or a later step."""

from __future__ import annotations

from datetime import timedelta

from app.campaigns.domain.vocabulary import Stim
from app.messaging.gateways.base import Accepted
from tests.fixtures.engine import World
from tests.integration.campaigns.steps import (
    command,
    enrolment,
    plan_and_start,
    report,
    sent_to,
    settle,
    start_now,
    the_send,
    told,
)

RETRIED = 30003  # the phone could not be reached


async def test_a_passing_failure_is_tried_again_with_the_same_send_and_the_position_stays(
    world: World,
) -> None:
    lead, sid, attempt = await sent_to(world)
    before = await enrolment(world, lead)
    await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
    send = await the_send(world, lead)
    assert (send.status, (await enrolment(world, lead)).lock_token) == ("queued", f"send:{send.id}")
    [call] = await start_now(world)
    await settle(world, call, Accepted("SM" + "2" * 32, "accepted"))
    send, after = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, send.attempts, after.lock_token) == ("accepted", 2, None)
    assert (after.step, after.wait_from, after.next_run_at) == (
        before.step,
        before.wait_from,
        before.next_run_at,
    )


async def test_who_answered_meanwhile_is_not_written_to_again(world: World) -> None:
    lead, sid, attempt = await sent_to(world)
    await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
    await world.reply(lead, "Yes please")
    assert await start_now(world) == []
    send = await the_send(world, lead)
    assert (send.status, send.reason) == ("skipped", "not_again:paused")
    assert (await enrolment(world, lead)).lock_token is None


async def test_a_paused_journey_only_records_the_failure(world: World) -> None:
    lead, sid, attempt = await sent_to(world)
    await command(world, lead, Stim.OPERATOR_PAUSED)
    await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
    assert (await the_send(world, lead)).status == "undelivered"


async def test_a_message_that_arrived_after_all_is_not_sent_again(world: World) -> None:
    lead, sid, attempt = await sent_to(world)
    await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
    await report(world, sid, "delivered", attempt=attempt, lead=lead)
    assert await start_now(world) == []
    assert (await the_send(world, lead)).reason == "not_again:arrived_after_all"
    assert "ignored" in await told(world, lead)


async def test_once_a_later_step_has_started_a_failure_is_only_recorded(world: World) -> None:
    lead, sid, attempt = await sent_to(world)
    world.clock.advance(timedelta(days=3))
    [later] = await plan_and_start(world)
    await settle(world, later, Accepted("SM" + "3" * 32, "accepted"))
    await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
    statuses = await world.rows("SELECT status FROM sends ORDER BY id")
    assert [r.status for r in statuses] == ["undelivered", "accepted"]


async def test_a_message_fails_three_times_at_most(world: World) -> None:
    lead, sid, attempt = await sent_to(world)
    for number in (4, 5):
        await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
        [call] = await start_now(world)
        sid, attempt = "SM" + str(number) * 32, call.attempt_id
        await settle(world, call, Accepted(sid, "accepted"))
    await report(world, sid, "undelivered", attempt=attempt, code=RETRIED, lead=lead)
    send = await the_send(world, lead)
    assert (send.status, send.attempts) == ("undelivered", 3)
