"""Acceptance: one door, whoever brings the word, however often and in whatever order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.domain.vocabulary import Stim
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.leftovers import process_leftovers
from app.messaging.gateways.base import Accepted, Unknown
from tests.fixtures.engine import World
from tests.integration.campaigns.steps import (
    command,
    enrol_one,
    enrolment,
    look_up,
    plan_and_start,
    report,
    review,
    settle,
    the_send,
    told,
)

SID = "SM00000000000000000000000000000001"


async def attempts(world: World) -> list[Any]:
    """Return all attempts in order."""
    return await world.rows("SELECT * FROM send_attempts ORDER BY send_id, n")


async def advanced_once(world: World, lead: int) -> None:
    """Check that the journey moved on exactly once."""
    journey = await enrolment(world, lead)
    assert (journey.step, journey.lock_token) == ("wait_1", None)
    assert (await told(world, lead)).count("send_accepted") == 1


@pytest.mark.parametrize(
    "order", ["finish callback", "callback finish", "finish finish", "callback callback"]
)
async def test_the_first_word_advances_and_later_ones_only_raise_the_rank(world: World, order: str) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    for word in order.split():
        if word == "finish":
            await settle(world, call, Accepted(SID, "queued"))
        else:
            await report(world, SID, "delivered", attempt=call.attempt_id)
    await advanced_once(world, lead)
    assert (await the_send(world, lead)).status == ("delivered" if "callback" in order else "accepted")
    [attempt] = await attempts(world)
    assert (attempt.outcome, attempt.provider_message_id) == ("accepted", SID)


async def test_many_words_at_once_advance_once(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await asyncio.gather(
        *(settle(world, call, Accepted(SID, "queued")) for _ in range(4)),
        *(
            report(world, SID, status, attempt=call.attempt_id)
            for status in ("sent", "delivered", "read", "queued")
        ),
    )
    await advanced_once(world, lead)
    assert (await the_send(world, lead)).status == "read"


async def test_B05_a_report_before_the_answer_of_the_call_is_taken_and_the_answer_changes_nothing(
    world: World,
) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await report(world, SID, "delivered", attempt=call.attempt_id)
    await settle(world, call, Accepted(SID, "accepted"))
    assert (await the_send(world, lead)).status == "delivered"
    await advanced_once(world, lead)


async def test_B05_a_report_without_our_id_is_kept_and_matched_when_the_providers_id_arrives(
    world: World,
) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    signal = await report(world, SID, "delivered")
    [parked] = await world.rows("SELECT * FROM signals WHERE id = :id", id=signal)
    assert (parked.outcome, parked.processed_at) == ("parked", None)
    await settle(world, call, Accepted(SID, "accepted"))
    assert (await the_send(world, lead)).status == "accepted"
    await world.execute("UPDATE signals SET not_before = clock_timestamp()")
    await process_leftovers(world.database)
    assert (await the_send(world, lead)).status == "delivered"


async def test_a_report_about_a_call_of_unknown_outcome_settles_it(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    assert (await the_send(world, lead)).status == "unknown"
    assert (await enrolment(world, lead)).lock_token is not None
    await report(world, SID, "sent", attempt=call.attempt_id)
    assert (await the_send(world, lead)).status == "sent"
    await advanced_once(world, lead)


async def test_an_acceptance_while_paused_advances_with_the_timer_off(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await world.reply(lead, "Hello")
    journey = await enrolment(world, lead)
    assert journey.lock_token is not None  # a signal never releases a lock
    await settle(world, call, Accepted(SID, "accepted"))
    journey = await enrolment(world, lead)
    assert (journey.automation, journey.step, journey.return_step) == ("paused", "wait_1", "wait_1")
    assert (journey.lock_token, journey.next_run_at) == (None, None)


async def test_a_late_finish_writes_its_id_and_is_the_truth_after_a_reviewer_said_skip(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    await review(world, lead, "skip")
    assert (await the_send(world, lead)).status == "skipped"
    await settle(world, call, Accepted(SID, "accepted"))
    assert (await the_send(world, lead)).status == "accepted"
    await report(world, SID, "delivered", attempt=call.attempt_id)
    assert (await the_send(world, lead)).status == "delivered"
    [attempt] = await attempts(world)
    assert (attempt.outcome, attempt.provider_message_id) == ("accepted", SID)
    assert (await enrolment(world, lead)).step == "wait_1"


async def test_a_late_report_stops_the_second_attempt_that_a_reviewer_wanted(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    await review(world, lead, "again")
    await report(world, SID, "delivered", attempt=call.attempt_id)
    assert (await the_send(world, lead)).status == "delivered"
    assert (await enrolment(world, lead)).step == "wait_1"
    await world.run()
    assert await world.received() == {}
    await advanced_once(world, lead)


async def test_two_accepted_attempts_of_one_send_are_found_at_once(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    await review(world, lead, "again")
    [second] = await plan_and_start(world)
    await settle(world, second, Accepted(f"{SID[:-1]}2", "accepted"))
    await settle(world, call, Accepted(SID, "accepted"))
    world.breaks = {"I1"}
    assert [a.provider_message_id for a in await attempts(world)] == [SID, f"{SID[:-1]}2"]
    journey = await enrolment(world, lead)
    assert (journey.step, journey.lock_token) == ("wait_1", None)


async def test_two_outcomes_of_one_journey_in_one_batch_follow_each_other(world: World) -> None:
    lead = await enrol_one(world)
    [first] = await plan_and_start(world)
    await settle(world, first, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    await review(world, lead, "skip")
    world.clock.advance(timedelta(days=2))
    [second] = await plan_and_start(world)
    outcomes = [
        CallOutcome(call.attempt_id, Accepted(f"SM{call.attempt_id}", "accepted"), "finish")
        for call in (second, first)
    ]
    await settle_outcomes(world.database, outcomes, now=world.now)
    assert (await enrolment(world, lead)).step == "wait_2"
    assert (await told(world, lead)).count("send_accepted") == 2


async def test_a_hold_does_not_keep_a_send_in_the_air_from_being_accepted(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await command(world, lead, Stim.OPERATOR_HELD)
    await settle(world, call, Accepted(SID, "accepted"))
    journey = await enrolment(world, lead)
    assert (journey.automation, journey.step, journey.next_run_at) == ("held", "wait_1", None)
    await command(world, lead, Stim.OPERATOR_RELEASED)
    assert (await enrolment(world, lead)).next_run_at == world.now + timedelta(days=2)


async def test_messages_in_a_row_go_one_after_the_other_each_once(world: World) -> None:
    steps = [
        {"key": "hello", "kind": "message", "template": "hello"},
        {"key": "off", "kind": "wait", "days": 3, "enabled": False},
        {"key": "nudge", "kind": "message", "template": "nudge"},
        {"key": "end", "kind": "end"},
    ]
    await world.restart(definition={"paths": {"nurture": steps}})
    lead = await enrol_one(world)
    await world.run()
    assert len(await world.received()) == 1
    await world.advance(hours=20)  # 05:00: the gap is over, the night is not
    await world.advance(hours=4)
    assert list((await world.received()).values()) == [1, 1]
    assert (await enrolment(world, lead)).stage == "exhausted"
