"""Waiting for one's turn: asked for while busy elsewhere, in once through the one door, or dropped with a reason."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from app.advisers.operations.handoffs import close_open
from app.campaigns.domain.vocabulary import Outcome
from app.campaigns.operations.rest import lift_rest
from app.campaigns.waiting.operations import expire_requests, withdraw
from app.campaigns.waiting.turns import admit_due, find_forgotten, try_now
from app.kernel.errors import Conflict, NotFound
from tests.fixtures.engine import World
from tests.integration.campaigns.doors import (
    close,
    cooldowns,
    enter,
    give_turns_now,
    other_campaign,
    requests_of,
    setting,
)
from tests.integration.campaigns.steps import enrol_one, enrolment, told
from workers.jobs.sweeping import PERIODIC

NO_REST = '{"breakup": 0, "completed": 0, "won": 0, "lost": 0, "manual": 0}'


async def take_back(world: World, request_id: int, reason: str | None = "Not wanted after all") -> None:
    """Withdraw a request."""
    async with world.database.transaction() as uow:
        await withdraw(uow, request_id=request_id, actor="user:1", reason=reason, now=world.now)


async def try_it(world: World, request_id: int, override: str | None = None) -> Any:
    """Try a request now, as the button does."""
    async with world.database.transaction() as uow:
        return await try_now(
            uow, request_id=request_id, override_reason=override, actor="user:1", now=world.now
        )


async def waiting_lead(world: World, *, campaign: str = "other", priority: int = 0) -> int:
    """Add a campaign, and a lead who is in the first one and waits for it."""
    await other_campaign(world, key=campaign, priority=priority)
    lead = await enrol_one(world)
    result = await enter(world, lead, campaign=campaign, ref="list:1", waits=True)
    assert (result.outcome, result.reason) == ("waiting", "live_in:open_day")
    return lead


async def test_who_is_live_elsewhere_waits_with_the_reason_and_the_ledger_says_so(world: World) -> None:
    lead = await waiting_lead(world)
    [request] = await requests_of(world, lead)
    assert (request.status, request.campaign, request.ref, request.asked_by) == (
        "waiting",
        "other",
        "list:1",
        "form",
    )
    assert (request.reason, request.not_before, request.asked_at) == ("live_in:open_day", None, world.now)
    assert request.expires_at == world.now + timedelta(days=90)
    [event] = await world.rows("SELECT cause, data FROM ledger WHERE type = 'enrol_refused'")
    assert event.cause == "live_in:open_day"
    assert event.data == {"campaign": "other", "ref": "list:1", "waits": True}
    assert (await enrolment(world, lead)).stage == "nurturing", "nobody is thrown out"


async def test_asked_again_it_is_the_same_request_under_the_same_and_under_another_ref(world: World) -> None:
    lead = await waiting_lead(world)
    for ref, waits in (("list:1", True), ("list:1", False), ("list:2", True), ("list:3", False)):
        assert (await enter(world, lead, campaign="other", ref=ref, waits=waits)).outcome == "waiting"
    assert len(await requests_of(world, lead)) == 1
    assert (await told(world, lead)).count("enrol_refused") == 1


async def test_without_a_rest_the_turn_comes_with_the_others_end_and_starts_once(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    assert await admit_due(world.database, now=world.now) == 0
    await close(world, lead)
    [request] = await requests_of(world, lead)
    assert (request.not_before, request.reason) == (world.now, "its_turn")
    await give_turns_now(world)
    [request] = await requests_of(world, lead)
    now_in = await enrolment(world, lead)
    assert (request.status, request.enrolment_id) == ("admitted", now_in.id)
    assert (now_in.ref, now_in.stage, now_in.automation) == ("list:1", "nurturing", "active")
    assert (await enter(world, lead, campaign="other", ref="list:1", waits=True)).outcome == "repeated"
    await world.run()
    assert sum((await world.received()).values()) == 1


async def test_the_turn_is_set_in_the_transaction_of_the_others_end(world: World) -> None:
    lead = await waiting_lead(world)
    await close(world, lead)
    assert await world.value(
        "SELECT r.xmin = e.xmin FROM enrolment_requests r JOIN enrolments e ON e.contact_id = r.contact_id "
        "WHERE r.contact_id = :id",
        id=lead,
    )


async def test_a_path_that_ends_by_itself_gives_the_turn_after_its_rest(world: World) -> None:
    lead = await waiting_lead(world)
    await world.run()
    for _ in range(4):
        await world.advance(days=2)
    [rest] = await cooldowns(world, lead)
    [request] = await requests_of(world, lead)
    assert (rest.reason, request.not_before) == ("breakup", rest.ends_at)
    assert request.reason.startswith("in_cooldown_until:")
    world.clock.advance(rest.ends_at - world.now - timedelta(seconds=1))
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "waiting"
    world.clock.advance(timedelta(seconds=1))
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "admitted"
    assert (await enrolment(world, lead)).created_at == rest.ends_at


async def test_an_exempt_campaign_waits_for_the_end_and_not_for_the_rest(world: World) -> None:
    await other_campaign(world, exempt=True)
    lead = await enrol_one(world)
    await enter(world, lead, campaign="other", ref="list:1", waits=True)
    await close(world, lead)
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "admitted"


async def test_lifting_the_rest_gives_the_turn(world: World) -> None:
    lead = await waiting_lead(world)
    await close(world, lead)
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "waiting"
    async with world.database.transaction() as uow:
        await lift_rest(uow, contact_id=lead, reason="They called", actor="user:1", now=world.now)
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "admitted"


async def test_of_two_that_wait_the_higher_priority_comes_first_and_the_other_waits_for_its_end(
    world: World,
) -> None:
    await setting(world, "cooldowns", NO_REST)
    await other_campaign(world, key="low", priority=1)
    await other_campaign(world, key="high", priority=5)
    lead = await enrol_one(world)
    await enter(world, lead, campaign="low", ref="list:1", waits=True)
    world.clock.advance(timedelta(minutes=1))
    await enter(world, lead, campaign="high", ref="list:2", waits=True)
    await close(world, lead)
    await give_turns_now(world)
    states = {r.campaign: (r.status, r.reason) for r in await requests_of(world, lead)}
    assert states == {"low": ("waiting", "live_in:high"), "high": ("admitted", "enrolled")}
    await close(world, lead)
    await give_turns_now(world)
    states = {r.campaign: (r.status, r.reason) for r in await requests_of(world, lead)}
    assert states["low"] == ("admitted", "enrolled")


async def test_of_equal_priority_the_oldest_comes_first(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    for key in ("first", "second"):
        await other_campaign(world, key=key)
    lead = await enrol_one(world)
    for key in ("second", "first"):
        await enter(world, lead, campaign=key, ref=f"list:{key}", waits=True)
        world.clock.advance(timedelta(minutes=1))
    await close(world, lead)
    await give_turns_now(world)
    assert {r.campaign: r.status for r in await requests_of(world, lead)} == {
        "second": "admitted",
        "first": "waiting",
    }


async def test_K05_who_stops_while_waiting_waits_no_more_and_START_brings_nothing_back(world: World) -> None:
    lead = await waiting_lead(world)
    await world.reply(lead, "STOP")
    [request] = await requests_of(world, lead)
    assert (request.status, request.reason, request.settled_at) == ("refused", "suppressed", world.now)
    await world.reply(lead, "START")
    world.clock.advance(timedelta(days=89))
    await give_turns_now(world)
    assert await world.value("SELECT count(*) FROM enrolments") == 1
    again = await enter(world, lead, campaign="other", ref="list:1", waits=True)
    assert (again.outcome, again.reason) == (
        "refused",
        f"in_cooldown_until:{(world.now + timedelta(days=1)).isoformat()}",
    )


async def test_who_lost_the_channel_meanwhile_is_refused_at_their_turn_for_good(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    await close(world, lead)
    await world.execute(
        "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
        "VALUES (:id, 'whatsapp', 'operator', 'test', :now)",
        id=lead,
        now=world.now,
    )
    await give_turns_now(world)
    [request] = await requests_of(world, lead)
    assert (request.status, request.reason) == ("refused", "no_usable_channel")
    assert (await told(world, lead))[-1] == "enrol_refused"


async def test_a_request_is_dropped_after_90_days_and_may_be_asked_for_anew(world: World) -> None:
    lead = await waiting_lead(world)
    world.clock.advance(timedelta(days=90) - timedelta(seconds=1))
    assert await expire_requests(world.database, now=world.now) == 0
    world.clock.advance(timedelta(seconds=1))
    assert await expire_requests(world.database, now=world.now) == 1
    [request] = await requests_of(world, lead)
    assert (request.status, request.settled_at) == ("expired", world.now)
    assert (await told(world, lead))[-1] == "enrol_refused"
    assert (await enter(world, lead, campaign="other", ref="list:1", waits=True)).outcome == "waiting"
    [request] = await requests_of(world, lead)
    assert (request.status, request.asked_at) == ("waiting", world.now)


async def test_one_that_is_past_its_time_has_no_turn(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    await close(world, lead)
    world.clock.advance(timedelta(days=90))
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "waiting"
    await expire_requests(world.database, now=world.now)
    assert (await requests_of(world, lead))[0].status == "expired"


async def test_what_a_person_withdrew_the_same_list_does_not_bring_back(world: World) -> None:
    lead = await waiting_lead(world)
    [request] = await requests_of(world, lead)
    await take_back(world, request.id)
    [request] = await requests_of(world, lead)
    assert (request.status, request.settled_by) == ("withdrawn", "user:1")
    again = await enter(world, lead, campaign="other", ref="list:1", waits=True)
    assert (again.outcome, again.reason) == ("refused", "withdrawn")
    with pytest.raises(Conflict):
        await take_back(world, request.id)
    with pytest.raises(NotFound):
        await take_back(world, 999_999)


async def test_tried_now_it_comes_in_where_nothing_is_in_the_way_and_waits_on_where_something_is(
    world: World,
) -> None:
    lead = await waiting_lead(world)
    [request] = await requests_of(world, lead)
    still = await try_it(world, request.id, override="They want both")
    assert (still.outcome, still.reason) == ("waiting", "live_in:open_day"), "nobody is thrown out"
    await close(world, lead)
    assert (await try_it(world, request.id)).outcome == "waiting"
    came = await try_it(world, request.id, override="They asked on the phone")
    assert came.outcome == "enrolled"
    [request] = await requests_of(world, lead)
    assert (request.status, request.settled_by, request.enrolment_id) == (
        "admitted",
        "user:1",
        came.enrolment_id,
    )
    with pytest.raises(Conflict):
        await try_it(world, request.id)


async def test_who_talks_with_one_of_us_waits_until_the_conversation_is_over(world: World) -> None:
    [lead] = await world.add_leads(1)
    await world.reply(lead, "Hello, I have a question")
    assert (await enter(world, lead, waits=True)).reason == "with_an_adviser"
    await give_turns_now(world)
    assert await find_forgotten(world.database, now=world.now) == 0
    assert (await requests_of(world, lead))[0].status == "waiting"
    async with world.database.transaction() as uow:
        await close_open(
            uow, contact_id=lead, outcome="no_action", not_now_until=None, actor="user:1", now=world.now
        )
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "admitted"


async def test_who_comes_in_by_another_way_waits_no_more_for_that_campaign(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    await close(world, lead)
    came = await enter(world, lead, campaign="other", ref="form:9")
    [request] = await requests_of(world, lead)
    assert (came.outcome, request.status, request.enrolment_id) == (
        "enrolled",
        "admitted",
        came.enrolment_id,
    )
    again = await enter(world, lead, campaign="other", ref="list:1")
    assert (again.outcome, again.enrolment_id) == ("repeated", came.enrolment_id)


async def test_a_turn_that_nobody_told_is_found(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    await close(world, lead)
    await world.execute("UPDATE enrolment_requests SET not_before = NULL")
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "waiting"
    assert await find_forgotten(world.database, now=world.now) == 1
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "admitted"


async def test_a_campaign_that_was_closed_meanwhile_refuses_those_who_waited_for_it(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    await world.execute("UPDATE campaigns SET status = 'archived' WHERE key = 'other'")
    await close(world, lead)
    await give_turns_now(world)
    [request] = await requests_of(world, lead)
    assert (request.status, request.reason) == ("refused", "campaign_closed")


async def test_a_campaign_without_a_sender_keeps_those_who_wait(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    await close(world, lead)
    await world.execute("UPDATE senders SET channel = 'sms'")
    await give_turns_now(world)
    [request] = await requests_of(world, lead)
    assert (request.status, request.not_before) == ("waiting", world.now + timedelta(minutes=15))
    await world.execute("UPDATE senders SET channel = 'whatsapp'")
    world.clock.advance(timedelta(minutes=15))
    await give_turns_now(world)
    assert (await requests_of(world, lead))[0].status == "admitted"


async def test_who_was_merged_away_waits_as_the_survivor(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    [survivor] = await world.add_leads(1)
    await close(world, lead)
    await world.execute("UPDATE contacts SET merged_into = :to WHERE id = :id", to=survivor, id=lead)
    await give_turns_now(world)
    [request] = await requests_of(world, survivor)
    assert (request.status, request.enrolment_id) == ("admitted", (await enrolment(world, survivor)).id)


async def test_A11_two_campaigns_at_once_let_one_lead_into_one_of_them_and_the_other_waits(
    world: World,
) -> None:
    await other_campaign(world)
    leads = await world.add_leads(10)
    results = await asyncio.gather(
        *(
            enter(world, lead, campaign=campaign, ref=f"{campaign}:{lead}", waits=True)
            for lead in leads
            for campaign in ("open_day", "other")
        )
    )
    assert sorted(r.outcome for r in results) == ["enrolled"] * 10 + ["waiting"] * 10
    live = await world.rows("SELECT contact_id FROM enrolments WHERE automation <> 'completed'")
    assert sorted(row.contact_id for row in live) == sorted(leads)


async def test_ten_workers_give_one_turn_once(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    await other_campaign(world)
    await other_campaign(world, key="third")
    leads = await world.add_leads(5)
    await world.enrol(leads)
    for lead in leads:
        for campaign in ("other", "third"):
            await enter(world, lead, campaign=campaign, ref=f"list:{lead}", waits=True)
    for lead in leads:
        await close(world, lead, Outcome.WON)
    await asyncio.gather(*(admit_due(world.database, now=world.now) for _ in range(10)))
    rows = await world.rows("SELECT contact_id FROM enrolments WHERE automation <> 'completed'")
    assert sorted(row.contact_id for row in rows) == sorted(leads)
    assert await world.value("SELECT count(*) FROM enrolment_requests WHERE status = 'admitted'") == 5
    assert await world.value("SELECT count(*) FROM ledger WHERE type = 'enrolled'") == 10
    await world.run()
    assert set((await world.received()).values()) == {1}


async def test_an_end_and_a_turn_at_the_same_moment_lose_nobody_and_double_nobody(world: World) -> None:
    await setting(world, "cooldowns", NO_REST)
    await other_campaign(world)
    leads = await world.add_leads(8)
    await world.enrol(leads)
    for lead in leads:
        await enter(world, lead, campaign="other", ref=f"list:{lead}", waits=True)
    await world.execute("UPDATE enrolment_requests SET not_before = :now", now=world.now)
    request_ids = [row.id for row in await world.rows("SELECT id FROM enrolment_requests ORDER BY id")]
    await asyncio.gather(
        *(close(world, lead) for lead in leads),
        *(admit_due(world.database, now=world.now) for _ in range(4)),
        *(_try_or_settled(world, request_id) for request_id in request_ids),
    )
    await give_turns_now(world)
    states = await world.rows("SELECT status, count(*) AS n FROM enrolment_requests GROUP BY status")
    assert [(row.status, row.n) for row in states] == [("admitted", 8)]
    assert await world.value("SELECT count(*) FROM enrolments WHERE automation <> 'completed'") == 8
    assert await world.value("SELECT count(*) FROM enrolments") == 16


async def _try_or_settled(world: World, request_id: int) -> None:
    try:
        await try_it(world, request_id)
    except Conflict:
        return


async def test_the_sweep_itself_gives_turns_and_drops_what_waited_too_long(world: World) -> None:
    jobs = {job.name: job for job in PERIODIC}
    await setting(world, "cooldowns", NO_REST)
    lead = await waiting_lead(world)
    late = await enrol_one(world)
    await enter(world, late, campaign="other", ref="list:2", waits=True)
    await close(world, lead)
    await jobs["turns"].run(world.context)
    assert (await requests_of(world, lead))[0].status == "admitted"
    world.clock.advance(timedelta(days=91))
    await jobs["tidy_waiting"].run(world.context)
    assert (await requests_of(world, late))[0].status == "expired"
