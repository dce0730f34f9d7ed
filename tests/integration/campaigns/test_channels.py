"""Two channels: the order decides, the next one takes over, and it stays one send with one key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.operations.plan import plan
from app.messaging.gateways.base import Accepted
from tests.fixtures.engine import World
from tests.fixtures.simulator import Error
from tests.integration.campaigns.steps import enrolment, plan_and_start, sends, settle, start_now, told

SMS_NUMBER = "+60320000200"
BOTH = ["whatsapp", "sms"]
DEFINITION: dict[str, Any] = {
    "paths": {
        "nurture": [
            {"key": "hello", "kind": "message", "template": "hello", "channels": BOTH},
            {"key": "wait_1", "kind": "wait", "days": 2},
            {"key": "nudge", "kind": "message", "template": "nudge", "channels": BOTH},
        ]
    }
}


@pytest.fixture
async def two(world: World) -> World:
    """Give a campaign that may use WhatsApp and SMS."""
    await world.restart(definition=DEFINITION)
    await world.execute(
        "INSERT INTO senders (key, channel, provider, address, rate_per_second) "
        "VALUES ('sms', 'sms', 'twilio', :address, 5000)",
        address=SMS_NUMBER,
    )
    await world.execute(
        "INSERT INTO templates (key, channel, language, name, moment, body, variables, approval) "
        "SELECT key, 'sms', language, name, moment, body, variables, 'approved' FROM templates"
    )
    return world


async def lead_with(world: World, *channels: str, phone: str = "+60121110001") -> int:
    """Add and enrol a lead who agreed to these channels."""
    lead = await world.add_lead(phone, consent="whatsapp" in channels)
    await world.execute(
        "INSERT INTO consents (contact_id, channel, granted, source, at) VALUES (:id, 'sms', :granted, 'test', :now)",
        id=lead,
        granted="sms" in channels,
        now=world.now,
    )
    await world.enrol([lead])
    return lead


async def via(world: World, lead: int) -> list[tuple[str, str]]:
    """Return the channel and status of a lead's sends, in order."""
    return [(s.channel, s.status) for s in await sends(world, lead)]


async def test_the_first_channel_of_the_order_is_taken(two: World) -> None:
    lead = await lead_with(two, "whatsapp", "sms")
    await two.run()
    assert [channel for channel, _ in await via(two, lead)] == ["whatsapp"]


async def test_who_agreed_to_sms_alone_gets_an_sms_with_the_texts_of_sms(two: World) -> None:
    lead = await lead_with(two, "sms")
    await two.run()
    [send] = await sends(two, lead)
    assert (send.channel, send.content["text"][:9]) == ("sms", "Hi Aisyah")
    [received] = await two.simulator.messages("+60121110001")
    assert received.sender == SMS_NUMBER and received.body.startswith("Hi Aisyah")


async def test_a_number_without_whatsapp_falls_back_and_keeps_its_one_send(two: World) -> None:
    await two.simulator.add_fault(Error(code=63024))
    lead = await lead_with(two, "whatsapp", "sms")
    await two.run()
    [send] = await sends(two, lead)
    assert (send.channel, send.status in ("accepted", "sent", "delivered"), send.tried) == (
        "sms",
        True,
        ["whatsapp"],
    )
    assert await two.value("SELECT count(*) FROM send_attempts WHERE send_id = :id", id=send.id) == 2
    journey = await enrolment(two, lead)
    assert (journey.stage, journey.step) == ("nurturing", "wait_1")
    assert "bounced" in await told(two, lead)
    await two.advance(days=2, hours=1)
    assert [channel for channel, _ in await via(two, lead)] == ["sms", "sms"]


async def test_a_gate_that_closes_one_channel_lets_the_next_take_over(two: World) -> None:
    lead = await lead_with(two, "whatsapp", "sms")
    await plan(two.database, now=two.now)
    await two.execute(
        "UPDATE consents SET granted = false WHERE contact_id = :id AND channel = 'whatsapp'", id=lead
    )
    assert await start_now(two) == []
    [send] = await sends(two, lead)
    assert (send.status, send.reason, send.tried) == ("waiting", "channel:no_consent", ["whatsapp"])
    [call] = await plan_and_start(two)
    await settle(two, call, Accepted("SM" + "1" * 32, "accepted"))
    assert await via(two, lead) == [("sms", "accepted")]


async def test_where_no_channel_is_left_the_step_is_skipped_and_the_journey_goes_on(two: World) -> None:
    lead = await lead_with(two, "whatsapp", "sms", phone="+12125550123")  # SMS is not sent to that country
    await plan(two.database, now=two.now)
    await two.execute(
        "UPDATE consents SET granted = false WHERE contact_id = :id AND channel = 'whatsapp'", id=lead
    )
    await start_now(two)
    two.clock.advance(timedelta(hours=12))  # morning in New York
    await two.run()
    assert await via(two, lead) == [("sms", "skipped")]
    assert (await enrolment(two, lead)).step == "wait_1"


async def test_a_block_at_the_provider_is_a_wish_and_not_a_reason_for_another_channel(two: World) -> None:
    await two.simulator.add_fault(Error(code=21610))
    lead = await lead_with(two, "whatsapp", "sms")
    await two.run()
    assert await via(two, lead) == [("whatsapp", "failed")]
    assert (await enrolment(two, lead)).stage == "opted_out"
