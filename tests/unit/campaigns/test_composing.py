"""What a template message says: language, variables, and when a person has to look."""

from __future__ import annotations

from typing import Any

import pytest

from app.messaging.domain.composing import Content, Lead, TemplateText, choose_language, compose
from app.messaging.domain.templates import HeldVariable


def text(language: str, approval: str = "approved", **more: Any) -> TemplateText:
    """Return a template in a language."""
    variables = [{"name": "1", "source": "lead.first_name", "fallback": "there"}]
    values = {"body": "Hi {{1}}, hello.", "variables": variables, **more}
    return TemplateText(
        key="hello",
        language=language,
        approval=approval,
        content_sid=f"HX{language}",
        buttons=(),
        body=values["body"],
        variables=values["variables"],
    )


def lead(name: str | None = "Aisyah Rahman", **attributes: Any) -> Lead:
    """Return what variables are filled from."""
    return Lead(name, attributes, "Keluarga Cerdas")


@pytest.mark.parametrize(
    ("have", "wants", "gets"),
    [
        ([text("en"), text("ms")], "ms", "ms"),
        ([text("en"), text("ms")], "zh", "en"),
        ([text("ms")], "zh", "ms"),
        ([text("ms", "pending"), text("en")], "ms", "en"),
        ([text("ms", "pending"), text("en", "rejected")], "ms", "ms"),
    ],
)
def test_the_language_is_the_persons_own_where_it_is_approved_else_english(
    have: list[TemplateText], wants: str, gets: str
) -> None:
    chosen = choose_language(have, wants)
    assert chosen is not None and chosen.language == gets


def test_without_any_text_there_is_nothing_to_choose() -> None:
    assert choose_language([], "en") is None


def test_a_message_is_filled_and_rendered() -> None:
    assert compose(text("en"), lead()) == Content("HXen", {"1": "Aisyah"}, "Hi Aisyah, hello.", "en")


@pytest.mark.parametrize("name", [None, "", "   ", "\u200b"])
def test_a_missing_or_blank_name_takes_the_fallback(name: str | None) -> None:
    content = compose(text("en"), lead(name))
    assert isinstance(content, Content) and content.text == "Hi there, hello."


def test_what_has_neither_value_nor_fallback_is_held_and_says_which() -> None:
    variables = [{"name": "1", "source": "lead.school", "fallback": ""}]
    found = compose(text("en", variables=variables), lead())
    assert isinstance(found, HeldVariable) and found.key == "1"
    filled = compose(text("en", variables=variables), lead(school="SK Bangsar"))
    assert isinstance(filled, Content) and filled.text == "Hi SK Bangsar, hello."


def test_braces_in_a_value_are_never_read_as_a_placeholder() -> None:
    content = compose(text("en"), lead("{{1}}{{2}} X"))
    assert isinstance(content, Content) and "{{1}}{{2}}" in content.text
