"""SMS parts: the coding follows the characters, and no character is torn."""

from __future__ import annotations

import pytest

from app.messaging.domain.segments import segments_of


@pytest.mark.parametrize(
    ("text", "parts", "coding"),
    [
        ("", 1, "gsm7"),
        ("a" * 160, 1, "gsm7"),
        ("a" * 161, 2, "gsm7"),
        ("a" * 306, 2, "gsm7"),
        ("a" * 307, 3, "gsm7"),
        ("€" * 80, 1, "gsm7"),
        ("€" * 81, 2, "gsm7"),
        ("a" * 152 + "€" + "a" * 153, 3, "gsm7"),  # the euro sign takes two and moves on
        ("你" * 70, 1, "ucs2"),
        ("你" * 71, 2, "ucs2"),
        ("ç", 1, "ucs2"),  # only its capital is in the basic table
        ("😀" * 35, 1, "ucs2"),
        ("a" * 66 + "😀" + "a" * 10, 2, "ucs2"),
    ],
)
def test_parts_and_coding(text: str, parts: int, coding: str) -> None:
    found = segments_of(text)
    assert (found.parts, found.coding) == (parts, coding)
