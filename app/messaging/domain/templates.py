"""Message templates: finding placeholders, the providers' rules for them, and values that are fit to send.

Rules: placeholders are numbers or names without spaces; numbers run 1, 2, 3 …; the body neither begins nor
ends with one; two never stand side by side; at most 100, names ≤ 16 characters. Values: no line break or tab,
at most 4 spaces in a row, never empty, ≤ 255 characters; body with values ≤ 1,024 characters.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

LONGEST_TEMPLATE_TEXT: Final = 1_024
LONGEST_VALUE: Final = 255
LONGEST_KEY: Final = 16
MOST_PLACEHOLDERS: Final = 100


class TemplateFault(StrEnum):
    MALFORMED = "malformed"
    EMPTY_BODY = "empty_body"
    TOO_LONG = "too_long"
    STARTS_WITH_PLACEHOLDER = "starts_with_placeholder"
    ENDS_WITH_PLACEHOLDER = "ends_with_placeholder"
    ADJACENT = "adjacent"
    OUT_OF_SEQUENCE = "out_of_sequence"
    TOO_MANY = "too_many"
    KEY_TOO_LONG = "key_too_long"
    SEVERAL_IN_BUTTON = "several_in_button"
    BUTTON_NOT_AT_END = "button_not_at_end"


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule; `detail` is the piece of text it concerns."""

    fault: TemplateFault
    detail: str = ""


class ValueFault(StrEnum):
    EMPTY = "empty"
    TOO_LONG = "too_long"
    TEXT_TOO_LONG = "text_too_long"


@dataclass(frozen=True, slots=True)
class HeldVariable:
    """Why a message cannot be filled for this person; `key` is empty when the whole text is concerned."""

    key: str
    fault: ValueFault


@dataclass(frozen=True, slots=True)
class FilledVariables:
    """Every required variable with a clean, sendable value, in the order of the template."""

    values: Mapping[str, str]
    fallbacks_used: tuple[str, ...] = ()


def find_placeholders(text: str) -> tuple[str, ...]:
    """Names of all well-formed placeholders, each once, in order: `{{1}}`, `{{ first_name }}`."""
    return tuple(dict.fromkeys(match.group("key") for match in _PLACEHOLDER.finditer(text)))


def required_variables(*, body: str, button_urls: Sequence[str] = (), header: str = "") -> tuple[str, ...]:
    """Every variable that a send must give: those of the header, the body and the buttons' addresses."""
    return tuple(
        dict.fromkeys(key for text in (header, body, *button_urls) for key in find_placeholders(text))
    )


def validate_template(*, body: str, button_urls: Sequence[str] = (), header: str = "") -> tuple[Problem, ...]:
    """All broken rules of a template that is about to be saved; empty means that it may be submitted."""
    problems = [*_body_problems(body), *_brace_problems(header)]
    for url in button_urls:
        problems += _button_problems(url)
    keys = required_variables(body=body, button_urls=button_urls, header=header)
    return (*problems, *_key_problems(keys))


def fill_variables(
    *,
    body: str,
    values: Mapping[str, str | None],
    fallbacks: Mapping[str, str],
    button_urls: Sequence[str] = (),
    header: str = "",
) -> FilledVariables | HeldVariable:
    """Clean the value of each required variable; an empty one takes its declared fallback.

    Returns what to hold the lead for when neither is usable, when a value is longer than a provider takes, or
    when the body with its values is. Nothing is cut in silence; variables that the template does
    not name are left out.
    """
    filled: dict[str, str] = {}
    used: list[str] = []
    for key in required_variables(body=body, button_urls=button_urls, header=header):
        value = clean_value(values.get(key) or "")
        if not value:
            value = clean_value(fallbacks.get(key, ""))
            used.append(key)
        if not value:
            return HeldVariable(key, ValueFault.EMPTY)
        if len(value) > LONGEST_VALUE:
            return HeldVariable(key, ValueFault.TOO_LONG)
        filled[key] = value
    if len(render(body, filled)) > LONGEST_TEMPLATE_TEXT:
        return HeldVariable("", ValueFault.TEXT_TOO_LONG)
    return FilledVariables(filled, tuple(used))


def clean_value(value: str) -> str:
    """Flatten a value: breaks and tabs become one space, longer runs of spaces too, invisible edges go.

    Joiners inside a word or emoji stay (they carry meaning); a value of nothing visible becomes "".
    """
    text = "".join(c for c in value if c not in _NEVER_SENT and not "\ud800" <= c <= "\udfff")
    text = _BREAKS.sub(" ", text)
    text = _LONG_SPACES.sub(" ", text).strip()
    return text if any(_is_visible(c) for c in text) else ""


def render(template_body: str, variables: Mapping[str, str]) -> str:
    """The text a person sees, for previews and bubbles. A placeholder without a value stays as it is written.

    One pass: braces inside a value are never read as placeholders.
    """
    return _PLACEHOLDER.sub(lambda match: variables.get(match.group("key"), match.group(0)), template_body)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a body: plain text, or a placeholder as it is written with its variable's name."""

    text: str
    variable: str | None = None


def split_body(body: str) -> tuple[Piece, ...]:
    """Cut a body at its placeholders, for previews that mark what is filled in. Joined, the pieces are the body."""
    pieces: list[Piece] = []
    end = 0
    for match in _PLACEHOLDER.finditer(body):
        pieces += [Piece(body[end : match.start()]), Piece(match.group(0), match.group("key"))]
        end = match.end()
    pieces.append(Piece(body[end:]))
    return tuple(piece for piece in pieces if piece.text)


def _body_problems(body: str) -> list[Problem]:
    text = body.strip()
    if not text:
        return [Problem(TemplateFault.EMPTY_BODY)]
    problems = _brace_problems(text)
    matches = list(_PLACEHOLDER.finditer(text))
    if len(text) > LONGEST_TEMPLATE_TEXT:
        problems.append(Problem(TemplateFault.TOO_LONG, str(len(text))))
    if matches and not text[: matches[0].start()].strip():
        problems.append(Problem(TemplateFault.STARTS_WITH_PLACEHOLDER, matches[0].group(0)))
    if matches and not text[matches[-1].end() :].strip():
        problems.append(Problem(TemplateFault.ENDS_WITH_PLACEHOLDER, matches[-1].group(0)))
    problems += [
        Problem(TemplateFault.ADJACENT, text[left.start() : right.end()])
        for left, right in pairwise(matches)
        if not text[left.end() : right.start()].strip()
    ]
    return problems


def _brace_problems(text: str) -> list[Problem]:
    """Braces left when the well-formed placeholders are taken away: `{{1}`, `{{first name}}`, `{{}}`."""
    rest = _PLACEHOLDER.sub(" ", text)
    return [Problem(TemplateFault.MALFORMED, found.group(0)[:40]) for found in _LOOSE_BRACES.finditer(rest)]


def _button_problems(url: str) -> list[Problem]:
    problems = _brace_problems(url)
    matches = list(_PLACEHOLDER.finditer(url))
    if len(matches) > 1:
        problems.append(Problem(TemplateFault.SEVERAL_IN_BUTTON, url))
    if matches and matches[-1].end() != len(url.rstrip()):
        problems.append(Problem(TemplateFault.BUTTON_NOT_AT_END, url))
    return problems


def _key_problems(keys: Sequence[str]) -> list[Problem]:
    problems = [Problem(TemplateFault.KEY_TOO_LONG, key) for key in keys if len(key) > LONGEST_KEY]
    if len(keys) > MOST_PLACEHOLDERS:
        problems.append(Problem(TemplateFault.TOO_MANY, str(len(keys))))
    numbers = sorted(int(key) for key in keys if key.isdecimal())
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append(Problem(TemplateFault.OUT_OF_SEQUENCE, ", ".join(map(str, numbers))))
    return problems


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in _BLANK and char not in _BLANK_LETTERS


# Digits are ASCII: other scripts' digits would pass isdecimal() and be refused by the provider.
_PLACEHOLDER: Final = re.compile(r"\{\{[ \t]*(?P<key>[1-9][0-9]*|[A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")
_LOOSE_BRACES: Final = re.compile(r"\{\{?[^{}]*\}?\}?|\}\}?")
_BREAKS: Final = re.compile(r"[ \t]*[\r\n\t\v\f\x1c-\x1f\x85\u2028\u2029]+[ \t\r\n\v\f]*")
_LONG_SPACES: Final = re.compile(r"[ \u00a0\u2000-\u200a\u202f\u205f\u3000]{2,}")
_NEVER_SENT: Final = frozenset(
    "\x00\u200b\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_BLANK: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Mn", "Me", "Zl", "Zp", "Zs"})
_BLANK_LETTERS: Final = frozenset("\u3164\u115f\u1160\uffa0\u2800")
