"""What an adviser's message says: checked, cleaned, filled. A refusal says in words what to mend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.kernel.errors import Invalid
from app.messaging.domain.addresses import Channel
from app.messaging.domain.composing import Content, Lead, TemplateText, value_of
from app.messaging.domain.rendering import LONGEST_BODY, fits
from app.messaging.domain.templates import (
    LONGEST_TEMPLATE_TEXT,
    LONGEST_VALUE,
    HeldVariable,
    ValueFault,
    clean_value,
    fill_variables,
    render,
)
from app.messaging.domain.text import clean_text

SOURCE_WORDS: Final = {"lead.first_name": "First name", "lead.name": "Name", "organisation": "Organisation"}


@dataclass(frozen=True, slots=True)
class FreeText:
    """What somebody wrote."""

    text: str


@dataclass(frozen=True, slots=True)
class TemplatePick:
    """A template that somebody chose, with the values they left or wrote, by the variable's name."""

    template_id: int
    values: Mapping[str, str]


Draft = FreeText | TemplatePick


def as_stored(text: str) -> str:
    """Return a text as it is kept and sent: line ends as one character, no space around, all of it storable."""
    return clean_text(text).value.replace("\r\n", "\n").replace("\r", "\n").strip()


def check_text(text: str, *, channel: str) -> str:
    """Return the text as it is sent.

    Raises `Invalid` for one in which nothing can be seen and for one that the provider would refuse as too long.
    """
    cleaned = as_stored(text)
    if not clean_value(cleaned):
        raise Invalid("Write something first.", field="text")
    if not fits(cleaned, channel=Channel(channel)):
        longest = LONGEST_BODY[Channel(channel)]
        raise Invalid(
            f"This is {len(cleaned):,} characters long; one message takes at most {longest:,} (an emoji counts "
            "twice or more). Shorten it, or send it as two.",
            field="text",
        )
    return cleaned


def fill(template: TemplateText, *, given: Mapping[str, str], lead: Lead) -> Content:
    """Fill a template with what was given, the lead's own values, or its fallbacks. Raises `Invalid`.

    A value that is empty after cleaning is never sent: the fallback stands in, and where there is none the
    author is asked. Lengths are checked after the filling.
    """
    if template.approval != "approved":
        raise Invalid("This template is not approved any more. Choose another one.", field="template_id")
    values = {**_known(template, lead), **given}
    fallbacks = {str(v["name"]): str(v.get("fallback") or "") for v in template.variables}
    filled = fill_variables(body=template.body, values=values, fallbacks=fallbacks)
    if isinstance(filled, HeldVariable):
        raise Invalid(
            _words(filled, template), field=f"variable.{filled.key}" if filled.key else "template_id"
        )
    text = render(template.body, filled.values)
    return Content(template.content_sid, filled.values, text, template.language)


def prefilled(template: TemplateText, lead: Lead) -> dict[str, str]:
    """Return the values a picker shows: the lead's, else the fallbacks; empty where a person has to write it."""
    known = _known(template, lead)
    return {
        str(v["name"]): clean_value(known[str(v["name"])] or "") or str(v.get("fallback") or "")
        for v in template.variables
    }


def label_of(variable: Mapping[str, object]) -> str:
    """Return a variable's name in words: `First name`, `Child name`, else `Value 2`."""
    source = str(variable.get("source") or "")
    if source in SOURCE_WORDS:
        return SOURCE_WORDS[source]
    word = source.removeprefix("lead.") or str(variable["name"])
    return f"Value {word}" if word.isdecimal() else word.replace("_", " ").capitalize()


def _known(template: TemplateText, lead: Lead) -> dict[str, str | None]:
    return {str(v["name"]): value_of(str(v.get("source") or ""), lead) for v in template.variables}


def _words(held: HeldVariable, template: TemplateText) -> str:
    label = next((label_of(v) for v in template.variables if str(v["name"]) == held.key), held.key)
    match held.fault:
        case ValueFault.EMPTY:
            return f"“{label}” is empty. Write what should stand there."
        case ValueFault.TOO_LONG:
            return f"“{label}” is too long: at most {LONGEST_VALUE} characters."
        case ValueFault.TEXT_TOO_LONG:
            return f"The message with its values is too long: at most {LONGEST_TEMPLATE_TEXT:,} characters."
