"""Cleaning of text that comes from outside, so that what was looked at is what is stored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CleanText:
    """A text that the database takes, and what had to be done to it (empty: nothing)."""

    value: str
    changes: tuple[str, ...] = ()


def clean_text(raw: str | bytes) -> CleanText:
    """Return text without NUL, lone surrogates or bytes that are not UTF-8.

    NUL is removed (PostgreSQL refuses it); everything else that cannot be encoded becomes U+FFFD. The changes
    are named `invalid_utf8`, `lone_surrogate` and `nul_removed`. Nothing else is touched.
    """
    changes: list[str] = []
    text = raw if isinstance(raw, str) else _decode(raw, changes)
    if any("\ud800" <= c <= "\udfff" for c in text):
        text = "".join("�" if "\ud800" <= c <= "\udfff" else c for c in text)
        changes.append("lone_surrogate")
    if "\x00" in text:
        text = text.replace("\x00", "")
        changes.append("nul_removed")
    return CleanText(text, tuple(changes))


def _decode(raw: bytes, changes: list[str]) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        changes.append("invalid_utf8")
        return raw.decode("utf-8", "replace")
