"""Which numbers can be the id of a row: what stands in an address may be any."""

from __future__ import annotations

from typing import Final

LARGEST_ID: Final = 2**63 - 1


def is_row_id(number: int) -> bool:
    """Say whether a row could have this id (PostgreSQL's bigint, from 1)."""
    return 1 <= number <= LARGEST_ID
