"""The one door into a campaign: who comes in, who does not, and that everybody comes in once."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from app.kernel.errors import Invalid, NotFound
from tests.fixtures.engine import World
from tests.integration.campaigns.doors import close, enter, other_campaign
from tests.integration.campaigns.steps import enrol_one, enrolment, told


async def test_a_lead_comes_in_once_and_the_ledger_says_so(world: World) -> None:
    [lead] = await world.add_leads(1)
    result = await enter(world, lead)
    assert result.outcome == "enrolled"
    assert await told(world, lead) == ["enrolled", "path_entered"]


async def test_the_same_ref_returns_the_earlier_enrolment_also_an_ended_one(world: World) -> None:
    [lead] = await world.add_leads(1)
    first = await enter(world, lead)
    again = await enter(world, lead)
    assert (again.outcome, again.enrolment_id) == ("repeated", first.enrolment_id)
    await close(world, lead)
    ended = await enter(world, lead)
    assert (ended.outcome, ended.enrolment_id) == ("repeated", first.enrolment_id)
    assert await world.value("SELECT count(*) FROM enrolments") == 1


async def test_another_ref_in_the_same_campaign_is_a_second_touch(world: World) -> None:
    [lead] = await world.add_leads(1)
    first = await enter(world, lead)
    touch = await enter(world, lead, ref="form:2")
    assert (touch.outcome, touch.enrolment_id) == ("touched", first.enrolment_id)
    assert (await told(world, lead))[-1] == "touched"


async def test_who_stopped_is_refused_whatever_reason_is_given(world: World) -> None:
    lead = await enrol_one(world)
    await world.reply(lead, "STOP")
    refused = await enter(world, lead, override="they called and asked")
    assert (refused.outcome, refused.reason) == ("refused", "suppressed")
    assert (await told(world, lead))[-1] == "enrol_refused"


async def test_without_consent_there_is_no_channel_to_use(world: World) -> None:
    [lead] = await world.add_leads(1, consent=False)
    assert (await enter(world, lead)).reason == "no_usable_channel"


async def test_who_is_live_elsewhere_is_refused_with_the_name_of_that_campaign(world: World) -> None:
    await other_campaign(world)
    lead = await enrol_one(world)
    assert (await enter(world, lead, campaign="other")).reason == "live_in:open_day"


async def test_a_cool_down_refuses_with_its_date_over_all_campaigns_and_then_lets_in(world: World) -> None:
    await other_campaign(world)
    lead = await enrol_one(world)
    await close(world, lead)
    until = (world.now + timedelta(days=90)).isoformat()
    for campaign in ("open_day", "other"):
        refused = await enter(world, lead, ref="form:9", campaign=campaign)
        assert (refused.outcome, refused.reason) == ("refused", f"in_cooldown_until:{until}")
    world.clock.advance(timedelta(days=90))
    again = await enter(world, lead, ref="form:9")
    assert again.outcome == "enrolled"
    assert (await enrolment(world, lead)).generation == 2


async def test_an_override_lets_in_and_is_recorded_with_its_reason(world: World) -> None:
    lead = await enrol_one(world)
    await close(world, lead)
    assert (await enter(world, lead, override="asked for it")).outcome == "enrolled"
    reason = await world.value(
        "SELECT data ->> 'override' FROM ledger WHERE type = 'enrolled' ORDER BY id DESC"
    )
    assert reason == "asked for it"


async def test_an_exempt_campaign_lets_in_despite_a_cool_down(world: World) -> None:
    await other_campaign(world, exempt=True)
    lead = await enrol_one(world)
    await close(world, lead)
    assert (await enter(world, lead, campaign="other")).outcome == "enrolled"


async def test_A11_20_enrolments_of_one_lead_at_once_leave_one_journey_and_one_message(world: World) -> None:
    [lead] = await world.add_leads(1)
    results = await asyncio.gather(*(enter(world, lead, ref=f"form:{n % 10}") for n in range(20)))
    assert sorted({r.outcome for r in results} - {"repeated"}) == ["enrolled", "touched"]
    assert sum(r.outcome == "enrolled" for r in results) == 1
    await world.run()
    assert await world.received() and sum((await world.received()).values()) == 1
    assert await world.value("SELECT count(*) FROM sends") == 1


async def test_a_merged_contact_leads_to_its_survivor(world: World) -> None:
    gone, survivor = await world.add_leads(2)
    await world.execute("UPDATE contacts SET merged_into = :to WHERE id = :id", to=survivor, id=gone)
    result = await enter(world, gone)
    assert (result.outcome, result.contact_id) == ("enrolled", survivor)


async def test_one_batch_takes_a_contact_once_and_keeps_the_order_of_its_requests(world: World) -> None:
    one, two = await world.add_leads(2)
    results = await world.enrol([two, one, two])
    assert [(r.contact_id, r.outcome) for r in results] == [
        (two, "enrolled"),
        (one, "enrolled"),
        (two, "touched"),
    ]


async def test_an_unknown_campaign_and_one_without_a_version_say_so(world: World) -> None:
    [lead] = await world.add_leads(1)
    with pytest.raises(NotFound):
        await enter(world, lead, campaign="nowhere")
    await world.execute(
        "INSERT INTO campaigns (program_id, key, name) SELECT id, 'bare', 'Bare' FROM programs"
    )
    with pytest.raises(Invalid):
        await enter(world, lead, campaign="bare")
    unknown = await enter(world, 999_999)
    assert (unknown.outcome, unknown.reason) == ("refused", "unknown_contact")


@pytest.mark.parametrize("reason", [None, "", "  "])
async def test_no_campaign_is_exempt_from_cool_downs_without_a_written_reason(
    world: World, reason: str | None
) -> None:
    with pytest.raises(IntegrityError, match="ck_campaigns_cooldown_exempt_reason"):
        await world.execute(
            "UPDATE campaigns SET cooldown_exempt = true, cooldown_exempt_reason = :reason", reason=reason
        )
