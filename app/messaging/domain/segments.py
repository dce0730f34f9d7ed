"""How many parts an SMS takes: each is paid for, and each may arrive late.

GSM 03.38 has 7 bits a character (its extension table two of them), anything else is sent in UCS-2, 16 bits a unit.
A message of several parts gives 48 bits of each part to the header that joins them (3GPP TS 23.040).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LONGEST_SMS: Final = 1600
"""Characters that the provider takes in one message."""

_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED: Final = frozenset("^{}\\[~]|€\f")


@dataclass(frozen=True, slots=True)
class Segments:
    """The parts of an SMS, how its characters are coded (`gsm7`, `ucs2`), and how many units it takes."""

    parts: int
    coding: str
    units: int


def segments_of(text: str) -> Segments:
    """Return how many parts a text takes; an empty one takes one."""
    if all(c in _BASIC or c in _EXTENDED for c in text):
        widths = [2 if c in _EXTENDED else 1 for c in text]
        return Segments(_parts(widths, single=160, joined=153), "gsm7", sum(widths))
    widths = [len(c.encode("utf-16-le")) // 2 for c in text]
    return Segments(_parts(widths, single=70, joined=67), "ucs2", sum(widths))


def _parts(widths: list[int], *, single: int, joined: int) -> int:
    """Count parts; a character of two units is never torn over two of them."""
    if sum(widths) <= single:
        return 1
    parts, left = 1, joined
    for width in widths:
        if width > left:
            parts, left = parts + 1, joined
        left -= width
    return parts
