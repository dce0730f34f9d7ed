"""What an adviser's message may say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.inbox.domain.content import as_stored, check_text, fill, label_of, prefilled
from app.kernel.errors import Invalid
from app.messaging.domain.composing import Lead, TemplateText

TEMPLATE = TemplateText(
    key="nudge",
    language="en",
    body="Hi {{1}}, there is a place for {{2}} on Saturday.",
    approval="approved",
    content_sid="HX1",
    variables=[
        {"name": "1", "source": "lead.first_name", "fallback": "there", "sample": "Siti"},
        {"name": "2", "source": "lead.child_name", "fallback": "", "sample": "Adam"},
    ],
    buttons=[],
)
LEAD = Lead("Siti Aminah", {"child_name": "Adam"}, "Keluarga Cerdas")
ZERO_WIDTH = "\u200b"


@pytest.mark.parametrize("text", ["", "   ", "\r\n\t ", ZERO_WIDTH, "\u2060 \u200b", "\x00"])
def test_a_text_in_which_nothing_can_be_seen_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="Write something first"):
        check_text(text, channel="whatsapp")


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("x" * 1600, False),
        ("x" * 1601, True),
        ("x" * 5000, True),
        ("😀" * 800, False),
        ("😀" * 801, True),
        ("👨‍👩‍👧‍👦" * 400, True),
    ],
)
def test_V05_a_text_that_the_provider_would_refuse_as_too_long_is_refused_here_and_never_cut(
    text: str, is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(Invalid, match="at most 1,600"):
            check_text(text, channel="whatsapp")
    else:
        assert check_text(text, channel="whatsapp") == text


def test_what_a_form_makes_of_line_ends_is_undone_and_markup_stays_text() -> None:
    assert as_stored(" one\r\ntwo\rthree\x00 ") == "one\ntwo\nthree"
    assert check_text("<b>hi</b>", channel="sms") == "<b>hi</b>"


@pytest.mark.parametrize("value", ["Hello\nline two", "Hello\tline two", "Hello\r\nline two"])
def test_G05_a_line_break_in_a_value_is_flattened(value: str) -> None:
    assert fill(TEMPLATE, given={"1": value}, lead=LEAD).variables["1"] == "Hello line two"


@pytest.mark.parametrize("value", ["", "   ", ZERO_WIDTH, "\u00a0"])
def test_G07_an_empty_value_takes_the_declared_fallback(value: str) -> None:
    assert fill(TEMPLATE, given={"1": value}, lead=LEAD).text.startswith("Hi there, ")


@pytest.mark.parametrize("value", ["", "   ", ZERO_WIDTH])
def test_G05_G07_an_empty_value_without_a_fallback_sends_nothing_and_asks(value: str) -> None:
    with pytest.raises(Invalid, match="“Child name” is empty") as refused:
        fill(TEMPLATE, given={"2": value}, lead=LEAD)
    assert refused.value.facts["field"] == "variable.2"


def test_G07_a_hyphen_is_a_value() -> None:
    assert fill(TEMPLATE, given={"1": "-"}, lead=LEAD).variables["1"] == "-"


def test_V05_lengths_are_checked_after_the_filling() -> None:
    with pytest.raises(Invalid, match="“First name” is too long"):
        fill(TEMPLATE, given={"1": "x" * 2000}, lead=LEAD)
    long = replace(TEMPLATE, body="Hi {{1}} " + "y" * 1011 + " {{2}}.")
    with pytest.raises(Invalid, match="with its values is too long: at most 1,024"):
        fill(long, given={}, lead=LEAD)


def test_values_come_from_the_lead_and_braces_inside_them_are_no_placeholders() -> None:
    content = fill(TEMPLATE, given={}, lead=replace(LEAD, name="{{2}} Siti"))
    assert content.text == "Hi {{2}}, there is a place for Adam on Saturday."
    assert (content.content_sid, content.language) == ("HX1", "en")


def test_a_template_that_lost_its_approval_is_refused() -> None:
    with pytest.raises(Invalid, match="not approved"):
        fill(replace(TEMPLATE, approval="paused"), given={}, lead=LEAD)


def test_the_picker_shows_what_would_be_sent() -> None:
    assert prefilled(TEMPLATE, LEAD) == {"1": "Siti", "2": "Adam"}
    assert prefilled(TEMPLATE, Lead(None, {}, "x")) == {"1": "there", "2": ""}
    assert [label_of(v) for v in TEMPLATE.variables] == ["First name", "Child name"]
    assert label_of({"name": "3"}) == "Value 3"
