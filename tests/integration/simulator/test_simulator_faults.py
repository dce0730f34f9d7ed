"""What goes wrong on purpose: with the connection, with the answer, and with the callbacks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import aiohttp
import pytest
from twilio.base.exceptions import TwilioRestException
from twilio.rest import Client

from app.simulator.faults import (
    Delay,
    DieAfterAccept,
    Duplicate,
    Error,
    ErrorAfterAccept,
    LateFailure,
    Lose,
    NeverDelivered,
    RefuseBefore,
    Reorder,
    TimeOut,
    TooManyRequests,
)
from tests.fixtures.simulator import SimulatorClient, free_port, running_simulator, simulator_process
from tests.integration.simulator.business import BUSINESS, LEAD, WELCOME, Business, SimulatedTwilio, state


async def create(twilio: Client, **more: str) -> str:
    sent = await twilio.messages.create_async(to=LEAD, from_=BUSINESS, content_sid=WELCOME.sid, **more)
    return str(sent.sid)


async def received(simulator: SimulatorClient) -> int:
    return sum(count.accepted for count in await simulator.counts())


async def test_dying_after_accepting_ends_the_connection_without_an_answer(
    twilio: Client, simulator: SimulatorClient
) -> None:
    await simulator.add_fault(DieAfterAccept())
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await create(twilio)
    assert await received(simulator) == 1
    assert [request.outcome for request in await simulator.requests()] == ["hung_up_after"]
    await create(twilio)
    assert await received(simulator) == 2


async def test_the_connection_can_be_reset_too(twilio: Client, simulator: SimulatorClient) -> None:
    await simulator.add_fault(DieAfterAccept(reset=True))
    with pytest.raises(aiohttp.ClientOSError):
        await create(twilio)
    assert await received(simulator) == 1


async def test_refusing_before_stores_nothing(twilio: Client, simulator: SimulatorClient) -> None:
    await simulator.add_fault(RefuseBefore())
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await create(twilio)
    assert await received(simulator) == 0
    assert [request.outcome for request in await simulator.requests()] == ["hung_up_before"]


async def test_an_error_code_is_answered_as_asked(twilio: Client, simulator: SimulatorClient) -> None:
    await simulator.add_fault(Error(code=63007, status=400), times=2)
    for _ in range(2):
        with pytest.raises(TwilioRestException) as refused:
            await create(twilio)
        assert (refused.value.status, refused.value.code) == (400, 63007)
    await create(twilio)
    assert await received(simulator) == 1


async def test_429_says_when_to_come_again(simulator: SimulatorClient) -> None:
    await simulator.add_fault(TooManyRequests(retry_after=3))
    url = f"{simulator.base_url}/2010-04-01/Accounts/{simulator.settings.account_sid}/Messages.json"
    credentials = aiohttp.encode_basic_auth(simulator.settings.account_sid, simulator.settings.auth_token)
    form = {"To": LEAD, "From": BUSINESS, "ContentSid": WELCOME.sid}
    async with simulator.session.post(url, data=form, headers={"Authorization": credentials}) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
        assert (await answer.json())["code"] == 20429
    assert await received(simulator) == 0


async def test_a_server_error_after_storing_is_a_message_all_the_same(
    twilio: Client, simulator: SimulatorClient
) -> None:
    await simulator.add_fault(ErrorAfterAccept(status=503))
    with pytest.raises(TwilioRestException) as refused:
        await create(twilio)
    assert refused.value.status == 503
    assert await received(simulator) == 1


@pytest.mark.parametrize(
    ("stored", "at_time_out", "in_the_end"), [("before", 1, 1), ("after", 0, 1), ("never", 0, 0)]
)
async def test_a_time_out_stores_before_after_or_never(
    simulator: SimulatorClient, stored: Literal["before", "after", "never"], at_time_out: int, in_the_end: int
) -> None:
    http = SimulatedTwilio(simulator.base_url, timeout=0.2)
    impatient = Client(simulator.settings.account_sid, simulator.settings.auth_token, http_client=http)
    await simulator.add_fault(TimeOut(seconds=0.5, stored=stored))
    with pytest.raises(TimeoutError):
        await create(impatient)
    assert await received(simulator) == at_time_out
    await asyncio.sleep(0.5)
    assert await received(simulator) == in_the_end
    await http.close()


async def test_a_rule_hits_only_whom_it_names(twilio: Client, simulator: SimulatorClient) -> None:
    await simulator.add_fault(RefuseBefore(), to="+60120000009", times=None)
    await create(twilio)
    assert await received(simulator) == 1
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await twilio.messages.create_async(
            to="whatsapp:+60120000009", from_=BUSINESS, content_sid=WELCOME.sid
        )


async def test_callbacks_are_signed_and_carry_the_attempt(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    sid = await create(twilio, status_callback=business.callback("att_7"))
    await simulator.wait_until_idle()
    assert business.statuses() == ["sent", "delivered"]
    for hook in business.hooks:
        assert hook.is_genuine
        assert hook.query == {"attempt": "att_7"}
        assert (hook.params["MessageSid"], hook.params["To"], hook.params["ChannelPrefix"]) == (
            sid,
            LEAD,
            "whatsapp",
        )
        assert hook.headers["I-Twilio-Idempotency-Token"]
    await simulator.open_chat("+60120000001")
    await simulator.wait_until_idle()
    assert business.hooks[-1].params["EventType"] == "READ"
    assert state(await twilio.messages(sid).fetch_async()) == "read"


async def test_read_receipts_can_be_off(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    await simulator.behave(read_receipts=False)
    await create(twilio, status_callback=business.callback())
    await simulator.wait_until_idle()
    await simulator.open_chat("+60120000001")
    await simulator.wait_until_idle()
    assert business.statuses() == ["sent", "delivered"]


async def test_a_callback_for_a_public_host_is_signed_for_it_and_stays_on_this_machine(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    business.public_url = "https://warmline.example.org"
    await create(twilio, status_callback=business.callback())
    await simulator.wait_until_idle()
    assert [(hook.is_genuine, hook.headers["Host"]) for hook in business.hooks] == [
        (True, "warmline.example.org")
    ] * 2


async def test_every_callback_twice_and_shuffled(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    await simulator.add_fault(Duplicate(copies=2), times=None)
    await simulator.add_fault(Reorder(), times=None)
    sid = await create(twilio, status_callback=business.callback())
    await simulator.wait_until_idle()
    assert sorted(business.statuses()) == ["delivered", "delivered", "sent", "sent"]
    assert state(await twilio.messages(sid).fetch_async()) == "delivered"


async def test_callbacks_can_be_lost_delayed_and_never_come(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    await simulator.add_fault(Lose(statuses=("sent",)))
    await create(twilio, status_callback=business.callback("lost"))
    await simulator.wait_until_idle()
    assert business.statuses() == ["delivered"]
    await simulator.add_fault(Lose())
    await create(twilio, status_callback=business.callback("all lost"))
    await simulator.wait_until_idle()
    assert business.statuses() == ["delivered"]
    await simulator.add_fault(NeverDelivered())
    await simulator.add_fault(Delay(ms=20))
    await create(twilio, status_callback=business.callback("stuck"))
    await simulator.wait_until_idle()
    assert business.statuses() == ["delivered", "sent"]


@pytest.mark.parametrize(
    ("after", "told"), [("accepted", []), ("sent", ["sent"]), ("delivered", ["sent", "delivered"])]
)
async def test_a_late_failure_comes_after_the_state_named(
    twilio: Client,
    simulator: SimulatorClient,
    business: Business,
    after: Literal["accepted", "sent", "delivered"],
    told: list[str],
) -> None:
    await simulator.add_fault(LateFailure(code=63049, after=after))
    await create(twilio, status_callback=business.callback())
    await simulator.wait_until_idle()
    assert business.statuses() == [*told, "undelivered"]
    assert business.hooks[-1].params["ErrorCode"] == "63049"
    (count,) = await simulator.counts()
    assert (count.accepted, count.failed) == (1, 1)


async def test_a_callback_that_finds_nobody_is_tried_once_more(
    simulator: SimulatorClient, twilio: Client
) -> None:
    nobody = f"http://127.0.0.1:{free_port()}/webhooks/twilio/status"
    await create(twilio, status_callback=nobody)
    await simulator.wait_until_idle()


async def test_status_callbacks_are_not_repeated_for_an_error_answer_unless_the_url_says_so(
    twilio: Client, simulator: SimulatorClient, business: Business
) -> None:
    business.answers = lambda _: 500
    await create(twilio, status_callback=business.callback())
    await simulator.wait_until_idle()
    assert business.statuses() == ["sent", "delivered"]
    await create(twilio, status_callback=business.callback() + "#rc=2&rp=5xx")
    await simulator.wait_until_idle()
    assert business.statuses()[2:] == ["sent"] * 3 + ["delivered"] * 3
    assert all(hook.is_genuine for hook in business.hooks)


async def test_what_was_answered_survives_the_death_of_the_simulator_and_goes_on(
    tmp_path: Path, business: Business
) -> None:
    async with simulator_process(tmp_path, webhook_base=business.url) as (simulator, process):
        await simulator.add_contents([WELCOME])
        await simulator.behave(sent_after_ms=700)
        http = SimulatedTwilio(simulator.base_url)
        twilio = Client(simulator.settings.account_sid, simulator.settings.auth_token, http_client=http)
        sids = {await create(twilio, status_callback=business.callback()) for _ in range(20)}
        process.kill()
        await process.wait()
        await http.close()
    async with running_simulator(tmp_path, webhook_base=business.url) as again:
        assert await received(again) == 20
        assert len(await again.requests()) == 20
        await again.wait_until_idle()
    delivered = {hook.params["MessageSid"] for hook in business.hooks if hook.status == "delivered"}
    assert delivered == sids
