import asyncio
import base64
import json
import logging
import socket
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.messaging.domain.statuses import StatusEvent
from app.messaging.gateways.base import (
    Accepted,
    CannotTell,
    Disposition,
    Found,
    Gateway,
    Listing,
    NoSuchMessage,
    NotFound,
    NotSent,
    OutMessage,
    Rejected,
    SendResult,
    SentQuery,
    TemplateContent,
    Unknown,
    parse_address,
)
from app.messaging.gateways.twilio.gateway import TwilioGateway
from app.messaging.gateways.twilio.settings import TwilioSettings
from tests.integration.messaging.twilio_stub import (
    ACCOUNT,
    MESSAGES,
    Answer,
    Stub,
    page,
    resource,
    running_stub,
)

PAYLOADS = Path(__file__).parents[2] / "data" / "payloads"
SERVICE = "MG11aa22bb33cc44dd55ee66ff77008899"
SENDER = "whatsapp:+60320000100"
CREATED = datetime(2026, 11, 29, 2, 40, 10, tzinfo=UTC)


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with running_stub() as running:
        yield running


@pytest.fixture
async def gateway(stub: Stub) -> AsyncIterator[TwilioGateway]:
    opened = gateway_to(stub.base_url)
    yield opened
    await opened.aclose()


def gateway_to(base_url: str | None, **changes: Any) -> TwilioGateway:
    known: dict[str, Any] = {
        "account_sid": ACCOUNT,
        "auth_token": "token",
        "public_base_url": "https://inbox.example.my/",
        "base_url": base_url,
        "max_pages": 3,
    }
    return TwilioGateway(TwilioSettings(**(known | changes)))


def message(**changes: Any) -> OutMessage:
    to = parse_address("whatsapp:+60120000001")
    assert to is not None
    known: dict[str, Any] = {"attempt_id": "att_1", "to": to, "sender": SENDER, "body": "Hello"}
    return OutMessage(**(known | changes))


def query(**changes: Any) -> SentQuery:
    to = parse_address("whatsapp:+60120000001")
    assert to is not None
    known: dict[str, Any] = {
        "attempt_id": "att_1",
        "to": to,
        "created_from": CREATED - timedelta(minutes=1),
        "created_to": CREATED + timedelta(minutes=5),
        "body": "Hello",
    }
    return SentQuery(**(known | changes))


def sample(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((PAYLOADS / name).read_text(encoding="utf-8"))
    return loaded


async def test_a_free_message_carries_the_attempt_and_everything_else_the_api_needs(
    stub: Stub, gateway: Gateway
) -> None:
    stub.answers = [Answer(201, sample("tw_api_01_create_201_queued.json"))]
    result = await gateway.send(message(validity_seconds=50_000, attempt_id="att 1&2"), deadline=5)
    assert result == Accepted("SM8a8bb7cd343aa2ad99b7d762030857a2", "queued")
    assert stub.created == [
        {
            "To": "whatsapp:+60120000001",
            "From": SENDER,
            "Body": "Hello",
            "StatusCallback": "https://inbox.example.my/webhooks/twilio/status?attempt=att%201%262",
            "ValidityPeriod": "36000",
        }
    ]
    assert stub.authorisations == {"Basic " + base64.b64encode(f"{ACCOUNT}:token".encode()).decode()}


async def test_a_template_goes_out_with_all_its_variables_and_without_a_body(
    stub: Stub, gateway: Gateway
) -> None:
    stub.answers = [Answer(201, sample("tw_api_02_create_201_accepted_service.json"))]
    template = TemplateContent("HX" + "a" * 32, {"1": '陈 "W"', "2": "3 petang"})
    sent = message(body=None, sender=None, messaging_service_sid=SERVICE, template=template)
    result = await gateway.send(sent, deadline=5)
    assert result == Accepted("SM693a9fdd4c2fd0700968fba0d07ff3c0", "accepted")
    form = stub.created[0]
    assert "Body" not in form
    assert "From" not in form
    assert form["MessagingServiceSid"] == SERVICE
    assert json.loads(form["ContentVariables"]) == {"1": '陈 "W"', "2": "3 petang"}


async def test_a_sender_and_a_user_id_get_the_channels_prefix(stub: Stub, gateway: Gateway) -> None:
    to = parse_address("whatsapp:MY.abc123")
    await gateway.send(message(to=to, sender="+60320000100"), deadline=5)
    assert (stub.created[0]["To"], stub.created[0]["From"]) == ("whatsapp:MY.abc123", SENDER)


async def test_an_api_key_logs_in_where_there_is_one(stub: Stub) -> None:
    keyed = gateway_to(stub.base_url, api_key_sid="SK1", api_key_secret="secret")
    await keyed.send(message(), deadline=5)
    await keyed.aclose()
    assert stub.authorisations == {"Basic " + base64.b64encode(b"SK1:secret").decode()}


API_SAMPLES = [
    ("tw_api_03_error_400_21211.json", (21211, Disposition.MARK_BAD_ADDRESS)),
    ("tw_api_04_error_400_21610.json", (21610, Disposition.SUPPRESS)),
    ("tw_api_05_error_429_20429.json", NotSent("rate_limited", 7.0)),
    ("tw_api_06_error_401_20003.json", (20003, Disposition.CREDS)),
    ("tw_api_07_error_503_20503.json", Unknown("http_503")),
    ("tw_api_08_error_400_21656.json", (21656, Disposition.REVIEW)),
]


@pytest.mark.parametrize(("name", "expected"), API_SAMPLES)
async def test_each_error_sample_has_its_outcome_and_is_never_repeated(
    stub: Stub, gateway: Gateway, name: str, expected: SendResult | tuple[int, Disposition]
) -> None:
    body = sample(name)
    stub.answers = [Answer(body["status"], body, headers={"Retry-After": "7"})]
    result = await gateway.send(message(), deadline=5)
    if isinstance(expected, tuple):
        assert isinstance(result, Rejected)
        assert (result.code, result.disposition) == expected
        assert body["message"] in result.message
    else:
        assert result == expected
    assert len(stub.created) == 1


HTML = "<html><body>Bad gateway</body></html>"
PROBLEM = {"type": "https://t", "title": "Bad", "status": 400, "code": 21211, "detail": "no"}
FOREIGN_ANSWERS = [
    (Answer(502, HTML, content_type="text/html"), Unknown("http_502")),
    (Answer(500, {"code": 21211, "message": "x"}), Unknown("http_500")),
    (Answer(400, HTML, content_type="text/html"), Unknown("http_400_without_code")),
    (Answer(404, {"message": "no code"}), Unknown("http_404_without_code")),
    (Answer(408, HTML), Unknown("http_408_without_code")),
    (Answer(409, "[1]"), Unknown("http_409_without_code")),
    (Answer(401, HTML), Rejected(None, "HTTP 401", Disposition.CREDS)),
    (Answer(403, ""), Rejected(None, "HTTP 403", Disposition.CREDS)),
    (Answer(407, HTML), NotSent("proxy_login")),
    (Answer(429, HTML), NotSent("rate_limited")),
    (Answer(429, {"code": 63018, "message": "x"}, {"Retry-After": "soon"}), NotSent("rate_limited")),
    (Answer(429, "", {"Retry-After": "1e9"}), NotSent("rate_limited", 3600.0)),
    (Answer(400, {"code": 20500, "message": "x"}), Unknown("code_20500")),
    (Answer(400, {"code": "x", "message": "x"}), Unknown("http_400_without_code")),
    (
        Answer(400, PROBLEM, content_type="application/problem+json"),
        Rejected(21211, "no", Disposition.MARK_BAD_ADDRESS),
    ),
    (Answer(307, "", {"Location": "/elsewhere"}), Unknown("http_307")),
    (Answer(201, "{broken"), Unknown("unreadable_answer:201")),
    (Answer(201, "[]"), Unknown("unreadable_answer:201")),
    (Answer(201, ""), Unknown("answer_without_id")),
    (Answer(200, {"status": "queued"}), Unknown("answer_without_id")),
    (Answer(201, HTML, content_type="text/html"), Unknown("unreadable_answer:201")),
]


@pytest.mark.parametrize(("answer", "expected"), FOREIGN_ANSWERS)
async def test_only_evidence_makes_an_outcome_certain(
    stub: Stub, gateway: Gateway, answer: Answer, expected: SendResult
) -> None:
    stub.answers = [answer]
    assert await gateway.send(message(), deadline=5) == expected
    assert len(stub.created) == 1


async def test_A03_a_connection_that_closes_after_the_request_is_unknown_and_not_repeated(
    stub: Stub, gateway: Gateway
) -> None:
    await gateway.send(message(), deadline=5)  # so that the next one goes over a kept connection
    stub.answers = [Answer(drop=True)]
    result = await gateway.send(message(), deadline=5)
    assert isinstance(result, Unknown)
    assert result.reason.startswith("connection_lost")
    assert len(stub.created) == 2


async def test_A09_an_answer_after_our_deadline_is_unknown_and_not_repeated(
    stub: Stub, gateway: Gateway
) -> None:
    stub.answers = [Answer(201, resource(), delay=0.6)]
    begun = time.perf_counter()
    assert await gateway.send(message(), deadline=0.2) == Unknown("timeout")
    assert time.perf_counter() - begun < 0.5
    assert len(stub.created) == 1


async def test_a_refused_connection_is_certainly_not_sent() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        nowhere = gateway_to(f"http://127.0.0.1:{held.getsockname()[1]}")
        assert await nowhere.send(message(), deadline=2) == NotSent("no_connection")
        assert await nowhere.find_sent(query(), deadline=2) == CannotTell("no_answer:ClientConnectorError")
        await nowhere.aclose()


async def test_a_wait_for_a_free_connection_that_is_too_long_is_certainly_not_sent(stub: Stub) -> None:
    narrow = gateway_to(stub.base_url, max_connections=1, connect_seconds=0.1)
    stub.answers = [Answer(201, resource(), delay=0.4)]
    first = asyncio.create_task(narrow.send(message(), deadline=5))
    await asyncio.sleep(0.05)
    assert await narrow.send(message(), deadline=5) == NotSent("connect_timeout")
    assert isinstance(await first, Accepted)
    assert len(stub.created) == 1
    await narrow.aclose()


async def test_a_closed_gateway_and_an_expired_message_send_nothing(
    stub: Stub, gateway: TwilioGateway
) -> None:
    assert await gateway.send(message(validity_seconds=0), deadline=5) == NotSent("expired")
    await gateway.send(message(), deadline=5)
    await gateway.aclose()
    assert await gateway.send(message(), deadline=5) == NotSent("gateway_closed")
    assert len(stub.created) == 1


async def test_a_text_that_cannot_be_encoded_is_a_value_not_an_exception(
    stub: Stub, gateway: Gateway
) -> None:
    result = await gateway.send(message(body="a\ud83d"), deadline=5)
    assert result == Rejected(None, "not_started:UnicodeEncodeError", Disposition.REVIEW)
    assert stub.created == []


async def test_cancelling_a_send_cancels_it(stub: Stub, gateway: Gateway) -> None:
    stub.answers = [Answer(201, resource(), delay=0.5)]
    sending = asyncio.create_task(gateway.send(message(), deadline=5))
    await asyncio.sleep(0.1)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending


async def test_the_sample_list_finds_the_lost_send(stub: Stub, gateway: Gateway) -> None:
    stub.answers = [Answer(200, sample("tw_api_09_list_find_sent.json"))]
    wanted = query(
        body="Salam Aisyah, temujanji anda disahkan.", sender="+60320000100", messaging_service_sid=SERVICE
    )
    found = await gateway.find_sent(wanted, deadline=5)
    assert found == Found(
        "SM693a9fdd4c2fd0700968fba0d07ff3c0", "sent", "Salam Aisyah, temujanji anda disahkan.", CREATED
    )
    assert stub.listed == [{"To": "whatsapp:+60120000001", "PageSize": "200"}]


MISSES = [
    {"direction": "inbound"},
    {"direction": "outbound-reply"},
    {"date_created": "Sun, 29 Nov 2026 02:30:00 +0000"},
    {"date_created": "Sun, 29 Nov 2026 02:45:10 +0000"},
    {"from": "whatsapp:+60320000999"},
    {"messaging_service_sid": "MG" + "0" * 32},
    {"sid": "SMknown"},
    {"to": "+60120000001"},
]


@pytest.mark.parametrize("changes", MISSES)
async def test_a_message_that_is_not_ours_is_no_match(
    stub: Stub, gateway: Gateway, changes: dict[str, Any]
) -> None:
    stub.answers = [Answer(200, page([resource(**changes)]))]
    wanted = query(sender=SENDER, messaging_service_sid=SERVICE, known_provider_ids=frozenset({"SMknown"}))
    assert await gateway.find_sent(wanted, deadline=5) == NotFound(complete=True)


async def test_a_queued_message_without_sender_is_found(stub: Stub, gateway: Gateway) -> None:
    stub.answers = [Answer(200, page([resource(**{"from": None, "status": "accepted"})]))]
    assert isinstance(await gateway.find_sent(query(sender=SENDER), deadline=5), Found)


async def test_two_fitting_messages_or_one_with_another_text_cannot_be_told(
    stub: Stub, gateway: Gateway
) -> None:
    stub.answers = [
        Answer(200, page([resource(), resource(sid="SM2")])),
        Answer(200, page([resource(body="Other")])),
    ]
    assert await gateway.find_sent(query(), deadline=5) == CannotTell("several_fit")
    assert await gateway.find_sent(query(), deadline=5) == CannotTell("unexplained_message")


async def test_a_message_without_a_readable_time_cannot_be_told(stub: Stub, gateway: Gateway) -> None:
    stub.answers = [Answer(200, page([resource(date_created="yesterday")]))]
    assert await gateway.find_sent(query(), deadline=5) == CannotTell("unexplained_message")


async def test_pages_are_followed_to_the_bound_through_the_changed_address(
    stub: Stub, gateway: Gateway
) -> None:
    more = page([resource(direction="inbound")], next_uri=f"{MESSAGES}.json?Page=1&PageToken=x")
    stub.answers = [Answer(200, more), Answer(200, page([resource()]))]
    assert isinstance(await gateway.find_sent(query(), deadline=5), Found)
    assert stub.listed[1] == {"Page": "1", "PageToken": "x"}
    stub.answers = [Answer(200, more) for _ in range(5)]
    assert await gateway.find_sent(query(), deadline=5) == NotFound(complete=False)
    assert len(stub.listed) == 2 + 3


LOOK_UP_FAULTS = [
    (Answer(503, {"code": 20503, "message": "x"}), "http_503"),
    (Answer(429, ""), "http_429"),
    (Answer(200, "{broken"), "unreadable_answer:JSONDecodeError"),
    (Answer(200, {"messages": [{"status": "sent"}]}), "unreadable_answer:ValueError"),
    (Answer(200, page([]), delay=0.4), "timeout"),
]


@pytest.mark.parametrize(("answer", "reason"), LOOK_UP_FAULTS)
async def test_a_look_up_that_fails_tells_nothing(
    stub: Stub, gateway: Gateway, answer: Answer, reason: str
) -> None:
    stub.answers = [answer]
    assert await gateway.find_sent(query(), deadline=0.2) == CannotTell(reason)


async def test_the_deadline_holds_for_all_pages_together(stub: Stub, gateway: Gateway) -> None:
    slow = page([], next_uri=f"{MESSAGES}.json?Page=1")
    stub.answers = [Answer(200, slow, delay=0.15) for _ in range(3)]
    assert await gateway.find_sent(query(), deadline=0.2) == CannotTell("timeout")


async def test_a_status_is_fetched_and_a_missing_message_is_said_to_be_missing(
    stub: Stub, gateway: Gateway
) -> None:
    stub.answers = [
        Answer(200, resource(status="undelivered", error_code=63024)),
        Answer(404, {"code": 20404, "message": "not found", "status": 404}),
        Answer(503, ""),
    ]
    event = await gateway.fetch_status("SM1", deadline=5)
    assert isinstance(event, StatusEvent)
    assert (event.provider_message_id, event.status, event.error_code) == ("SM1", "undelivered", 63024)
    assert await gateway.fetch_status("SM1", deadline=5) == NoSuchMessage()
    assert await gateway.fetch_status("SM1", deadline=5) == CannotTell("http_503")


async def test_both_directions_are_listed_for_a_period(stub: Stub, gateway: Gateway) -> None:
    stub.answers = [Answer(200, page([resource(), resource(sid="SM2", direction="inbound")]))]
    listing = await gateway.list_messages(
        created_from=CREATED, created_to=CREATED + timedelta(hours=1), deadline=5
    )
    assert isinstance(listing, Listing)
    assert [m.is_inbound for m in listing.messages] == [False, True]
    assert stub.listed[0]["DateSent>"] == "2026-11-29T02:40:10Z"


@pytest.mark.parametrize(
    "base_url",
    [
        "http://10.0.0.1:8000",
        "https://api.twilio.com",
        "http://127.0.0.1.evil.example",
        "http://u@127.0.0.1:1",
    ]
    + ["http://127.0.0.1:x", "ftp://127.0.0.1", "http://127.0.0.1/path", "127.0.0.1:80", ""],
)
def test_only_a_loopback_address_may_stand_in_for_twilio(base_url: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        gateway_to(base_url)


@pytest.mark.parametrize(
    "url",
    [
        "http://api.twilio.com/x",
        "https://twilio.com.evil.example/",
        "https://eviltwilio.com/",
        "https://a@api.twilio.com/",
    ],
)
async def test_without_a_stand_in_only_twilios_own_hosts_are_called(url: str) -> None:
    real = gateway_to(None)
    real._client.api.base_url = url
    assert await real.send(message(), deadline=1) == NotSent("refused_host")
    assert await real.find_sent(query(), deadline=1) == CannotTell("no_answer:RefusedHostError")


async def test_nothing_about_a_recipient_is_logged(
    stub: Stub, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await gateway.send(message(), deadline=5)
        stub.answers = [Answer(200, page([]))]
        await gateway.find_sent(query(), deadline=5)
    assert "60120000001" not in caplog.text
    assert "Hello" not in caplog.text


async def test_many_sends_share_a_bounded_number_of_connections(stub: Stub) -> None:
    shared = gateway_to(stub.base_url, max_connections=8)
    results = await asyncio.gather(
        *(shared.send(message(attempt_id=f"a{n}"), deadline=5) for n in range(100))
    )
    await shared.aclose()
    assert all(isinstance(result, Accepted) for result in results)
    assert len({form["StatusCallback"] for form in stub.created}) == 100
    assert len(stub.connections) <= 8


@pytest.mark.parametrize(
    "changes",
    [{"body": None}, {"body": " "}, {"template": TemplateContent("HX1")}, {"sender": None}]
    + [{"messaging_service_sid": "MGM Resorts"}],
)
def test_E13_an_impossible_message_cannot_be_made(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"message|body|service"):
        message(**changes)
