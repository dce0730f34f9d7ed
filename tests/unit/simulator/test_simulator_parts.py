"""The simulator's pure parts: signature, templates, faults, counting, files."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from app.simulator.contents import Content, render
from app.simulator.faults import Delay, Duplicate, Error, FaultBook, FaultRule, Lose, RefuseBefore, Reorder
from app.simulator.media import CONTACT, DOCUMENT, IMAGE, STICKER, VOICE, file_of
from app.simulator.messages import Button, Message
from app.simulator.resources import message_resource
from app.simulator.signing import signature
from app.simulator.tallies import duplicates, tally
from app.simulator.webhooks import ConnectionOverrides

LEAD = "whatsapp:+60120000001"
MESSAGE = Message(
    sid="MM" + "1" * 32,
    direction="outbound-api",
    kind="template",
    status="queued",
    to=LEAD,
    sender="whatsapp:+60320000100",
    body="hi",
    created_ms=0,
    updated_ms=0,
    demo_ms=0,
    content_sid="HX1",
    status_callback="http://127.0.0.1/x?attempt=att_1",
)


def test_the_signature_is_the_published_one() -> None:
    params = {
        "CallSid": "CA1234567890ABCDE",
        "Digits": "1234",
        "From": "+14158675309",
        "To": "+18005551212",
        "Caller": "+14158675309",
    }
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    assert signature(auth_token="12345", url=url, params=params) == "RSOYDt4T1cUTdK1PDd93/VVr8B8="


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=12), max_size=6))
def test_twilios_own_validator_accepts_every_signature(params: dict[str, str]) -> None:
    url = "https://example.org/webhooks/twilio/status?attempt=att_1"
    signed = signature(auth_token="secret", url=url, params=params)
    assert RequestValidator("secret").validate(url, params, signed)


def test_a_variable_not_sent_falls_back_to_its_sample() -> None:
    content = Content(
        sid="HX1",
        body="Hi {{1}}, {{2}}, {{ 3 }}",
        variables={"2": "sample"},
        buttons=(Button(title="Go", kind="url", url="https://example.org/{{1}}"),),
    )
    body, buttons = render(content, {"1": "Aisyah"})
    assert body == "Hi Aisyah, sample, {{ 3 }}"
    assert buttons[0].url == "https://example.org/Aisyah"


def test_a_rule_is_spent_by_its_hits_only() -> None:
    book = FaultBook(seed=1)
    book.add(FaultRule(fault=RefuseBefore(), to="+60120000002", times=2))
    assert book.draw(to=LEAD, content_sid=None).request is None
    for _ in range(2):
        assert book.draw(to="whatsapp:+60120000002", content_sid=None).request == RefuseBefore()
    assert book.draw(to="whatsapp:+60120000002", content_sid=None).request is None
    assert book.rules() == ()


def test_one_request_fault_and_all_callback_faults_hit_together() -> None:
    book = FaultBook(seed=1)
    for fault in (
        Error(code=30007),
        RefuseBefore(),
        Lose(statuses=("sent",)),
        Duplicate(copies=3),
        Reorder(),
        Delay(ms=5),
    ):
        book.add(FaultRule(fault=fault, times=None))
    verdict = book.draw(to=LEAD, content_sid=None)
    assert verdict.request == Error(code=30007)
    script = verdict.script
    assert (script.lose, script.copies, script.reorder, script.delay_ms) == (("sent",), 3, True, 5)


def test_chance_can_be_repeated() -> None:
    def hits(seed: int) -> list[bool]:
        book = FaultBook(seed=seed)
        book.add(FaultRule(fault=RefuseBefore(), times=None, probability=0.5))
        return [book.draw(to=LEAD, content_sid=None).request is not None for _ in range(64)]

    assert hits(7) == hits(7) != hits(8)
    assert 16 < sum(hits(7)) < 48


def test_shuffling_two_changes_their_order() -> None:
    assert FaultBook(seed=0).shuffled([1, 2]) == [2, 1]
    assert FaultBook(seed=0).shuffled([1]) == [1]


def test_a_rule_reads_as_json_by_its_kind() -> None:
    rule = msgspec.json.decode(
        b'{"fault": {"kind": "late_failure", "code": 63049}, "times": null}', type=FaultRule
    )
    assert (rule.fault.__class__.__name__, rule.times) == ("LateFailure", None)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"fault": {"kind": "lose", "statusses": []}}', type=FaultRule)


def test_messages_are_counted_by_the_fields_asked_for() -> None:
    second = replace(MESSAGE, sid="MM2", status="failed")
    other = replace(MESSAGE, sid="MM3", to="whatsapp:+60120000002")
    inbound = replace(MESSAGE, sid="SM4", direction="inbound")
    messages = [MESSAGE, second, other, inbound]
    assert [(t.group["to"], t.accepted, t.failed) for t in tally(messages, by=["to"])] == [
        (LEAD, 2, 1),
        ("whatsapp:+60120000002", 1, 0),
    ]
    (double,) = duplicates(messages, by=["to", "content_sid"])
    assert double.sids == (MESSAGE.sid, "MM2")
    assert tally(messages, by=["attempt"])[0].group == {"attempt": "att_1"}


def test_a_message_survives_the_store_as_it_is() -> None:
    assert msgspec.json.decode(msgspec.json.encode(MESSAGE), type=Message) == MESSAGE


@pytest.mark.parametrize(
    ("to", "body", "segments"),
    [
        ("+60120000001", "a" * 160, "1"),
        ("+60120000001", "a" * 161, "2"),
        ("+60120000001", "你" * 70, "1"),
        ("+60120000001", "你" * 71, "2"),
        (LEAD, "a" * 1600, "1"),
    ],
)
def test_segments_are_those_of_the_channel(to: str, body: str, segments: str) -> None:
    message = replace(MESSAGE, to=to, body=body)
    assert message_resource(message, account_sid="AC1")["num_segments"] == segments


def test_connection_settings_come_from_the_fragment_within_their_limits() -> None:
    assert ConnectionOverrides.of("") == ConnectionOverrides()
    set_up = ConnectionOverrides.of("rc=9&rp=ct,5xx&ct=1&rt=x")
    assert (set_up.retries, set_up.connect_ms, set_up.read_ms) == (5, 100, 15000)
    assert set_up.retries_after("5xx")
    assert not set_up.retries_after("rt")
    assert ConnectionOverrides.of("rp=all").retries_after("4xx")


def test_phones_files_are_small_and_of_their_kind() -> None:
    starts = {
        IMAGE: b"\xff\xd8",
        VOICE: b"OggS",
        DOCUMENT: b"%PDF",
        STICKER: b"RIFF",
        CONTACT: b"BEGIN:VCARD",
    }
    for content_type, start in starts.items():
        data = file_of(content_type, name="Aisyah")
        assert data.startswith(start)
        assert len(data) < 1024


def test_the_resource_is_json() -> None:
    assert json.loads(json.dumps(message_resource(MESSAGE, account_sid="AC1")))["sid"] == MESSAGE.sid
