"""Threads and panels in plain words."""

from __future__ import annotations

import pytest

from app.inbox.domain.thread_key import ThreadKey, key_for, parse_key
from app.inbox.domain.words import (
    event_title,
    journey_bar,
    last_words,
    media_of,
    next_words,
    position_words,
    system_line,
)
from app.inbox.forms import message_form
from app.kernel.errors import Invalid, NotFound

DEFINITION = {
    "paths": {
        "nurture": [
            {"key": "hello", "kind": "message", "template": "open_day_hello"},
            {"key": "wait", "kind": "wait", "days": 2},
            {"key": "nudge", "kind": "message", "template": "nudge", "enabled": False},
            {"key": "last", "kind": "message", "template": "last_word"},
            {"key": "end", "kind": "end"},
        ]
    }
}


@pytest.mark.parametrize(
    ("step", "position", "ahead"),
    [
        ("hello", "Message 1 of 3", "open day hello"),
        ("wait", "Message 1 of 3", "last word"),
        ("last", "Message 3 of 3", "last word"),
        ("end", "Message 3 of 3", ""),
        ("gone", "", ""),
        (None, "", ""),
    ],
)
def test_a_place_in_a_path_is_said_by_its_messages(step: str | None, position: str, ahead: str) -> None:
    assert position_words(DEFINITION, path="nurture", step=step) == position
    assert next_words(DEFINITION, path="nurture", step=step) == ahead


def test_without_a_definition_there_is_no_place() -> None:
    assert position_words(None, path=None, step=None) == ""


def test_the_bar_marks_one_present_stage_also_beside_the_line() -> None:
    for stage in (
        "nurturing",
        "engaged",
        "booked",
        "attended",
        "closed",
        "no_show",
        "opted_out",
        "exhausted",
    ):
        assert [segment.state for segment in journey_bar(stage)].count("now") == 1
    assert journey_bar("opted_out")[1].label == "Opted out"
    assert journey_bar(None) == ()


def test_kinds_that_this_version_does_not_know_are_shown_as_such() -> None:
    assert media_of("text") is None
    assert media_of("image") == ("image", "Photo")
    assert media_of("hologram") == ("other", "A kind of message that cannot be shown here")
    assert last_words(text="", kind="audio") == "Voice message"
    assert event_title("some_new_event", {}) == "Some new event"


def test_lines_say_who_takes_care() -> None:
    assert system_line("assigned", {"owner_id": 1}, owner_name="Aina Rahman") == "Aina Rahman takes care"
    assert system_line("assigned", {}, owner_name=None) == "Back in the pool"
    assert system_line("handoff_closed", {"outcome": "not_now"}, owner_name=None) == "Handoff closed: not now"


def test_a_thread_is_named_by_its_conversation_or_by_the_lead() -> None:
    assert parse_key("17") == ThreadKey(17, False)
    assert str(parse_key("lead-17")) == "lead-17"
    assert str(key_for(conversation_id=None, contact_id=3)) == "lead-3"
    assert str(key_for(conversation_id=8, contact_id=3)) == "8"


@pytest.mark.parametrize("text", ["", "0", "-1", "lead-", "1' OR 1=1", "9" * 30, "١٧"])
def test_other_addresses_name_no_thread(text: str) -> None:
    with pytest.raises(NotFound):
        parse_key(text)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"text": "x", "client_id": "abcdefgh"},
        {"text": "x", "client_id": "abcdefgh", "conversation_version": "-1"},
        {"text": "x", "client_id": "abcdefgh", "conversation_version": "9" * 19},
        {"template_id": "x", "client_id": "abcdefgh", "conversation_version": "1"},
    ],
)
def test_a_form_that_is_not_complete_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        message_form(fields)
