"""What a template message says: the template in the contact's language with its variables filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.messaging.domain.templates import HeldVariable, fill_variables, render

COURTESY: Final = frozenset(
    {
        "mr",
        "mrs",
        "ms",
        "miss",
        "mdm",
        "madam",
        "dr",
        "puan",
        "encik",
        "en",
        "cik",
        "tuan",
        "datuk",
        "dato",
        "datin",
    }
)
"""Titles that stand before a name in Malaysia; alone they are no way to address somebody."""


@dataclass(frozen=True, slots=True)
class TemplateText:
    """One template in one language as stored."""

    key: str
    language: str
    body: str
    approval: str
    content_sid: str | None
    variables: Sequence[Mapping[str, Any]]
    buttons: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Lead:
    """What variables may be filled from."""

    name: str | None
    attributes: Mapping[str, Any]
    organisation: str


@dataclass(frozen=True, slots=True)
class Content:
    """A rendered message: what the provider gets and what the bubble shows."""

    content_sid: str | None
    variables: Mapping[str, str]
    text: str
    language: str

    def as_json(self) -> dict[str, Any]:
        """Return it as the send keeps it."""
        return {
            "content_sid": self.content_sid,
            "variables": dict(self.variables),
            "text": self.text,
            "language": self.language,
        }


def choose_language(texts: Sequence[TemplateText], language: str) -> TemplateText | None:
    """Return the approved text in the person's language, else English, else any; unapproved ones last."""
    ranked = sorted(
        texts, key=lambda t: (t.approval != "approved", t.language != language, t.language != "en")
    )
    return ranked[0] if ranked else None


def compose(template: TemplateText, lead: Lead) -> Content | HeldVariable:
    """Fill and render a template; what cannot be filled is returned and holds the lead for a person."""
    values = {str(v["name"]): value_of(str(v.get("source", "")), lead) for v in template.variables}
    fallbacks = {str(v["name"]): str(v.get("fallback", "")) for v in template.variables}
    filled = fill_variables(body=template.body, values=values, fallbacks=fallbacks)
    if isinstance(filled, HeldVariable):
        return filled
    return Content(
        template.content_sid, filled.values, render(template.body, filled.values), template.language
    )


def value_of(source: str, lead: Lead) -> str | None:
    """Return what a source says: `lead.first_name`, `lead.name`, `lead.<attribute>`, `organisation`."""
    match source:
        case "lead.first_name":
            return first_name(lead.name)
        case "lead.name":
            return lead.name
        case "organisation":
            return lead.organisation
        case _ if source.startswith("lead."):
            value = lead.attributes.get(source.removeprefix("lead."))
            return None if value is None else str(value)
        case _:
            return None


def first_name(name: str | None) -> str | None:
    """Return how a letter begins: the first word of a name, with the courtesy title before it if there is one."""
    words = (name or "").split()
    if len(words) > 1 and words[0].rstrip(".").casefold() in COURTESY:
        return f"{words[0]} {words[1]}"
    return words[0] if words else None
