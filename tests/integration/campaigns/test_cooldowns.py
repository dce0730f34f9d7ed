"""Cool-downs: written with every end, of the length the settings say, kept at every door, lifted by people alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.advisers.operations.handoffs import close_open
from app.campaigns.domain.vocabulary import Outcome
from app.campaigns.operations.rest import lift_rest
from app.contacts.cooldowns.operations import begin_cooldown
from app.db.session import Database, make_engine
from app.kernel.errors import CommandRefused, Invalid
from tests.fixtures.engine import World
from tests.integration.campaigns.doors import close, cooldowns, enter, other_campaign, setting
from tests.integration.campaigns.steps import enrol_one, enrolment, report, sent_to

WRITTEN_WITH_THE_END = """
SELECT c.xmin = e.xmin FROM cooldowns c JOIN enrolments e ON e.id = c.enrolment_id WHERE c.contact_id = :id
"""


async def lift(world: World, lead: int, reason: str = "They asked us to go on") -> None:
    """End a rest as a manager does."""
    async with world.database.transaction() as uow:
        await lift_rest(uow, contact_id=lead, reason=reason, actor="user:1", now=world.now)


async def test_a_path_that_ends_unanswered_is_followed_by_60_days_written_with_the_end(world: World) -> None:
    lead = await enrol_one(world)
    await world.run()
    for _ in range(4):
        await world.advance(days=2)
    assert (await enrolment(world, lead)).stage == "exhausted"
    [rest] = await cooldowns(world, lead)
    ended = await world.value("SELECT at FROM ledger WHERE contact_id = :id AND type = 'exhausted'", id=lead)
    assert (rest.reason, rest.starts_at, rest.ends_at - rest.starts_at) == (
        "breakup",
        ended,
        timedelta(days=60),
    )
    assert await world.value(WRITTEN_WITH_THE_END, id=lead)


@pytest.mark.parametrize(("outcome", "days"), [(Outcome.LOST, 90), (Outcome.WON, 30), (Outcome.NOT_NOW, 30)])
async def test_an_end_by_a_person_rests_by_its_outcome(world: World, outcome: Outcome, days: int) -> None:
    lead = await enrol_one(world)
    await close(world, lead, outcome)
    [rest] = await cooldowns(world, lead)
    assert (rest.reason, rest.ends_at) == (str(outcome), world.now + timedelta(days=days))
    assert await world.value(WRITTEN_WITH_THE_END, id=lead)


async def test_not_now_rests_until_the_date_that_was_given(world: World) -> None:
    lead = await enrol_one(world)
    given = world.now + timedelta(days=200)
    await close(world, lead, Outcome.NOT_NOW, until=given)
    [rest] = await cooldowns(world, lead)
    assert rest.ends_at == given


async def test_the_lengths_are_the_organisations_own(world: World) -> None:
    await setting(world, "cooldowns", '{"lost": 7, "won": 0}')
    lost, won = await enrol_one(world), await enrol_one(world)
    await close(world, lost)
    await close(world, won, Outcome.WON)
    [rest] = await cooldowns(world, lost)
    assert rest.ends_at == world.now + timedelta(days=7)
    assert await cooldowns(world, won) == []
    assert (await enter(world, won, ref="form:2")).outcome == "enrolled"


@pytest.mark.parametrize("stored", ['{"lost": -1}', '{"lost": "long"}', '{"losst": 3}', "[]"])
async def test_a_setting_that_cannot_be_used_leaves_nobody_without_a_rest(world: World, stored: str) -> None:
    await setting(world, "cooldowns", stored)
    lead = await enrol_one(world)
    await close(world, lead)
    [rest] = await cooldowns(world, lead)
    assert rest.ends_at == world.now + timedelta(days=90)


async def test_days_are_those_of_the_organisations_zone(world: World) -> None:
    [lead] = await world.add_leads(1)
    settings = replace(world.context.settings, default_time_zone="Europe/Berlin")
    database = Database(make_engine(settings, pool_size=1))
    begins = datetime(2027, 3, 20, 8, 0, tzinfo=UTC)  # clocks go forward on the 28th
    async with database.transaction() as uow:
        await begin_cooldown(
            uow, contact_id=lead, reason="completed", enrolment_id=None, actor="test", now=begins
        )
    await database.engine.dispose()
    [rest] = await cooldowns(world, lead)
    assert rest.ends_at == datetime(2027, 4, 19, 7, 0, tzinfo=UTC)


async def test_START_after_STOP_lets_no_list_begin_anew_but_a_person_may(world: World) -> None:
    lead = await enrol_one(world)
    await world.reply(lead, "STOP")
    [rest] = await cooldowns(world, lead)
    assert (rest.reason, rest.ends_at) == ("opted_out", world.now + timedelta(days=90))
    assert await world.value(WRITTEN_WITH_THE_END, id=lead)
    world.clock.advance(timedelta(hours=1))
    await world.reply(lead, "START")
    refused = await enter(world, lead, ref="list:2")
    assert (refused.outcome, refused.reason) == (
        "refused",
        f"in_cooldown_until:{rest.ends_at.isoformat()}",
    )
    assert (await enter(world, lead, ref="list:2", override="They asked for it on the phone")).outcome == (
        "enrolled"
    )
    assert (await enrolment(world, lead)).generation == 2


async def test_J05_STOP_again_and_STOP_without_a_journey_each_leave_one_rest(world: World) -> None:
    lead = await enrol_one(world)
    await world.reply(lead, "STOP")
    world.clock.advance(timedelta(minutes=5))
    await world.reply(lead, "STOP", MessageSid="SM" + "1" * 32)
    assert len(await cooldowns(world, lead)) == 1
    [stranger] = await world.add_leads(1)
    await world.reply(stranger, "STOP")
    [rest] = await cooldowns(world, stranger)
    assert (rest.reason, rest.enrolment_id) == ("opted_out", None)
    await world.reply(stranger, "START")
    assert (await enter(world, stranger)).reason == f"in_cooldown_until:{rest.ends_at.isoformat()}"


async def test_STOP_long_after_an_end_rests_anew(world: World) -> None:
    lead = await enrol_one(world)
    await close(world, lead, Outcome.WON)
    world.clock.advance(timedelta(days=29))
    await world.reply(lead, "STOP")
    assert [rest.reason for rest in await cooldowns(world, lead)] == ["won", "opted_out"]


async def test_H01_a_block_at_the_provider_closes_its_channel_with_source_and_time_and_rests(
    world: World,
) -> None:
    lead, sid, attempt = await sent_to(world)
    await report(world, sid, "failed", attempt=attempt, code=21610, lead=lead)
    [closed] = await world.rows("SELECT * FROM suppressions WHERE contact_id = :id", id=lead)
    assert (closed.channel, closed.reason, closed.created_at) == ("whatsapp", "provider_block", world.now)
    assert closed.source
    [rest] = await cooldowns(world, lead)
    assert rest.reason == "opted_out"


async def test_a_conversation_is_never_blocked_by_a_rest(world: World) -> None:
    lead = await enrol_one(world)
    await close(world, lead)
    await world.reply(lead, "One more question")
    assert await world.value("SELECT count(*) FROM handoffs WHERE contact_id = :id", id=lead) == 1


async def test_the_leads_own_act_overrides_a_rest_and_a_conversation_and_is_recorded(world: World) -> None:
    lead = await enrol_one(world)
    await close(world, lead)
    await world.reply(lead, "I will book now")
    assert (await enter(world, lead, ref="booking:1", own_act="booked a visit")).outcome == "enrolled"
    data = await world.value("SELECT data FROM ledger WHERE type = 'enrolled' ORDER BY id DESC LIMIT 1")
    assert data["override"] == "their own act: booked a visit"


async def test_an_exempt_campaign_writes_its_reason_with_the_enrolment(world: World) -> None:
    await other_campaign(world, exempt=True)
    lead = await enrol_one(world)
    await close(world, lead)
    assert (await enter(world, lead, campaign="other")).outcome == "enrolled"
    data = await world.value("SELECT data FROM ledger WHERE type = 'enrolled' ORDER BY id DESC LIMIT 1")
    assert data["override"] == "the campaign is exempt: test"
    # what let them in then still does when the campaign's exemption is taken back (I6 is checked at the end)
    await world.execute("UPDATE campaigns SET cooldown_exempt = false")


async def test_a_rest_lifted_with_a_reason_is_over_and_the_ledger_says_who_and_why(world: World) -> None:
    lead = await enrol_one(world)
    await close(world, lead)
    world.clock.advance(timedelta(days=3))
    with pytest.raises(Invalid):
        await lift(world, lead, "  ")
    await lift(world, lead)
    [rest] = await cooldowns(world, lead)
    assert (rest.lifted_at, rest.lifted_by, rest.lift_reason) == (
        world.now,
        "user:1",
        "They asked us to go on",
    )
    [event] = await world.rows("SELECT actor, cause, data FROM ledger WHERE type = 'released'")
    assert (event.actor, event.cause, event.data["what"]) == ("user:1", "They asked us to go on", "rest")
    assert (await enter(world, lead, ref="form:2")).outcome == "enrolled"
    with pytest.raises(CommandRefused):
        await lift(world, lead)


async def test_X01_only_a_new_list_brings_somebody_back_and_only_after_the_rest(world: World) -> None:
    lead = await enrol_one(world)
    await close(world, lead)
    for days, ref, outcome in (
        (0, f"test:{lead}", "repeated"),
        (10, "list:2", "refused"),
        (90, f"test:{lead}", "repeated"),
        (90, "list:2", "enrolled"),
    ):
        world.clock.advance(timedelta(days=days) - (world.now - (await enrolment(world, lead)).created_at))
        assert (await enter(world, lead, ref=ref)).outcome == outcome
    assert (await enrolment(world, lead)).generation == 2


@pytest.mark.parametrize(("outcome", "reason"), [("lost", "lost"), ("won", "won"), ("no_action", None)])
async def test_whoever_is_lost_or_won_in_a_conversation_alone_rests_as_well(
    world: World, outcome: str, reason: str | None
) -> None:
    [lead] = await world.add_leads(1)
    await world.reply(lead, "Hello")
    async with world.database.transaction() as uow:
        await close_open(
            uow, contact_id=lead, outcome=outcome, not_now_until=None, actor="user:1", now=world.now
        )
    assert [rest.reason for rest in await cooldowns(world, lead)] == ([reason] if reason else [])


async def test_a_journey_closed_with_its_handoff_leaves_one_rest(world: World) -> None:
    await setting(world, "cooldowns", '{"won": 0}')
    lead, won = await enrol_one(world), await enrol_one(world)
    for one in (lead, won):
        await world.reply(one, "Hello")
    await close(world, lead)
    await close(world, won, Outcome.WON)
    assert [rest.reason for rest in await cooldowns(world, lead)] == ["lost"]
    assert await cooldowns(world, won) == []
