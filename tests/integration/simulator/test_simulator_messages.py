"""The simulator answers Twilio's own client as Twilio does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from twilio.base.exceptions import TwilioRestException
from twilio.rest import Client

from tests.fixtures.simulator import SimulatorClient, running_simulator
from tests.integration.simulator.business import BUSINESS, LEAD, WELCOME, Business, SimulatedTwilio, state

SERVICE = "MG" + "1" * 32


async def test_a_template_is_accepted_with_all_fields_and_its_text_filled(twilio: Client) -> None:
    sent = await twilio.messages.create_async(
        to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid, content_variables='{"1": "Aisyah"}'
    )
    assert sent.sid is not None
    assert sent.sid.startswith("MM")
    assert (state(sent), str(sent.direction), sent.from_, sent.to) == (
        "queued",
        "outbound-api",
        BUSINESS,
        LEAD,
    )
    assert sent.body == "Hello Aisyah, shall we save a place for Saturday?"
    assert sent.date_created is not None
    assert abs(datetime.now(UTC) - sent.date_created) < timedelta(minutes=1)
    assert sent.date_sent is None
    assert sent.price is None
    assert sent.uri == f"/2010-04-01/Accounts/{sent.account_sid}/Messages/{sent.sid}.json"


async def test_a_messaging_service_has_no_sender_until_it_is_sent(
    twilio: Client, simulator: SimulatorClient
) -> None:
    await simulator.add_service(SERVICE, ["+60320000200", "whatsapp:+60320000300"])
    sent = await twilio.messages.create_async(to=LEAD, messaging_service_sid=SERVICE, content_sid=WELCOME.sid)
    assert (state(sent), sent.from_, sent.num_segments) == ("accepted", None, "0")
    await simulator.wait_until_idle()
    later = await twilio.messages(str(sent.sid)).fetch_async()
    assert (state(later), later.from_) == ("delivered", "whatsapp:+60320000300")
    assert later.date_sent is not None


async def test_the_same_request_twice_is_two_messages(twilio: Client, simulator: SimulatorClient) -> None:
    for _ in range(2):
        await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)
    (double,) = await simulator.duplicates()
    assert double.accepted == 2


async def test_lists_are_filtered_newest_first_and_paged(twilio: Client, simulator: SimulatorClient) -> None:
    sids = [
        (await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)).sid
        for _ in range(5)
    ]
    await twilio.messages.create_async(to="whatsapp:+60120000002", from_=BUSINESS, content_sid=WELCOME.sid)
    await simulator.wait_until_idle()
    hour = timedelta(hours=1)
    listed = await twilio.messages.list_async(to=LEAD, page_size=2)
    assert [message.sid for message in listed] == sids[::-1]
    recent = await twilio.messages.list_async(to=LEAD, date_sent_after=datetime.now(UTC) - hour)
    assert len(recent) == 5
    assert await twilio.messages.list_async(to=LEAD, date_sent_after=datetime.now(UTC) + hour) == []
    assert await twilio.messages.list_async(to=LEAD, from_="whatsapp:+60320000999") == []
    assert len(await twilio.messages.list_async(limit=20)) == 6


async def test_a_filter_by_time_hides_what_was_not_sent_yet(
    twilio: Client, simulator: SimulatorClient
) -> None:
    await simulator.behave(sent_after_ms=60_000)
    await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)
    assert len(await twilio.messages.list_async(to=LEAD)) == 1
    after = datetime.now(UTC) - timedelta(hours=1)
    assert await twilio.messages.list_async(to=LEAD, date_sent_after=after) == []


async def test_a_list_can_lag_behind(twilio: Client, simulator: SimulatorClient) -> None:
    await simulator.behave(list_delay_ms=60_000)
    await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)
    assert await twilio.messages.list_async(to=LEAD) == []


async def test_only_a_scheduled_message_can_be_cancelled(twilio: Client, simulator: SimulatorClient) -> None:
    planned = await twilio.messages.create_async(
        to=LEAD,
        messaging_service_sid=SERVICE,
        content_sid=WELCOME.sid,
        schedule_type="fixed",
        send_at=datetime.now(UTC) + timedelta(hours=1),
    )
    assert state(planned) == "scheduled"
    await simulator.wait_until_idle()
    assert state(await twilio.messages(str(planned.sid)).update_async(status="canceled")) == "canceled"
    with pytest.raises(TwilioRestException) as refused:
        await twilio.messages(str(planned.sid)).update_async(status="canceled")
    assert refused.value.code == 30409


async def test_wrong_credentials_are_20003(simulator: SimulatorClient) -> None:
    http = SimulatedTwilio(simulator.base_url)
    stranger = Client(simulator.settings.account_sid, "wrong", http_client=http)
    with pytest.raises(TwilioRestException) as refused:
        await stranger.messages.create_async(to=LEAD, from_=BUSINESS, body="hi")
    assert (refused.value.status, refused.value.code) == (401, 20003)
    await http.close()
    assert await simulator.requests() == []


async def test_an_unknown_message_is_20404(twilio: Client) -> None:
    with pytest.raises(TwilioRestException) as refused:
        await twilio.messages("SM" + "0" * 32).fetch_async()
    assert (refused.value.status, refused.value.code) == (404, 20404)


async def test_an_unknown_template_is_21655_and_the_refusal_is_recorded(
    twilio: Client, simulator: SimulatorClient
) -> None:
    with pytest.raises(TwilioRestException) as refused:
        await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid="HX" + "f" * 32)
    assert (refused.value.status, refused.value.code) == (400, 21655)
    (request,) = await simulator.requests()
    assert (request.outcome, request.code, request.sid) == ("refused", 21655, None)
    assert await simulator.counts() == []


async def test_free_text_outside_the_window_is_accepted_and_fails_later(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    sent = await twilio.messages.create_async(
        to=LEAD, from_=BUSINESS, body="hello", status_callback=business.callback()
    )
    assert state(sent) == "queued"
    await simulator.wait_until_idle()
    assert [(hook.status, hook.params["ErrorCode"]) for hook in business.hooks] == [("failed", "63016")]
    assert (await twilio.messages(str(sent.sid)).fetch_async()).error_code == 63016


async def test_an_inbound_message_opens_the_window_for_24_hours_of_demo_time(
    twilio: Client, simulator: SimulatorClient
) -> None:
    await simulator.say("+60120000001", "hi")
    first = await twilio.messages.create_async(to=LEAD, from_=BUSINESS, body="welcome")
    await simulator.set_clock(datetime.now(UTC) + timedelta(hours=25))
    second = await twilio.messages.create_async(to=LEAD, from_=BUSINESS, body="too late")
    await simulator.wait_until_idle()
    found = [await twilio.messages(str(sid)).fetch_async() for sid in (first.sid, second.sid)]
    assert [(state(message), message.error_code) for message in found] == [
        ("delivered", None),
        ("failed", 63016),
    ]


async def test_stop_is_kept_by_the_provider_only_where_it_handles_it(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    await simulator.say("+60120000001", "Stop", to=BUSINESS)
    assert "OptOutType" not in business.hooks[-1].params
    await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)
    await simulator.behave(opt_out_whatsapp=True)
    await simulator.say("+60120000001", " stop ", to=BUSINESS)
    assert business.hooks[-1].params["OptOutType"] == "STOP"
    with pytest.raises(TwilioRestException) as refused:
        await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)
    assert refused.value.code == 21610
    await simulator.say("+60120000001", "START", to=BUSINESS)
    await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)


async def test_the_demo_clock_runs_on_after_a_restart(tmp_path: Path) -> None:
    shows = datetime(2027, 1, 4, 1, 0, tzinfo=UTC)
    async with running_simulator(tmp_path) as first:
        await first.set_clock(shows, rate=60)
    async with running_simulator(tmp_path) as second:
        await second.say("+60120000001", "hi", wait=False)
        (message,) = await second.messages("+60120000001")
        assert timedelta() <= datetime.fromtimestamp(message.demo_ms / 1000, UTC) - shows < timedelta(hours=1)
        assert message.created_ms < shows.timestamp() * 1000
