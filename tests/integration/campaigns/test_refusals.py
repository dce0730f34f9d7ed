"""What a refusal, a time-out or a lost answer does: nobody gets a message twice, and nobody is forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.operations.operate import resolve_review
from app.campaigns.operations.plan import plan
from app.campaigns.operations.reap import reap
from app.kernel.errors import Conflict, Invalid
from app.messaging.domain.addresses import Address, AddressKind, Channel
from app.messaging.gateways.base import Accepted, NotSent, Rejected, Unknown
from app.messaging.gateways.twilio.errors import disposition_for
from app.messaging.gateways.twilio.gateway import TwilioGateway
from tests.fixtures.engine import World
from tests.fixtures.simulator import (
    DieAfterAccept,
    Error,
    ErrorAfterAccept,
    RefuseBefore,
    TimeOut,
    TooManyRequests,
    free_port,
)
from tests.integration.campaigns.steps import (
    accepted_by_provider,
    changed_context,
    enrol_one,
    enrolment,
    look_up,
    plan_and_start,
    report,
    review,
    run_at_once,
    sent_to,
    settle,
    the_send,
    told,
)
from workers.context import twilio_settings


async def suppressions(world: World, lead: int) -> list[tuple[str, str]]:
    """Return the standing suppressions of a contact."""
    rows = await world.rows(
        "SELECT channel, reason FROM suppressions WHERE contact_id = :id AND lifted_at IS NULL", id=lead
    )
    return [(row.channel, row.reason) for row in rows]


@pytest.mark.parametrize(
    ("code", "reason", "stage", "exit_reason"),
    [
        (21211, "unreachable", "exited", "no_usable_channel"),
        (63024, "unreachable", "exited", "no_usable_channel"),
        (21610, "provider_block", "opted_out", "opted_out"),
    ],
)
async def test_a_refusal_that_closes_the_only_channel_ends_the_journey(
    world: World, code: int, reason: str, stage: str, exit_reason: str
) -> None:
    await world.simulator.add_fault(Error(code=code))
    lead = await enrol_one(world)
    await world.run()
    send, journey = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, send.reason) == ("failed", str(code))
    assert (journey.stage, journey.exit_reason, journey.lock_token) == (stage, exit_reason, None)
    assert await suppressions(world, lead) == [("whatsapp", reason)]
    assert await accepted_by_provider(world) == {}


async def test_a_refusal_of_the_last_message_still_closes_the_channel(world: World) -> None:
    await world.restart(
        definition={"paths": {"nurture": [{"key": "only", "kind": "message", "template": "hello"}]}}
    )
    await world.simulator.add_fault(Error(code=21610))
    lead = await enrol_one(world)
    await world.run()
    assert await suppressions(world, lead) == [("whatsapp", "provider_block")]
    assert {"failed", "opted_out", "suppressed"} <= set(await told(world, lead))


async def test_a_permanent_refusal_that_closes_nothing_goes_on_with_the_next_step(world: World) -> None:
    await world.simulator.add_fault(Error(code=21408))
    lead = await enrol_one(world)
    await world.run()
    assert (await the_send(world, lead)).status == "failed"
    assert (await enrolment(world, lead)).step == "wait_1"
    assert await suppressions(world, lead) == []
    await world.advance(days=2)
    assert list((await world.received()).values()) == [1]


async def test_refused_credentials_stop_the_sender_and_keep_the_send_which_goes_when_it_is_back(
    world: World,
) -> None:
    await world.simulator.add_fault(Error(code=20003, status=401))
    lead, other = await enrol_one(world), await enrol_one(world)
    calls = await plan_and_start(world)
    result = await world.context.gateways["twilio"].send(calls[0].message, deadline=3)
    assert isinstance(result, Rejected)
    await settle(world, calls[0], result)
    await settle(world, calls[1], NotSent("no_longer_wanted"))
    [sender] = await world.rows("SELECT status, status_reason FROM senders")
    assert sender.status == "credentials" and "20003" in sender.status_reason
    assert (await the_send(world, lead)).status == "waiting"
    await run_at_once(world)
    assert await accepted_by_provider(world) == {}
    before = await told(world, lead)
    assert (await plan(world.database, now=world.now)).queued == 0
    assert await told(world, lead) == before
    await world.execute("UPDATE senders SET status = 'active'")
    await world.run()
    assert sorted((await accepted_by_provider(world)).values()) == [1, 1]
    assert (await enrolment(world, other)).step == "wait_1"


async def test_429_is_tried_again_after_the_stated_time_and_arrives_once(world: World) -> None:
    await world.simulator.add_fault(TooManyRequests(retry_after=30))
    lead = await enrol_one(world)
    await world.run()
    send = await the_send(world, lead)
    assert (send.status, send.reason) == ("queued", "rate_limited")
    wait = await world.value("SELECT extract(epoch FROM not_before - clock_timestamp())::float8 FROM sends")
    assert 20 < wait <= 30
    assert (await enrolment(world, lead)).lock_token == f"send:{send.id}"
    await run_at_once(world)
    assert list((await world.received()).values()) == [1]
    assert (await the_send(world, lead)).attempts == 2
    assert (await enrolment(world, lead)).step == "wait_1"


async def test_a_refused_connection_is_certainly_not_sent_and_is_tried_again(world: World) -> None:
    lead = await enrol_one(world)
    nowhere = replace(twilio_settings(world.context.settings), base_url=f"http://127.0.0.1:{free_port()}")
    gateway = TwilioGateway(nowhere)
    async with changed_context(world, gateways={"twilio": gateway}):
        await world.run()
    await gateway.aclose()
    send = await the_send(world, lead)
    assert (send.status, send.reason) == ("queued", "no_connection")
    await run_at_once(world)
    assert list((await world.received()).values()) == [1]


@pytest.mark.parametrize(
    "fault",
    [
        DieAfterAccept(),
        DieAfterAccept(reset=True),
        ErrorAfterAccept(status=500),
        ErrorAfterAccept(status=503),
        TimeOut(seconds=2.5, stored="before"),
        TimeOut(seconds=2.5, stored="after"),
    ],
    ids=lambda fault: str(fault),
)
async def test_A03_A09_an_answer_that_was_lost_is_looked_up_and_never_sent_blindly_again(
    world: World, fault: Any
) -> None:
    await world.simulator.add_fault(fault)
    lead = await enrol_one(world)
    async with changed_context(world, call_seconds=1.2):
        await world.run()
        assert (await the_send(world, lead)).status == "unknown"
        await run_at_once(world)  # nothing is due: the send keeps its lock
    await world.simulator.wait_until_idle()
    await look_up(world)
    send = await the_send(world, lead)
    assert send.status == "accepted"
    assert (await enrolment(world, lead)).step == "wait_1"
    await world.advance(hours=1)
    assert list((await world.received()).values()) == [1]
    assert len(await world.simulator.requests()) == 1


@pytest.mark.parametrize("fault", [RefuseBefore(), Error(code=20503, status=503)], ids=["closed", "503"])
async def test_what_two_looks_cannot_find_goes_to_a_person_and_waits(world: World, fault: Any) -> None:
    await world.simulator.add_fault(fault)
    lead = await enrol_one(world)
    await world.run()
    assert (await the_send(world, lead)).status == "unknown"
    await look_up(world)
    assert (await the_send(world, lead)).status == "unknown"  # absence once is no evidence
    await look_up(world)
    send, journey = await the_send(world, lead), await enrolment(world, lead)
    assert send.status == "needs_review"
    assert (journey.automation, journey.hold_ref, journey.lock_token) == ("held", f"send:{send.id}", None)
    await world.advance(days=1)
    assert await world.received() == {}
    [task] = await world.rows("SELECT kind, subject FROM tasks WHERE done_at IS NULL")
    assert (task.kind, task.subject) == ("review", f"send:{send.id}")


async def test_content_that_the_provider_refuses_holds_the_lead_for_a_person(world: World) -> None:
    await world.simulator.add_fault(Error(code=21656))
    lead = await enrol_one(world)
    await world.run()
    assert (await the_send(world, lead)).status == "needs_review"
    assert (await enrolment(world, lead)).automation == "held"
    await review(world, lead, "again")
    await world.run()
    assert list((await world.received()).values()) == [1]
    assert (await the_send(world, lead)).attempts == 1  # a person's word begins the count anew
    assert [a.n for a in await world.rows("SELECT n FROM send_attempts ORDER BY n")] == [1, 2]


async def test_A13_after_the_limit_nothing_is_tried_any_more_and_a_person_is_asked(world: World) -> None:
    await world.simulator.add_fault(TooManyRequests(), times=None)
    lead = await enrol_one(world)
    for _ in range(10):
        await run_at_once(world)
    assert len(await world.simulator.requests()) == 8
    send = await the_send(world, lead)
    assert (send.status, send.attempts) == ("needs_review", 8)
    assert (await enrolment(world, lead)).automation == "held"
    await world.simulator.remove_faults()
    await world.advance(days=3)
    assert await world.received() == {}
    await review(world, lead, "again")
    await world.run()
    assert list((await world.received()).values()) == [1]


@pytest.mark.parametrize("code", [63040, 63026])
async def test_what_every_further_message_would_run_into_stops_its_source(world: World, code: int) -> None:
    await world.simulator.add_fault(Error(code=code))
    lead = await enrol_one(world)
    await world.run()
    table = "campaigns" if code == 63040 else "senders"
    assert str(code) in await world.value(f"SELECT status_reason FROM {table} WHERE status <> 'active'")
    assert (await the_send(world, lead)).status == "waiting"
    await world.execute(f"UPDATE {table} SET status = 'active'")
    await world.run()
    assert list((await world.received()).values()) == [1]


@pytest.mark.parametrize(
    ("code", "stage", "reason"),
    [(63024, "exited", "unreachable"), (21610, "opted_out", "provider_block")],
)
async def test_an_advisers_message_that_closes_the_channel_ends_the_journey_too(
    world: World, code: int, stage: str, reason: str
) -> None:
    for via in ("call", "report"):
        lead, _, _ = await sent_to(world)
        attempt = f"att_{via}_{code}"
        await world.execute(
            "INSERT INTO sends (idempotency_key, kind, contact_id, channel, sender_id, status, status_at, created_at, "
            "attempts) SELECT :key, 'adviser', :lead, 'whatsapp', id, 'sending', now(), now(), 1 FROM senders",
            key=f"adviser:{via}",
            lead=lead,
        )
        await world.execute(
            "INSERT INTO send_attempts (id, send_id, n, lease_token, lease_expires_at, channel, sender_id, address, "
            "provider) SELECT :id, id, 1, :id, now() + interval '1 minute', 'whatsapp', sender_id, 'x', 'twilio' "
            "FROM sends WHERE idempotency_key = :key",
            id=attempt,
            key=f"adviser:{via}",
        )
        if via == "call":
            to = Address(Channel.WHATSAPP, AddressKind.PHONE, await world.phone_of(lead))
            await settle(world, attempt, Rejected(code, "no", disposition_for(code, to=to)))
        else:
            await report(world, f"SM{via}{code}", "undelivered", attempt=attempt, code=code, lead=lead)
        assert (await enrolment(world, lead)).stage == stage
        assert await suppressions(world, lead) == [("whatsapp", reason)]


async def test_an_unknown_outcome_waits_for_its_first_look_and_for_its_second(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    for age, looks in ((50, 0), (61, 1), (200, 1), (301, 2)):
        await world.execute(
            "UPDATE send_attempts SET started_at = clock_timestamp() - make_interval(secs => :age)", age=age
        )
        await reap(world.database, world.context.gateways, now=world.now)
        assert await world.value("SELECT looks FROM send_attempts") == looks, age
    assert (await the_send(world, lead)).status == "needs_review"


async def test_an_expired_lease_is_unknown_and_keeps_the_lock(world: World) -> None:
    lead = await enrol_one(world)
    await plan_and_start(world)
    await world.execute("UPDATE send_attempts SET lease_expires_at = clock_timestamp() - interval '1 second'")
    await reap(world.database, world.context.gateways, now=world.now)
    send, journey = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, send.reason) == ("unknown", "lease_expired")
    assert (journey.automation, journey.lock_token) == ("active", f"send:{send.id}")
    assert (await plan(world.database, now=world.now + timedelta(days=1))).queued == 0


async def test_reviewers_verdicts_sent_goes_on_and_keeps_the_providers_id(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    await review(world, lead, "sent", sid="SM77")
    send, journey = await the_send(world, lead), await enrolment(world, lead)
    assert (send.status, journey.automation, journey.step) == ("accepted", "active", "wait_1")
    assert await world.value("SELECT provider_message_id FROM send_attempts") == "SM77"
    assert await world.value("SELECT done_by FROM tasks WHERE kind = 'review'") == "user:1"


async def test_two_reviewers_at_once_decide_once(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    task = await world.value("SELECT id FROM tasks")

    async def decide(verdict: str) -> str:
        try:
            async with world.database.transaction() as uow:
                await resolve_review(
                    uow,
                    task_id=task,
                    verdict=verdict,
                    provider_message_id=None,
                    actor=f"user:{verdict}",
                    now=world.now,
                )
        except Conflict:
            return "conflict"
        return verdict

    with pytest.raises(Invalid):
        await decide("perhaps")
    answers = await asyncio.gather(*(decide(v) for v in ("again", "skip", "sent", "again")))
    assert answers.count("conflict") == 3
    [won] = [a for a in answers if a != "conflict"]
    assert await world.value("SELECT outcome FROM tasks") == won
    assert (await the_send(world, lead)).status == {"again": "waiting", "skip": "skipped"}.get(
        won, "accepted"
    )


async def test_a_question_that_a_late_report_answers_is_closed(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Unknown("timeout"))
    await look_up(world)
    await look_up(world)
    await report(world, "SM88", "delivered", attempt=call.attempt_id)
    journey = await enrolment(world, lead)
    assert (journey.automation, journey.step) == ("active", "wait_1")
    assert await world.value("SELECT outcome FROM tasks WHERE kind = 'review'") == "sent"


async def test_lost_callbacks_cost_the_journey_nothing(world: World) -> None:
    lead, _, _ = await sent_to(world)
    world.clock.advance(timedelta(days=2))
    [call] = await plan_and_start(world)
    await settle(world, call, Accepted("SM99", "accepted"))
    assert (await enrolment(world, lead)).step == "wait_2"
