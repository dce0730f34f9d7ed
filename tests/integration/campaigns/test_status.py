"""Reports about our messages: late, doubled, out of order, strange. The state never moves back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.leftovers import process_leftovers
from app.campaigns.operations.plan import plan
from app.messaging.gateways.base import Accepted
from app.messaging.operations.receive import keep_status
from tests.fixtures.engine import World, form
from tests.integration.campaigns.steps import (
    enrolment,
    plan_and_start,
    report,
    sent_to,
    the_send,
    told,
)

MANY = 160


async def outcomes(world: World) -> list[str | None]:
    """Return what became of each stored report, in the order of arrival."""
    return [
        r.outcome for r in await world.rows("SELECT outcome FROM signals WHERE kind = 'status' ORDER BY id")
    ]


@pytest.mark.parametrize(
    ("order", "ends"),
    [
        ("delivered sent queued", "delivered"),
        ("read delivered", "read"),
        ("read sent delivered", "read"),
        ("sent sent delivered delivered read read", "read"),
        ("queued sending", "accepted"),
        ("delivered", "delivered"),
    ],
)
async def test_B01_the_state_never_moves_back_and_every_report_is_kept(
    world: World, order: str, ends: str
) -> None:
    lead, sid, attempt = await sent_to(world)
    for status in order.split():
        await report(world, sid, status, attempt=attempt)
    assert (await the_send(world, lead)).status == ends
    kept = await world.rows("SELECT external_id FROM signals ORDER BY id")
    assert [r.external_id.split(":")[1] for r in kept] == list(dict.fromkeys(order.split()))


@pytest.mark.parametrize(
    ("order", "ends"),
    [("sent delivered failed", "delivered"), ("read undelivered", "read"), ("read failed", "read")],
)
async def test_B03_a_failure_after_delivery_changes_nothing_and_is_told(
    world: World, order: str, ends: str
) -> None:
    lead, sid, attempt = await sent_to(world)
    for status in order.split():
        code = 30008 if status in ("failed", "undelivered") else None
        await report(world, sid, status, attempt=attempt, code=code, lead=lead)
    assert (await the_send(world, lead)).status == ends
    assert (await outcomes(world))[-1] == "ignored:failure_after_delivery"
    assert (await told(world, lead))[-1] == "ignored"
    assert await world.value("SELECT count(*) FROM suppressions") == 0
    assert (await plan(world.database, now=world.now)).queued == 0


async def test_B07_sent_and_delivered_for_many_messages_at_the_same_instant_all_end_delivered(
    world: World,
) -> None:
    leads = await world.add_leads(MANY)
    await world.enrol(leads)
    while (await plan(world.database, now=world.now, batch=500)).queued:
        pass
    calls = [*await _start_all(world)]
    assert len(calls) == MANY
    half = calls[: MANY // 2]  # the others are accepted by their reports alone
    answers = [CallOutcome(c.attempt_id, Accepted(f"SM{c.send_id}", "queued"), "finish") for c in half]
    await settle_outcomes(world.database, answers, now=world.now)

    async def reports(status: str) -> None:
        """One connection: its reports one after the other."""
        for call in calls:
            await report(world, f"SM{call.send_id}", status, attempt=call.attempt_id)

    await asyncio.gather(reports("sent"), reports("delivered"))
    counted = await world.rows("SELECT status, count(*) FROM sends GROUP BY status")
    assert [tuple(row) for row in counted] == [("delivered", MANY)]
    assert await world.value("SELECT count(*) FROM signals WHERE processed_at IS NULL") == 0
    assert await world.value("SELECT count(*) FROM enrolments WHERE step = 'wait_1'") == MANY


async def _start_all(world: World) -> list[Any]:
    calls = []
    while batch := await plan_and_start(world):
        calls += batch
    return calls


async def test_a_failure_after_acceptance_is_recorded_and_the_position_never_moves_back(world: World) -> None:
    lead, sid, attempt = await sent_to(world)
    before = await enrolment(world, lead)
    await report(world, sid, "undelivered", attempt=attempt, code=63049, lead=lead)
    send, after = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, send.reason, send.attempts) == ("undelivered", "63049", 1)
    assert (after.step, after.next_run_at, after.stage) == (before.step, before.next_run_at, before.stage)
    assert await world.value("SELECT outcome FROM send_attempts") == "failed"
    assert (await told(world, lead))[-1] == "failed"
    for late in ("delivered", "sent"):
        await report(world, sid, late, attempt=attempt)
    assert (await the_send(world, lead)).status == "undelivered"
    assert (await outcomes(world))[1:] == ["ignored:progress_after_failure", "ignored:late"]


@pytest.mark.parametrize(
    ("code", "stage", "reason"), [(63024, "exited", "unreachable"), (63033, "opted_out", "provider_block")]
)
@pytest.mark.parametrize("ended", [False, True])
async def test_B13_a_failure_that_closes_the_channel_closes_it_for_good_also_after_the_end(
    world: World, code: int, stage: str, reason: str, ended: bool
) -> None:
    if ended:
        await world.restart(
            definition={"paths": {"nurture": [{"key": "only", "kind": "message", "template": "hello"}]}}
        )
    lead, sid, attempt = await sent_to(world)
    await report(world, sid, "undelivered", attempt=attempt, code=code, lead=lead)
    await report(world, sid, "delivered", attempt=attempt)
    [closed] = await world.rows("SELECT channel, reason, lifted_at FROM suppressions")
    assert (closed.channel, closed.reason, closed.lifted_at) == ("whatsapp", reason, None)
    assert (await enrolment(world, lead)).stage == ("exhausted" if ended else stage)


@pytest.mark.parametrize("status", ["teleported", "partially_delivered", "RECEIVED"])
async def test_a_status_we_do_not_know_is_kept_and_never_an_error(world: World, status: str) -> None:
    lead, sid, attempt = await sent_to(world)
    await report(world, sid, status, attempt=attempt)
    assert (await the_send(world, lead)).status == "accepted"
    assert await outcomes(world) == ["ignored:unknown_status"]
    assert await world.value("SELECT payload::text LIKE :s FROM signals", s=f"%{status}%")


async def test_a_report_without_status_or_message_is_kept_as_it_came(world: World) -> None:
    await world.receive_status({"MessageSid": "SM1"})
    await world.receive_status({"MessageStatus": "sent"})
    assert await world.value("SELECT count(*) FROM signals WHERE kind = 'unreadable'") == 2


async def test_C07_a_report_about_a_message_that_is_not_ours_waits_a_day_and_is_then_let_go(
    world: World,
) -> None:
    await report(world, "SMelsewhere", "sent")
    for tries in (3, 31, 40):
        await world.execute("UPDATE signals SET tries = :n, not_before = clock_timestamp()", n=tries)
        assert await process_leftovers(world.database) == 1
        assert await outcomes(world) == ["parked"]
    await world.execute(
        "UPDATE signals SET not_before = clock_timestamp(), received_at = received_at - interval '25 hours'"
    )
    await process_leftovers(world.database)
    assert await outcomes(world) == ["ignored:unknown_message"]
    assert await process_leftovers(world.database) == 0


async def test_a_report_naming_an_attempt_of_another_message_changes_nothing(world: World) -> None:
    lead, _, attempt = await sent_to(world)
    await report(world, "SMstranger", "delivered", attempt=attempt)
    assert (await the_send(world, lead)).status == "accepted"
    assert await outcomes(world) == ["ignored:another_message_of_this_attempt"]


async def test_an_unknown_attempt_id_still_finds_the_message_by_the_providers_id(world: World) -> None:
    lead, sid, _ = await sent_to(world)
    await report(world, sid, "delivered", attempt="att_nobody")
    assert (await the_send(world, lead)).status == "delivered"


async def test_a_doubled_report_is_stored_once_and_a_crash_before_processing_loses_nothing(
    world: World,
) -> None:
    lead, sid, attempt = await sent_to(world)
    fields = form({"MessageSid": sid, "MessageStatus": "delivered"})
    receipts = []
    for _ in range(3):
        async with world.database.transaction() as uow:
            receipts.append(
                await keep_status(uow, fields=fields, raw_query=f"attempt={attempt}", now=world.now)
            )
    assert [r.new for r in receipts] == [True, False, False]
    await process_leftovers(world.database)
    assert (await the_send(world, lead)).status == "delivered"
    assert (await told(world, lead)).count("delivered") == 1
