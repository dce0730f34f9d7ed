"""What phones send arrives as the provider's own webhooks would."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from twilio.rest import Client

from tests.fixtures.simulator import SimulatorClient
from tests.integration.simulator.business import BUSINESS, WELCOME, Business

PHONE = "+60120000001"


async def test_a_text_has_the_parameters_of_whatsapp(simulator: SimulatorClient, business: Business) -> None:
    handed = await simulator.say(PHONE, "Boleh saya datang? 你好", name="Nur Aisyah")
    (hook,) = business.hooks
    assert hook.is_genuine
    assert hook.path == "/webhooks/twilio/inbound"
    assert handed.status == 200
    expected = {
        "MessageSid": handed.sid,
        "SmsSid": handed.sid,
        "SmsMessageSid": handed.sid,
        "AccountSid": simulator.settings.account_sid,
        "From": f"whatsapp:{PHONE}",
        "To": BUSINESS,
        "Body": "Boleh saya datang? 你好",
        "NumMedia": "0",
        "NumSegments": "1",
        "SmsStatus": "received",
        "ApiVersion": "2010-04-01",
        "ProfileName": "Nur Aisyah",
        "WaId": PHONE[1:],
        "MessageType": "text",
    }
    assert {name: hook.params.get(name) for name in expected} == expected
    assert json.loads(hook.params["ChannelMetadata"])["data"]["context"]["WaId"] == PHONE[1:]


@pytest.mark.parametrize(
    ("kind", "message_type", "content_type", "starts"),
    [
        ("image", "image", "image/jpeg", b"\xff\xd8\xff"),
        ("voice", "audio", "audio/ogg", b"OggS"),
        ("document", "document", "application/pdf", b"%PDF"),
        ("sticker", "sticker", "image/webp", b"RIFF"),
        ("contact", "contacts", "text/vcard", b"BEGIN:VCARD"),
    ],
)
async def test_media_is_served_with_the_accounts_credentials_only(
    simulator: SimulatorClient,
    business: Business,
    kind: Any,
    message_type: str,
    content_type: str,
    starts: bytes,
) -> None:
    await simulator.say(PHONE, kind=kind)
    params = business.hooks[-1].params
    assert (params["NumMedia"], params["MessageType"]) == ("1", message_type)
    assert params["MediaContentType0"] == content_type
    assert params["MessageSid"].startswith("MM")
    async with simulator.session.get(params["MediaUrl0"]) as refused:
        assert refused.status == 401
    settings = simulator.settings
    credentials = aiohttp.encode_basic_auth(settings.account_sid, settings.auth_token)
    async with simulator.session.get(params["MediaUrl0"], headers={"Authorization": credentials}) as answer:
        assert (answer.status, answer.content_type) == (200, content_type)
        assert (await answer.read()).startswith(starts)


async def test_a_location_has_its_place(simulator: SimulatorClient, business: Business) -> None:
    await simulator.say(PHONE, kind="location")
    params = business.hooks[-1].params
    assert (params["MessageType"], params["Body"], params["Label"]) == ("location", "", "Suria KLCC")
    assert float(params["Latitude"]) == 3.1578


async def test_a_button_names_the_message_that_it_answers(
    simulator: SimulatorClient, business: Business, twilio: Client
) -> None:
    sent = await twilio.messages.create_async(to=f"whatsapp:{PHONE}", from_=BUSINESS, content_sid=WELCOME.sid)
    await simulator.wait_until_idle()
    await simulator.say(
        PHONE, kind="button", button_text="Yes please", button_payload="yes", replied_to=sent.sid
    )
    params = business.hooks[-1].params
    assert (params["MessageType"], params["Body"]) == ("button", "Yes please")
    assert (params["ButtonText"], params["ButtonPayload"]) == ("Yes please", "yes")
    assert params["OriginalRepliedMessageSid"] == sent.sid
    assert params["OriginalRepliedMessageSender"] == BUSINESS


async def test_an_sms_has_no_whatsapp_parameters(simulator: SimulatorClient, business: Business) -> None:
    await simulator.say(PHONE, "Stop", to="+60320000100")
    params = business.hooks[-1].params
    assert (params["From"], params["To"], params["OptOutType"]) == (PHONE, "+60320000100", "STOP")
    assert params["FromCity"] == ""
    assert not {"WaId", "ProfileName", "MessageType"} & params.keys()


async def test_a_user_id_without_a_phone_has_no_wa_id(simulator: SimulatorClient, business: Business) -> None:
    await simulator.say("whatsapp:MY.1171382917453", "hi")
    params = business.hooks[-1].params
    assert params["From"] == params["ExternalUserId"] == "whatsapp:MY.1171382917453"
    assert "WaId" not in params


async def test_a_double_click_sends_one_message(simulator: SimulatorClient, business: Business) -> None:
    first = await simulator.say(PHONE, "hi", client_id="click-1")
    again = await simulator.say(PHONE, "hi", client_id="click-1")
    assert (first.sid, first.is_new, again.is_new) == (again.sid, True, False)
    assert len(business.hooks) == 1


async def test_an_inbound_webhook_can_come_several_times(
    simulator: SimulatorClient, business: Business
) -> None:
    await simulator.say(PHONE, "hi", copies=3)
    assert len({hook.params["MessageSid"] for hook in business.hooks}) == 1
    assert len(business.hooks) == 3


async def test_a_server_error_makes_an_inbound_webhook_come_again(
    simulator: SimulatorClient, business: Business
) -> None:
    business.answers = lambda _: 503 if len(business.hooks) == 1 else 200
    handed = await simulator.say(PHONE, "hi")
    assert handed.status == 200
    tokens = {hook.headers["I-Twilio-Idempotency-Token"] for hook in business.hooks}
    assert (len(business.hooks), len(tokens)) == (2, 1)


async def test_foreign_pages_cannot_use_the_control_api(simulator: SimulatorClient) -> None:
    url = f"{simulator.base_url}/control/reset"
    for headers in (
        {"Origin": "https://example.org"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "rebound.example.org"},
    ):
        async with simulator.session.post(url, json={}, headers=headers) as answer:
            assert answer.status == 403
