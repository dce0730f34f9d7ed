import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.messaging.domain.inbound import InboundKind, InboundMessage, Unprocessable, UnprocessableReason
from app.messaging.domain.opt_out import classify
from app.messaging.domain.statuses import StatusEvent, apply_rank
from app.messaging.gateways.twilio.errors import rule_for
from app.messaging.gateways.twilio.forms import FormFields, parse_form
from app.messaging.gateways.twilio.webhooks import parse_inbound, parse_status

FORM = "application/x-www-form-urlencoded"
PAYLOADS = Path(__file__).parents[2] / "data" / "payloads"
EXPECTED: dict[str, dict[str, Any]] = json.loads((PAYLOADS / "expected.json").read_text(encoding="utf-8"))
URLS = {
    e["file"]: e.get("url", "") for e in json.loads((PAYLOADS / "index.json").read_text("utf-8"))["files"]
}
INBOUND = [name for name in EXPECTED if name.startswith("tw_in_")]
STATUSES = [name for name in EXPECTED if name.startswith("tw_st_")]


def fields_of(name: str) -> FormFields:
    return parse_form(raw_body=(PAYLOADS / name).read_bytes(), content_type=FORM)


def fields(**values: str) -> FormFields:
    known = {"MessageSid": "SM1", "From": "whatsapp:+60120000001", "To": "whatsapp:+60320000100"}
    return parse_form(raw_body=urlencode(known | values).encode(), content_type=FORM)


def inbound(**values: str) -> InboundMessage:
    message = parse_inbound(fields(**values))
    assert isinstance(message, InboundMessage)
    return message


def test_every_webhook_sample_has_an_expected_effect() -> None:
    assert set(EXPECTED) == {path.name for path in PAYLOADS.glob("tw_*.form")}
    assert all(entry["effect"] and entry["words"] for entry in EXPECTED.values())


@pytest.mark.parametrize("name", INBOUND)
def test_each_inbound_sample_is_read_as_written_down(name: str) -> None:
    wanted = EXPECTED[name]
    message = parse_inbound(fields_of(name))
    assert isinstance(message, InboundMessage)
    assert message.provider_message_id == wanted["message_sid"]
    sender = message.from_address
    assert {"channel": sender.channel, "kind": sender.kind, "value": sender.value} == wanted["from"]
    assert message.to_address.wire == wanted["to"]
    assert (message.kind, message.text) == (wanted["kind"], wanted["text"])
    assert [media.content_type for media in message.media] == wanted["media"]
    assert message.button_payload == wanted.get("button_payload")
    assert message.list_id == wanted.get("list_id")
    assert message.replied_to_id == wanted.get("replied_to")
    assert message.forwarded == wanted.get("forwarded", False)
    assert message.profile_name == wanted.get("profile_name", message.profile_name)
    found = message.location
    assert (found and [found.latitude, found.longitude, found.label, found.address]) == (
        list(wanted["location"].values()) if "location" in wanted else None
    )
    verdict = classify(message.text, opt_out_type=message.opt_out_type)
    assert (verdict.verdict, verdict.rule) == (wanted["opt_out"], wanted["opt_out_rule"])
    assert verdict.provider_replied == wanted["provider_replied"]


@pytest.mark.parametrize("name", STATUSES)
def test_each_status_sample_is_read_as_written_down(name: str) -> None:
    wanted = EXPECTED[name]
    event = parse_status(fields_of(name), raw_query=urlsplit(URLS[name]).query)
    assert isinstance(event, StatusEvent)
    assert (event.provider_message_id, event.attempt_id) == (wanted["message_sid"], wanted["attempt"])
    assert (event.status, event.rank, event.error_code) == (
        wanted["status"],
        wanted["rank"],
        wanted["error_code"],
    )
    assert event.to_address is not None
    assert event.to_address.value == wanted["to"]["value"]
    decision = apply_rank(current=wanted["state_before"], new=event.status)
    assert (decision.verdict, decision.status) == (wanted["verdict"], wanted["state_after"])
    if event.error_code is not None:
        rule = rule_for(event.error_code)
        assert (rule.disposition, rule.permanent) == (wanted["disposition"], wanted["permanent"])
        if "min_delay_seconds" in wanted:
            assert rule.delay is not None
            assert (rule.delay.total_seconds(), rule.max_tries) == (
                wanted["min_delay_seconds"],
                wanted["max_tries"],
            )


def test_a_redelivery_reads_exactly_like_the_first() -> None:
    assert parse_inbound(fields_of("tw_in_02_text_redelivery.form")) == parse_inbound(
        fields_of("tw_in_01_text.form")
    )


def test_a_person_without_a_number_keeps_the_user_id_in_both_places() -> None:
    message = parse_inbound(fields_of("tw_in_21_bsuid_only.form"))
    assert isinstance(message, InboundMessage)
    assert message.external_user_id == message.from_address


def test_V01_nul_surrogates_and_invalid_utf8_are_cleaned_noted_and_not_lost() -> None:
    body = b"MessageSid=SM1&From=whatsapp%3A%2B60120000001&To=whatsapp%3A%2B60320000100"
    body += b"&Body=Hi%00there%FF&ProfileName=%00&Label=%ED%A0%BD"
    message = parse_inbound(parse_form(raw_body=body, content_type=FORM))
    assert isinstance(message, InboundMessage)
    assert message.text == "Hithere\ufffd"
    assert message.profile_name == ""
    assert {"nul_removed:Body", "invalid_utf8:Body", "nul_removed:ProfileName"} <= set(message.notes)
    stored = json.dumps(message.raw, ensure_ascii=False)
    assert "\x00" not in stored
    stored.encode("utf-8")


@pytest.mark.parametrize("kind", ["reaction", "order", "interactive", "brand_new", "SYSTEM"])
def test_an_unknown_message_type_is_kept_as_unsupported(kind: str) -> None:
    message = inbound(MessageType=kind, Body="👍", NewField="x")
    assert (message.kind, message.text, message.raw["NewField"]) == (InboundKind.UNSUPPORTED, "👍", "x")


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("image/jpeg", InboundKind.IMAGE),
        ("audio/ogg; codecs=opus", InboundKind.AUDIO),
        ("video/mp4", InboundKind.VIDEO),
        ("text/x-vcard", InboundKind.CONTACT_CARD),
        ("application/pdf", InboundKind.DOCUMENT),
        ("", InboundKind.DOCUMENT),
    ],
)
def test_a_message_without_a_type_is_known_by_its_media(content_type: str, kind: InboundKind) -> None:
    message = inbound(NumMedia="1", MediaUrl0="https://api.twilio.com/m/1", MediaContentType0=content_type)
    assert message.kind is kind


def test_media_are_found_even_when_their_number_is_wrong_and_at_most_ten() -> None:
    urls = {f"MediaUrl{n}": f"https://api.twilio.com/m/{n}" for n in range(12)}
    assert len(inbound(NumMedia="many", **urls).media) == 10


@pytest.mark.parametrize(("latitude", "longitude"), [("x", "1"), ("nan", "1"), ("91", "0"), ("", "")])
def test_an_impossible_place_is_kept_raw_only(latitude: str, longitude: str) -> None:
    message = inbound(MessageType="location", Latitude=latitude, Longitude=longitude)
    assert (message.kind, message.location) == (InboundKind.LOCATION, None)
    assert message.raw["Latitude"] == latitude


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"MessageSid": ""}, UnprocessableReason.NO_MESSAGE_ID),
        ({"From": ""}, UnprocessableReason.NO_SENDER),
        ({"From": "messenger:12"}, UnprocessableReason.UNKNOWN_SENDER),
        ({"To": " "}, UnprocessableReason.NO_RECIPIENT),
        ({"To": "?"}, UnprocessableReason.UNKNOWN_RECIPIENT),
    ],
)
def test_what_cannot_become_a_message_is_a_value_to_store(
    values: dict[str, str], reason: UnprocessableReason
) -> None:
    found = parse_inbound(fields(**values, Body="kept"))
    assert isinstance(found, Unprocessable)
    assert found.reason is reason
    assert found.raw["Body"] == "kept"


def test_an_unknown_status_is_kept_without_a_rank_and_an_empty_one_is_unprocessable() -> None:
    event = parse_status(fields(MessageStatus="Teleported"), raw_query="")
    assert isinstance(event, StatusEvent)
    assert (event.status, event.rank, event.attempt_id) == ("teleported", None, None)
    assert isinstance(parse_status(fields(), raw_query="attempt=a"), Unprocessable)


@pytest.mark.parametrize("code", ["", "0", "x", "-1", "9" * 30, "²"])
def test_an_unreadable_error_code_is_none(code: str) -> None:
    event = parse_status(
        fields(MessageStatus="failed", ErrorCode=code), raw_query=b"attempt=%FF%00a&attempt=b"
    )
    assert isinstance(event, StatusEvent)
    assert event.error_code is None
    assert event.attempt_id == "\ufffda"


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_no_body_makes_reading_fail(body: bytes, query: bytes) -> None:
    read = parse_form(raw_body=body, content_type=FORM)
    parse_inbound(read)
    parse_status(read, raw_query=query)
    known = FormFields((*fields().pairs, *read.pairs))
    assert isinstance(parse_inbound(known), InboundMessage)


def test_V07_a_profile_name_comes_in_as_it_can_be_shown() -> None:
    message = inbound(ProfileName="Ali\u202egnp.exe\n" + "w" * 10_000)
    assert message.profile_name.startswith("Alignp.exe w")
    assert len(message.profile_name) <= 200
    assert {"name_cleaned:ProfileName", "name_cut:ProfileName"} <= set(message.notes)
