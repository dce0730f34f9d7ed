"""The short line after a person's name: what was said about them when they came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MOST_DETAILS: Final = 2
LONGEST_DETAIL: Final = 40


def about_contact(*, attributes: Mapping[str, Any], source: str | None) -> str:
    """Return the first details, such as `Child age 6, Petaling Jaya`; without any, where the person came from.

    A number needs its name beside it, words speak for themselves. Empty where nothing is known.
    """
    details = [_detail(key, value) for key, value in attributes.items() if str(value).strip()]
    if not details and source:
        return words_of(source)
    return ", ".join(details[:MOST_DETAILS])


def words_of(key: str) -> str:
    """Return a stored key as words: `open_day_form` → `Open day form`."""
    words = key.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _detail(key: str, value: Any) -> str:
    text = " ".join(str(value).split())[:LONGEST_DETAIL]
    return text if any(character.isalpha() for character in text) else f"{words_of(key)} {text}"
