"""Twilio's webhooks at the running application: every sample, forged ones, strange ones, many at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import aiohttp
import httpx
import pytest

from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.leftovers import process_leftovers
from app.config import Settings
from app.integrity.runner import look
from app.messaging.gateways.base import Accepted
from app.messaging.gateways.twilio.forms import FormFields, parse_form
from app.messaging.gateways.twilio.signature import signature_for
from tests.factories.journeys import MONDAY, Lead, add_lead, found_organisation, send_due, start_due
from tests.fixtures.emptying import dump, empty
from tests.fixtures.site import Site, running_site

PAYLOADS = Path(__file__).parents[1] / "data" / "payloads"
INDEX: dict[str, Any] = json.loads((PAYLOADS / "index.json").read_text(encoding="utf-8"))
EXPECTED: dict[str, Any] = json.loads((PAYLOADS / "expected.json").read_text(encoding="utf-8"))
SAMPLES = {entry["file"]: entry for entry in INDEX["files"] if entry["file"] in EXPECTED}
INBOUND = [name for name in SAMPLES if name.startswith("tw_in_")]
STATUSES = [name for name in SAMPLES if name.startswith("tw_st_")]
OLD_TOKEN: str = INDEX["twilio_auth_token"]
NEW_TOKEN = "a token that takes the old one's place"
PUBLIC = "https://inbox.example.my"
ATTEMPT = "att_01JDZK8Q2M"
FORM = "application/x-www-form-urlencoded"
INBOUND_PATH = "/webhooks/twilio/inbound"
STATUS_PATH = "/webhooks/twilio/status"


@pytest.fixture(scope="module")
async def module_site(module_settings: Settings) -> AsyncIterator[Site]:
    """Run the application under its public address, in the middle of a change of tokens."""
    account = replace(
        module_settings,
        twilio_account_sid=INDEX["account_sid"],
        twilio_auth_tokens=(NEW_TOKEN, OLD_TOKEN),
    )
    async with running_site(account, public_base_url=PUBLIC) as site:
        yield site


@pytest.fixture
async def site(module_site: Site) -> AsyncIterator[Site]:
    """Give an organisation that writes from the samples' service; the invariants hold at the end."""
    await empty(module_site.database)
    await found_organisation(module_site.database)
    async with module_site.database.transaction() as uow:
        await uow.execute(
            "UPDATE senders SET address = '+60320000100', messaging_service_sid = :sid",
            {"sid": INDEX["messaging_service_sid"]},
        )
    yield module_site
    report = await look(module_site.database)
    assert report.violations == 0, [f for f in report.invariants if f.count]


# --- calling ------------------------------------------------------------------------------------------------


async def post(
    site: Site, path: str, body: bytes, *, content_type: str = FORM, **headers: str
) -> httpx.Response:
    """Send a body as it is; underscores in header names stand for hyphens."""
    own = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await site.browser().http.post(path, content=body, headers={"Content-Type": content_type, **own})
    await site.settle()
    return answer


def sign(path: str, body: bytes, *, content_type: str = FORM, token: str = OLD_TOKEN) -> str:
    """Sign as Twilio does."""
    fields = parse_form(raw_body=body, content_type=content_type)
    return signature_for(auth_token=token, url=f"{PUBLIC}{path}", fields=fields)


async def post_signed(site: Site, path: str, body: bytes, **more: str) -> httpx.Response:
    """Send a genuine form."""
    token = more.pop("token", OLD_TOKEN)
    kind = more.pop("content_type", FORM)
    signature = sign(path, body, content_type=kind, token=token)
    return await post(site, path, body, content_type=kind, X_Twilio_Signature=signature, **more)


async def post_sample(site: Site, name: str, body: bytes | None = None, **headers: str) -> httpx.Response:
    """Send a sample with its own signature, or with something changed."""
    url = urlsplit(SAMPLES[name]["url"])
    given = {key.replace("-", "_"): value for key, value in SAMPLES[name]["headers"].items()}
    path = f"{url.path}?{url.query}" if url.query else url.path
    return await post(site, path, body or (PAYLOADS / name).read_bytes(), **(given | headers))


async def rows(site: Site, sql: str, **values: Any) -> Sequence[Any]:
    """Read rows."""
    async with site.database.reading() as uow:
        return (await uow.execute(sql, values)).all()


async def row(site: Site, sql: str, **values: Any) -> Any:
    """Read the only row."""
    [found] = await rows(site, sql, **values)
    return found


# --- planting -----------------------------------------------------------------------------------------------


async def plant_lead(site: Site, phone: str) -> Lead:
    """Enrol a lead who has got the first message."""
    lead = await add_lead(site.database, phone=phone)
    await send_due(site.database, now=MONDAY)
    return lead


async def plant_send(site: Site, name: str) -> None:
    """Plant the send that a status sample reports on, in the state before it."""
    wanted = EXPECTED[name]
    await add_lead(site.database, phone=wanted["to"]["value"])
    await start_due(site.database, now=MONDAY)
    async with site.database.transaction() as uow:
        await uow.execute("SET LOCAL session_replication_role = replica")  # past the refusals of the ledger
        await uow.execute(
            "UPDATE ledger SET data = jsonb_set(data, '{attempt}', to_jsonb(CAST(:id AS text))) "
            "WHERE type = 'send_started'",
            {"id": ATTEMPT},
        )
        await uow.execute(
            "UPDATE send_attempts SET id = :id, channel = :channel",
            {"id": ATTEMPT, "channel": wanted["channel"]},
        )
        await uow.execute("UPDATE sends SET channel = :channel", {"channel": wanted["channel"]})
    accepted = CallOutcome(ATTEMPT, Accepted(wanted["message_sid"], "accepted"), "finish")
    await settle_outcomes(site.database, [accepted], now=MONDAY)
    if wanted["state_before"] != "accepted":
        async with site.database.transaction() as uow:
            await uow.execute("UPDATE sends SET status = :status", {"status": wanted["state_before"]})


async def plant_inbound(site: Site, name: str) -> None:
    """Plant the lead of an inbound sample, and send what comes before it."""
    wanted = EXPECTED[name]
    if wanted["from"]["kind"] == "phone":
        await plant_lead(site, wanted["from"]["value"])
    before = wanted.get("after") or wanted.get("redelivery_of")
    if before:
        assert (await post_sample(site, before)).status_code == 200


# --- every sample -------------------------------------------------------------------------------------------


def test_every_sample_is_tried() -> None:
    assert set(INBOUND) | set(STATUSES) == set(EXPECTED)
    assert len(INBOUND) >= 19 and len(STATUSES) >= 13


@pytest.mark.parametrize("name", [*INBOUND, *STATUSES])
async def test_each_sample_is_refused_with_one_byte_changed_and_leaves_no_trace(
    site: Site, name: str
) -> None:
    before = await dump(site.database)
    body = (PAYLOADS / name).read_bytes()
    at = body.index(b"Sid=") + 6
    changed = body[:at] + (b"0" if body[at : at + 1] != b"0" else b"1") + body[at + 1 :]
    signature = SAMPLES[name]["headers"]["X-Twilio-Signature"]
    other = ("A" if signature[0] != "A" else "B") + signature[1:]
    for answer in (
        await post_sample(site, name, body=changed),
        await post_sample(site, name, X_Twilio_Signature=other),
        await post_sample(site, name, X_Twilio_Signature=""),
    ):
        assert answer.status_code == 403
    assert await dump(site.database) == before


@pytest.mark.parametrize("name", INBOUND)
async def test_each_inbound_sample_has_its_effect_once(site: Site, name: str) -> None:
    await plant_inbound(site, name)
    before = await dump(site.database)
    answer = await post_sample(site, name)
    assert (answer.status_code, answer.text) == (200, "<Response/>")
    assert answer.headers["content-type"].startswith("text/xml")
    after = await dump(site.database)
    wanted = EXPECTED[name]
    if wanted["effect"] == "redelivery":
        assert after == before
        return
    await check_message(site, wanted)
    await check_effect(site, wanted)
    assert (await post_sample(site, name)).status_code == 200
    assert await dump(site.database) == after


async def check_message(site: Site, wanted: dict[str, Any]) -> None:
    """Check the bubble and the window."""
    bubble = await row(
        site,
        "SELECT m.* FROM messages m JOIN signals g ON g.id = m.signal_id WHERE g.external_id = :sid",
        sid=wanted["message_sid"],
    )
    assert (bubble.direction, bubble.channel, bubble.kind) == ("in", wanted["channel"], wanted["kind"])
    assert bubble.text == wanted["text"]
    assert [m["content_type"] for m in bubble.media] == wanted["media"]
    assert bubble.replied_to == wanted.get("replied_to")
    for detail in ("button_payload", "list_id", "forwarded", "location"):
        assert bubble.extra.get(detail) == wanted.get(detail), detail
    talk = await row(site, "SELECT * FROM conversations WHERE contact_id = :id", id=bubble.contact_id)
    assert (talk.whatsapp_inbound_at is not None) is wanted["opens_window"]
    if wanted.get("profile_name"):
        assert bubble.extra["profile_name"] == wanted["profile_name"]


async def check_effect(site: Site, wanted: dict[str, Any]) -> None:
    """Check journey, handoff, suppression and our own answer."""
    handoffs = await rows(site, "SELECT reason FROM handoffs WHERE status <> 'closed'")
    assert len(handoffs) == int(wanted["handoff"])
    journeys = await rows(site, "SELECT stage, automation FROM enrolments")
    if journeys:
        expected = {
            "human_reply": ("engaged", "paused"),
            "opt_out": ("opted_out", "completed"),
            "opt_in": ("opted_out", "completed"),
        }[wanted["effect"]]
        assert [tuple(j) for j in journeys] == [expected]
    else:
        assert wanted["from"]["kind"] == "bsuid"
    standing = await rows(site, "SELECT channel, reason FROM suppressions WHERE lifted_at IS NULL")
    assert [tuple(s) for s in standing] == ([("all", "stop_word")] if wanted["suppresses"] else [])
    if wanted["lifts"]:
        assert len(await rows(site, "SELECT 1 FROM suppressions WHERE lifted_at IS NOT NULL")) == 1
    answers = await rows(site, "SELECT content FROM sends WHERE kind = 'system'")
    assert len(answers) == int(wanted["we_confirm"])


@pytest.mark.parametrize("name", STATUSES)
async def test_each_status_sample_has_its_effect_once(site: Site, name: str) -> None:
    await plant_send(site, name)
    wanted = EXPECTED[name]
    [before] = await rows(site, "SELECT stage, step, next_run_at FROM enrolments")
    answer = await post_sample(site, name)
    assert (answer.status_code, answer.text) == (200, "")
    send = await row(site, "SELECT status, reason, attempts FROM sends")
    # what only failed for the moment waits for its next attempt
    assert (send.status, send.attempts) == (
        "queued" if wanted.get("tried_again") else wanted["state_after"],
        1,
    )
    journey = await row(site, "SELECT stage, step, next_run_at FROM enrolments")
    closed = [tuple(s) for s in await rows(site, "SELECT channel, reason FROM suppressions")]
    attempt = await row(site, "SELECT outcome, error_code, provider_message_id FROM send_attempts")
    assert attempt.provider_message_id == wanted["message_sid"]
    match wanted["effect"]:
        case "raise" | "none" | "recorded":
            assert (journey, closed) == (before, [])
        case "unreachable":
            assert (journey.stage, closed) == ("exited", [(wanted["channel"], "unreachable")])
        case "suppress":
            assert (journey.stage, closed) == ("opted_out", [(wanted["channel"], "provider_block")])
        case other:
            raise AssertionError(other)
    failed = wanted["verdict"] == "failed"
    assert attempt.outcome == ("failed" if failed else "accepted")
    assert attempt.error_code == (str(wanted["error_code"]) if failed else None)
    told = [e.type for e in await rows(site, "SELECT type FROM ledger ORDER BY id")]
    assert told.count("failed") == int(failed)
    after = await dump(site.database)
    assert (await post_sample(site, name)).status_code == 200
    assert await dump(site.database) == after


async def test_the_out_of_order_sequence_ends_read_with_every_report_kept(site: Site) -> None:
    await plant_send(site, INDEX["out_of_order_sequence"][0])
    for name in INDEX["out_of_order_sequence"]:
        assert (await post_sample(site, name)).status_code == 200
    assert (await row(site, "SELECT status FROM sends")).status == "read"
    kept = await rows(site, "SELECT outcome FROM signals WHERE kind = 'status' ORDER BY id")
    assert [k.outcome for k in kept] == ["read", "ignored:late", "ignored:late"]


async def test_the_service_a_sample_names_is_our_sender(site: Site) -> None:
    name = "tw_in_01_text.form"
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE senders SET address = '+60399999999'")
    await plant_inbound(site, name)
    await post_sample(site, name)
    talk = await row(site, "SELECT whatsapp_sender_id FROM conversations")
    service = await row(site, "SELECT id FROM senders WHERE messaging_service_sid IS NOT NULL")
    assert talk.whatsapp_sender_id == service.id


# --- forged, strange and broken calls -----------------------------------------------------------------------

HELLO = urlencode(
    {"MessageSid": "SM1", "From": "whatsapp:+60120000001", "To": "whatsapp:+60320000100", "Body": "Hello"}
).encode()


async def test_U01_the_public_address_alone_is_signed_whatever_proxies_or_strangers_claim(site: Site) -> None:
    for headers in (
        {"X_Forwarded_Proto": "http"},
        {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "evil.example.org"},
        {"Host": "evil.example.org"},
        {"Forwarded": "host=evil.example.org;proto=http", "X_Forwarded_Port": "81"},
    ):
        assert (await post_signed(site, INBOUND_PATH, HELLO, **headers)).status_code == 200
    for url in (f"{site.url}{INBOUND_PATH}", f"http://inbox.example.my{INBOUND_PATH}"):
        forged = signature_for(
            auth_token=OLD_TOKEN, url=url, fields=parse_form(raw_body=HELLO, content_type=FORM)
        )
        answer = await post(
            site,
            INBOUND_PATH,
            HELLO,
            X_Twilio_Signature=forged,
            X_Forwarded_Host=urlsplit(url).netloc,
            X_Forwarded_Proto="http",
        )
        assert answer.status_code == 403


async def test_U01_the_query_is_signed_too(site: Site) -> None:
    signature = sign(f"{STATUS_PATH}?attempt=att_1", b"MessageSid=SM1&MessageStatus=sent")
    for path, status in ((f"{STATUS_PATH}?attempt=att_1", 200), (f"{STATUS_PATH}?attempt=att_2", 403)):
        answer = await post(site, path, b"MessageSid=SM1&MessageStatus=sent", X_Twilio_Signature=signature)
        assert answer.status_code == status


@pytest.mark.parametrize(
    "extra",
    [
        b"&Twice=b&Twice=a",
        b"&Twice=a&Twice=a",
        b"&Blank=&AlsoBlank",
        b"&Plus=1+1&Coded=1%2B1",
        "&Nama=Sofía+陈".encode(),
        b"&Nama=%E9%99%88&%E9%99%88=x",
        b"&Broken=%ff%00",
    ],
)
async def test_U03_repeated_blank_and_foreign_fields_are_genuine(site: Site, extra: bytes) -> None:
    assert (await post_signed(site, INBOUND_PATH, HELLO + extra)).status_code == 200
    assert (await row(site, "SELECT text FROM messages")).text == "Hello"


@pytest.mark.parametrize("token", [NEW_TOKEN, OLD_TOKEN])
async def test_U05_both_tokens_are_good_while_one_takes_the_others_place(site: Site, token: str) -> None:
    assert (await post_signed(site, INBOUND_PATH, HELLO, token=token)).status_code == 200


async def test_U05_any_other_token_and_none_are_refused(site: Site) -> None:
    for token in ("a token of somebody else", ""):
        assert (await post_signed(site, INBOUND_PATH, HELLO, token=token)).status_code == 403


async def test_U07_an_empty_field_means_the_same_in_both_encodings(site: Site) -> None:
    fields = {"MessageSid": "SM1", "From": "whatsapp:+60120000001", "To": "whatsapp:+60320000100", "Body": ""}
    await post_signed(site, INBOUND_PATH, urlencode(fields).encode())
    request = httpx.Request(
        "POST", site.url, files={k: (None, v) for k, v in (fields | {"MessageSid": "SM2"}).items()}
    )
    answer = await post_signed(
        site, INBOUND_PATH, request.read(), content_type=request.headers["content-type"]
    )
    assert answer.status_code == 200
    one, two = await rows(site, "SELECT kind, text, media, extra FROM messages ORDER BY id")
    assert one == two and one.text == ""


@pytest.mark.parametrize("path", [INBOUND_PATH, STATUS_PATH])
async def test_other_methods_are_refused(site: Site, path: str) -> None:
    http = site.browser().http
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        assert (await http.request(method, path)).status_code == 405


@pytest.mark.parametrize("path", [INBOUND_PATH, STATUS_PATH])
async def test_bodies_that_are_no_form_or_too_large_are_refused_and_never_an_error(
    site: Site, path: str
) -> None:
    signature = {"X_Twilio_Signature": sign(path, HELLO)}
    before = await dump(site.database)
    assert (await post(site, path, b"x" * 300_000, **signature)).status_code == 413
    for content_type, body in (
        ("application/json", b'{"MessageSid": "SM1"}'),  # without bodySHA256: invalid, not an error
        ("application/json", b"not even json"),
        ("text/plain", HELLO),
        ("multipart/form-data", HELLO),
        ("multipart/form-data; boundary=x", b"--x\r\nbroken"),
        ("", b""),
        (FORM, b"&".join([b"a=b"] * 2000)),
        (FORM, b""),
    ):
        answer = await post(site, path, body, content_type=content_type, **signature)
        assert answer.status_code in (400, 403), (content_type, answer.status_code)
    assert await dump(site.database) == before


async def test_a_signed_json_body_is_genuine_but_no_form(site: Site) -> None:
    body = b'{"MessageSid": "SM1"}'
    path = f"{INBOUND_PATH}?bodySHA256=91c16ef4d7bbfc5a4d4b1cfa44ee6a90a0f6b5c1f6a6d8d1a3e5f0a1b2c3d4e5"
    signature = signature_for(auth_token=OLD_TOKEN, url=f"{PUBLIC}{path}", fields=FormFields(()))
    answer = await post(site, path, body, content_type="application/json", X_Twilio_Signature=signature)
    assert answer.status_code == 403  # the hash is of another body


async def test_a_genuine_call_that_is_no_message_is_kept_and_answered(site: Site) -> None:
    assert (await post_signed(site, INBOUND_PATH, b"Hello=World")).status_code == 200
    assert (
        await post_signed(site, STATUS_PATH, b"MessageSid=SM1&MessageStatus=teleported")
    ).status_code == 200
    kept = await rows(site, "SELECT kind, outcome FROM signals ORDER BY id")
    assert [(k.kind, k.outcome) for k in kept] == [
        ("unreadable", "ignored:no_message_id"),
        ("status", "parked"),
    ]


async def test_a_log_line_about_a_refused_call_tells_nothing_personal(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    await post(site, INBOUND_PATH, HELLO, X_Twilio_Signature="forged")
    said = capsys.readouterr()
    assert "webhook.refused" in said.out + said.err
    assert "60120000001" not in said.out + said.err


# --- many at once -------------------------------------------------------------------------------------------

LEADS = 40
AT_ONCE = 100


async def test_many_webhooks_at_once_lose_nothing_and_open_one_handoff_for_each_lead(site: Site) -> None:
    leads = [await add_lead(site.database, phone=f"+6012000{n:04d}") for n in range(LEADS)]
    calls = await start_due(site.database, now=MONDAY)
    assert len(calls) == LEADS
    phone_of = {lead.contact_id: lead.phone for lead in leads}
    posts: list[tuple[str, bytes]] = []
    for call in calls:  # none is accepted yet: the reports are the first word about them
        for status in ("sent", "delivered", "sent", "read"):
            fields = {"MessageSid": f"SM{call.send_id}", "MessageStatus": status}
            posts.append((f"{STATUS_PATH}?attempt={call.attempt_id}", urlencode(fields).encode()))
        for n in range(6):
            fields = {
                "MessageSid": f"SM{call.contact_id}x{n % 5}",  # the last one is a redelivery
                "From": f"whatsapp:{phone_of[call.contact_id]}",
                "To": "whatsapp:+60320000100",
                "Body": f"Question {n % 5}",
            }
            posts.append((INBOUND_PATH, urlencode(fields).encode()))
    gate = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(
        site.url
    ) as http:  # at this number httpx's pool costs more than the webhooks

        async def deliver(path: str, body: bytes) -> int:
            headers = {"Content-Type": FORM, "X-Twilio-Signature": sign(path, body)}
            async with gate, http.post(path, data=body, headers=headers) as answer:
                return answer.status

        answers = await asyncio.gather(*(deliver(path, body) for path, body in posts))
    assert set(answers) == {200}
    assert len(posts) == 10 * LEADS
    await site.settle()
    while await process_leftovers(site.database, most=len(posts)):
        pass  # what found no turn is the sweep's
    unprocessed = await rows(site, "SELECT id, outcome, problem FROM signals WHERE processed_at IS NULL")
    assert unprocessed == []
    assert await rows(site, "SELECT 1 FROM signals WHERE problem IS NOT NULL") == []
    per_lead = await rows(site, "SELECT contact_id, count(*) AS n FROM handoffs GROUP BY contact_id")
    assert [h.n for h in per_lead] == [1] * LEADS
    assert await site.count("SELECT count(*) FROM messages WHERE direction = 'in'") == 5 * LEADS
    states = await rows(site, "SELECT DISTINCT automation, step, lock_token FROM enrolments")
    assert [tuple(s) for s in states] == [("paused", "wait_2d", None)]
    assert [s.status for s in await rows(site, "SELECT DISTINCT status FROM sends")] == ["read"]
