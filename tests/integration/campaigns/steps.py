"""Single steps of the engine, for tests that stop it in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.campaigns.domain.vocabulary import Stim
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.operate import operate, resolve_review, resume_by_adviser
from app.campaigns.operations.plan import plan
from app.campaigns.operations.reap import LookUps, reap
from app.campaigns.operations.start import StartedCall, start
from app.messaging.gateways.base import Accepted, SendResult
from tests.fixtures.engine import SENDER, World
from workers.jobs.sending import SendPipeline

AT_ONCE = LookUps(first_after=timedelta(0), second_after=timedelta(0), deadline=5)


async def enrol_one(world: World) -> int:
    """Enrol one lead; return the contact's id."""
    [lead] = await world.add_leads(1)
    await world.enrol([lead])
    return lead


async def start_now(world: World) -> list[StartedCall]:
    """Start everything that is queued, whatever its moment; return the calls that may be made."""
    await world.execute("UPDATE sends SET not_before = clock_timestamp() WHERE status = 'queued'")
    return await start(
        world.database,
        now=world.now,
        slots=500,
        policy=world.context.policy,
        organisation=world.context.organisation,
    )


async def plan_and_start(world: World) -> list[StartedCall]:
    """Plan and start what is due; the calls are left to the test."""
    await plan(world.database, now=world.now)
    return await start_now(world)


async def run_at_once(world: World) -> None:
    """Run until nothing is due, without waiting for back-offs."""
    await world.execute("UPDATE sends SET not_before = clock_timestamp() WHERE status = 'queued'")
    await world.run()


async def settle(world: World, call: StartedCall | str, result: SendResult, via: str = "finish") -> None:
    """Bring an outcome in."""
    attempt = call if isinstance(call, str) else call.attempt_id
    await settle_outcomes(world.database, [CallOutcome(attempt, result, via)], now=world.now)


async def report(
    world: World,
    sid: str,
    status: str,
    *,
    attempt: str | None = None,
    code: int | None = None,
    lead: int | None = None,
) -> int:
    """Let the provider report on a message; return the signal's id."""
    fields = {"MessageSid": sid, "MessageStatus": status, "From": f"whatsapp:{SENDER}"}
    if lead is not None:
        fields["To"] = f"whatsapp:{await world.phone_of(lead)}"
    if code is not None:
        fields["ErrorCode"] = str(code)
    return await world.receive_status(fields, attempt=attempt)


async def sent_to(world: World) -> tuple[int, str, str]:
    """Send the first message to one lead; return the lead, the provider's id and the attempt."""
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await settle(world, call, Accepted(f"SM{lead:032d}", "accepted"))
    return lead, f"SM{lead:032d}", call.attempt_id


async def enrolment(world: World, lead: int) -> Any:
    """Return the newest enrolment of a contact."""
    return (
        await world.rows("SELECT * FROM enrolments WHERE contact_id = :id ORDER BY id DESC LIMIT 1", id=lead)
    )[0]


async def sends(world: World, lead: int) -> list[Any]:
    """Return a contact's sends."""
    return await world.rows("SELECT * FROM sends WHERE contact_id = :id ORDER BY id", id=lead)


async def the_send(world: World, lead: int) -> Any:
    """Return the only send of a contact."""
    [send] = await sends(world, lead)
    return send


async def told(world: World, lead: int) -> list[str]:
    """Return the types of a contact's ledger events, in order."""
    return [
        r.type
        for r in await world.rows("SELECT type FROM ledger WHERE contact_id = :id ORDER BY id", id=lead)
    ]


async def command(world: World, lead: int, stim: Stim) -> None:
    """Give an operator's command."""
    enrolment_id = (await enrolment(world, lead)).id
    async with world.database.transaction() as uow:
        await operate(
            uow,
            enrolment_id=enrolment_id,
            stim=stim,
            actor="user:1",
            reason="test",
            now=world.now,
        )


async def hand_back(world: World, lead: int) -> None:
    """Let the adviser give the lead back to the machine."""
    async with world.database.transaction() as uow:
        await resume_by_adviser(uow, contact_id=lead, actor="user:1", now=world.now)


async def review(world: World, lead: int, verdict: str, *, sid: str | None = None) -> None:
    """Resolve the open review of a contact."""
    task = await world.value(
        "SELECT id FROM tasks WHERE contact_id = :id AND kind = 'review' AND done_at IS NULL", id=lead
    )
    async with world.database.transaction() as uow:
        await resolve_review(
            uow, task_id=task, verdict=verdict, provider_message_id=sid, actor="user:1", now=world.now
        )


async def look_up(world: World) -> None:
    """Let every lease run out and look at the provider once for each, however many a slow machine left."""
    await world.execute(
        "UPDATE send_attempts SET lease_expires_at = clock_timestamp() - interval '1 second' WHERE outcome IS NULL"
    )
    await reap(world.database, world.context.gateways, now=world.now, look_ups=AT_ONCE, most=1000)


async def accepted_by_provider(world: World) -> dict[str, int]:
    """Return how many messages the provider took for each number."""
    return {str(t.group["to"]): t.accepted for t in await world.simulator.counts(group="to")}


@asynccontextmanager
async def changed_context(world: World, **changes: Any) -> AsyncIterator[None]:
    """Let the workers run with another context for a while."""
    context, pipeline = world.context, world.pipeline
    world.context = replace(context, **changes)
    world.pipeline = SendPipeline(world.context)
    try:
        yield
    finally:
        world.context, world.pipeline = context, pipeline
