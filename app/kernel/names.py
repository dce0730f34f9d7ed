"""A person's name as it is stored and shown: one line, no tricks with direction, of bounded length."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from app.kernel.text import one_line, storable

MAX_NAME_CHARS: Final = 200
NAME_CUT: Final = "name_cut"
NAME_CLEANED: Final = "name_cleaned"

# No script stacks more marks on one letter; more is meant to flood the page.
_MAX_MARKS_ON_A_LETTER: Final = 6
_JOINERS = ("\u200c", "\u200d")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class NameResult:
    """A clean name, or None when nothing visible was written; `warnings` are codes."""

    name: str | None
    warnings: tuple[str, ...] = ()


def clean_name(text: str) -> NameResult:
    """Return the name on one line. Emoji and every script stay whole; nothing is ever escaped here."""
    stored, removed = storable(text)
    line = one_line(stored)
    thinned = _without_mark_stacks(line)
    warnings = list(removed)
    if thinned != line or _DIRECTION.search(stored):
        warnings.append(NAME_CLEANED)
    if len(thinned) > MAX_NAME_CHARS:
        thinned = _cut(thinned)
        warnings.append(NAME_CUT)
    return NameResult(name=thinned or None, warnings=tuple(warnings))


def _without_mark_stacks(text: str) -> str:
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MAX_MARKS_ON_A_LETTER:
            kept.append(character)
    return "".join(kept)


def _cut(text: str) -> str:
    """Cut before a letter that is not joined to the one before it."""
    end = MAX_NAME_CHARS
    while end > 1 and _joined(text, end):
        end -= 1
    return text[:end].rstrip()


def _joined(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before in _JOINERS or after in _JOINERS:
        return True
    if unicodedata.category(after) in {"Mn", "Mc", "Me"}:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    return _is_flag_letter(before) and _is_flag_letter(after)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
