"""Text from outside made safe to store, to show on one line and to open in a spreadsheet."""

import re
import unicodedata
from typing import Final

NUL_REMOVED: Final = "nul_removed"
SURROGATES_REMOVED: Final = "surrogates_removed"

# Marks that turn the reading direction, and marks nobody can see. The two joiners (U+200C, U+200D) stay:
# family emoji and several scripts are broken without them.
_DIRECTION_MARKS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = re.compile(f"[{_DIRECTION_MARKS}\u00ad\u200b\u2060\ufeff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def storable(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text as PostgreSQL takes it, with codes for what had to go.

    NUL characters and lone surrogates are refused by the database; everything else is kept as it came.
    """
    removed: list[str] = []
    if "\x00" in text:
        text = text.replace("\x00", "")
        removed.append(NUL_REMOVED)
    if _SURROGATES.search(text):
        text = _SURROGATES.sub("", text)
        removed.append(SURROGATES_REMOVED)
    return text, tuple(removed)


def one_line(text: str) -> str:
    """Return the text on one line: control and direction marks gone, white space collapsed, NFC."""
    without_marks = _INVISIBLE.sub("", _SURROGATES.sub("", text))
    without_controls = _CONTROLS.sub("", without_marks)
    return unicodedata.normalize("NFC", " ".join(without_controls.split()))


def without_invisible(text: str) -> str:
    """Return compatibility-normalised text (NFKC) without any format, control or variation mark.

    For values that are identities: two spellings which look alike become one.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    folded = unicodedata.normalize("NFKC", text)
    kept = (c for c in folded if c.isspace() or not _is_mark(c))
    return "".join(kept).strip()


def neutralise_cell(value: object) -> str:
    """Return the value as a spreadsheet shows it: as text, never as a formula.

    A cell that a spreadsheet would run gets a leading apostrophe (OWASP, "CSV Injection"); `plain_cell`
    takes it off again, so that an exported file can be imported without a change.
    """
    text = "" if value is None else str(value)
    # Apostrophes are looked through, so that a cell which already has one gets its own back after import.
    return f"'{text}" if text.lstrip(" \u00a0'").startswith(_FORMULA_STARTS) else text


def plain_cell(text: str) -> str:
    """Return what stood in the cell before `neutralise_cell`."""
    if not text.startswith("'"):
        return text
    rest = text[1:]
    return rest if neutralise_cell(rest) == text else text


def _is_mark(character: str) -> bool:
    if "\ufe00" <= character <= "\ufe0f":
        return True
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn"}
