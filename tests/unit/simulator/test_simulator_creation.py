"""Each wrong create request has the provider's own error code."""

from __future__ import annotations

import pytest

from app.simulator.creation import Form, read_create_request
from app.simulator.refusals import Refusal

GOOD = {"To": "whatsapp:+60120000001", "From": "whatsapp:+60320000100", "Body": "hi"}
SERVICE = "MG" + "1" * 32
CONTENT = "HX" + "a" * 32
NOW_MS = 1_796_000_000_000  # 30 November 2026


def read(**changes: str | None) -> object:
    fields = {**GOOD, **changes}
    form = Form([(name, value) for name, value in fields.items() if value is not None])
    return read_create_request(form, now_ms=NOW_MS)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        (21604, {"To": None}),
        (21604, {"To": ""}),
        (21211, {"To": "whatsapp:+6012"}),
        (21211, {"To": "MY.1171382917453"}),
        (21603, {"From": None}),
        (21701, {"From": None, "MessagingServiceSid": "MG1"}),
        (21910, {"From": "+60320000100"}),
        (63007, {"From": "whatsapp:sales"}),
        (63031, {"From": GOOD["To"]}),
        (21266, {"To": "+60120000001", "From": "+60120000001"}),
        (21212, {"To": "+60120000001", "From": "not a sender at all"}),
        (21619, {"Body": None}),
        (21617, {"Body": "x" * 1601}),
        (21620, {"MediaUrl": "file:///etc/hosts"}),
        (21654, {"ContentVariables": "{}"}),
        (21655, {"ContentSid": "HX1"}),
        (21656, {"ContentSid": CONTENT, "ContentVariables": "{"}),
        (21656, {"ContentSid": CONTENT, "ContentVariables": "[1]"}),
        (21656, {"ContentSid": CONTENT, "ContentVariables": '{"1": 2}'}),
        (21656, {"ContentSid": CONTENT, "ContentVariables": ""}),
        (21609, {"StatusCallback": "not a url"}),
        (21609, {"StatusCallback": "https://my_host.example.org/x"}),
        (35118, {"ScheduleType": "fixed", "SendAt": "2026-11-30T12:00:00Z"}),
        (35111, {"MessagingServiceSid": SERVICE, "ScheduleType": "fixed"}),
        (35114, {"MessagingServiceSid": SERVICE, "ScheduleType": "fixed", "SendAt": "2026-11-29T12:00:00Z"}),
        (35115, {"MessagingServiceSid": SERVICE, "ScheduleType": "fixed", "SendAt": "soon"}),
    ],
)
def test_the_first_thing_wrong_has_its_code(code: int, changes: dict[str, str | None]) -> None:
    with pytest.raises(Refusal) as refused:
        read(**changes)
    assert (refused.value.code, refused.value.status) == (code, 400)
    assert refused.value.body()["more_info"] == f"https://www.twilio.com/docs/errors/{code}"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"Body": "x" * 1600},
        {"To": "whatsapp:MY.1171382917453"},
        {"From": None, "MessagingServiceSid": SERVICE},
        {"From": SERVICE},
        {"ContentSid": CONTENT, "ContentVariables": '{"1": "Aisyah"}'},
        {"StatusCallback": "http://127.0.0.1:8000/webhooks/twilio/status?attempt=att_1#rc=3"},
        {"To": "+60120000001", "From": "WARMLINE"},
        {"Unknown": "parameters are ignored"},
    ],
)
def test_a_good_request_passes(changes: dict[str, str | None]) -> None:
    read(**changes)


def test_a_template_wins_over_text_beside_it() -> None:
    form = Form([*GOOD.items(), ("ContentSid", CONTENT)])
    request = read_create_request(form, now_ms=NOW_MS)
    assert (request.content_sid, request.body) == (CONTENT, "")
