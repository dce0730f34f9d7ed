"""The phone's pages work as plain forms, show what arrived, and cannot be used by foreign pages."""

from __future__ import annotations

import re

from twilio.rest import Client

from tests.fixtures.simulator import DieAfterAccept, SimulatorClient
from tests.integration.simulator.business import BUSINESS, LEAD, WELCOME, Business

PHONE = "+60120000001"


async def page(simulator: SimulatorClient, path: str, *, status: int = 200) -> str:
    async with simulator.session.get(simulator.base_url + path) as answer:
        assert answer.status == status
        return await answer.text()


async def submit(simulator: SimulatorClient, path: str, fields: dict[str, str], *, status: int = 303) -> str:
    url = simulator.base_url + path
    headers = {"Origin": simulator.base_url}
    async with simulator.session.post(url, data=fields, headers=headers, allow_redirects=False) as answer:
        assert answer.status == status, await answer.text()
        return answer.headers.get("Location", "") if status == 303 else await answer.text()


async def test_opening_the_chat_shows_the_template_and_reads_it(
    simulator: SimulatorClient, twilio: Client, business: Business
) -> None:
    await twilio.messages.create_async(
        to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid, status_callback=business.callback()
    )
    await simulator.wait_until_idle()
    listed = await page(simulator, "/phone")
    assert "Hello there, shall we save a place for Saturday?" in listed
    chat = await page(simulator, f"/phone/{PHONE}")
    assert "Yes please" in chat
    assert 'href="https://example.org/Saturday"' in chat
    await simulator.wait_until_idle()
    assert business.statuses() == ["sent", "delivered", "read"]


async def test_pressing_a_button_answers_that_message_once(
    simulator: SimulatorClient, twilio: Client, business: Business
) -> None:
    sent = await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid)
    await simulator.wait_until_idle()
    chat = await page(simulator, f"/phone/{PHONE}")
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', chat[chat.index(f"message-{sent.sid}") :])[:5])
    assert fields["kind"] == "button"
    for _ in range(2):
        assert await submit(simulator, f"/phone/{PHONE}/messages", fields) == f"/phone/{PHONE}"
    await simulator.wait_until_idle()
    (hook,) = business.hooks
    assert hook.params["ButtonPayload"] == "yes"
    assert hook.params["OriginalRepliedMessageSid"] == sent.sid
    assert "disabled" in await page(simulator, f"/phone/{PHONE}")


async def test_the_composer_sends_texts_files_and_stop(
    simulator: SimulatorClient, business: Business
) -> None:
    for fields in (
        {"kind": "text", "body": " Hi "},
        {"kind": "image"},
        {"kind": "stop"},
        {"kind": "text", "body": " "},
    ):
        await submit(simulator, f"/phone/{PHONE}/messages", fields)
        await simulator.wait_until_idle()
    assert [(hook.params["MessageType"], hook.params["Body"]) for hook in business.hooks] == [
        ("text", "Hi"),
        ("image", ""),
        ("text", "STOP"),
    ]


async def test_a_phone_answers_on_the_channel_and_to_the_sender_that_wrote_last(
    simulator: SimulatorClient, twilio: Client, business: Business
) -> None:
    await twilio.messages.create_async(to=PHONE, from_="+60320000777", body="by SMS")
    await simulator.wait_until_idle()
    await submit(simulator, f"/phone/{PHONE}/messages", {"kind": "text", "body": "ok"})
    await simulator.wait_until_idle()
    assert (business.hooks[-1].params["From"], business.hooks[-1].params["To"]) == (PHONE, "+60320000777")


async def test_texts_from_outside_are_text(simulator: SimulatorClient) -> None:
    await simulator.say(PHONE, '<script>alert("x")</script> https://example.org/a?b=1&c=2.')
    chat = await page(simulator, f"/phone/{PHONE}")
    assert "<script>alert" not in chat
    assert 'href="https://example.org/a?b=1&amp;c=2"' in chat


async def test_the_thread_answers_204_until_something_changes(simulator: SimulatorClient) -> None:
    chat = await page(simulator, f"/phone/{PHONE}")
    found = re.search(r'hx-get="(/phone/[^"]*thread[^"]*)"', chat)
    assert found is not None
    assert await page(simulator, found[1], status=204) == ""
    await simulator.say(PHONE, "hi")
    assert "hi" in await page(simulator, found[1])


async def test_a_knob_arms_a_fault_for_the_next_message_and_disarms_it(simulator: SimulatorClient) -> None:
    await submit(simulator, f"/phone/{PHONE}/faults", {"fault": "die"})
    (rule,) = await simulator.faults()
    assert (rule.fault, rule.to, rule.times) == (DieAfterAccept(), PHONE, 1)
    assert 'value="die" aria-pressed="true"' in await page(simulator, f"/phone/{PHONE}")
    await submit(simulator, f"/phone/{PHONE}/faults", {"fault": "die"})
    assert await simulator.faults() == []


async def test_a_phone_is_opened_by_its_number(simulator: SimulatorClient) -> None:
    assert (
        await submit(simulator, "/phone", {"number": "+60 12-345 6789", "name": "Aisyah"})
        == "/phone/+60123456789"
    )
    assert "Aisyah" in await page(simulator, "/phone?q=aisy")
    assert "No phone fits" in await page(simulator, "/phone?q=nobody")
    assert "country code" in await submit(simulator, "/phone", {"number": "12"}, status=422)
    await page(simulator, "/phone/nonsense", status=404)


async def test_foreign_pages_cannot_play_the_phone(simulator: SimulatorClient, business: Business) -> None:
    url = f"{simulator.base_url}/phone/{PHONE}/messages"
    for headers in (
        {"Origin": "https://example.org"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "example.org"},
    ):
        async with simulator.session.post(url, data={"body": "hi"}, headers=headers) as answer:
            assert answer.status == 403
    await simulator.wait_until_idle()
    assert business.hooks == []


async def test_pages_carry_the_policy_and_assets_are_served(simulator: SimulatorClient) -> None:
    async with simulator.session.get(f"{simulator.base_url}/phone") as answer:
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        text = await answer.text()
    found = re.search(r'src="(/static/js/phone\.js\?v=\w+)"', text)
    assert found is not None
    async with simulator.session.get(simulator.base_url + found[1]) as script:
        assert script.status == 200
        assert "immutable" in script.headers["Cache-Control"]
    async with simulator.session.get(f"{simulator.base_url}/static/nothing.js") as missing:
        assert missing.status == 404
