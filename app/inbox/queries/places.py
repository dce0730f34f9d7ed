"""Places in lists that are ordered by moment and id."""

from __future__ import annotations

from datetime import datetime

from app.kernel.errors import Invalid
from app.web.pagination import Key, key_of


def place_of(at: datetime, row_id: int) -> Key:
    """Return what a cursor is made of."""
    return (at.isoformat(), row_id)


def read_place(cursor: str | None) -> tuple[datetime, int] | None:
    """Return moment and id of a cursor; None for the first page. Raises `Invalid` for anything not made here."""
    key = key_of(cursor, length=2)
    if key is None:
        return None
    at, row_id = key
    try:
        moment = datetime.fromisoformat(str(at))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not isinstance(row_id, int):
        raise Invalid(
            "This page of the list no longer exists. Start again from its beginning.", field="cursor"
        )
    return moment, row_id
