"""Long lists in pages: by cursor, so that a page stays cheap at any depth and nothing is shown twice."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.kernel.errors import Invalid

T = TypeVar("T")

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200

Key = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows of a list, and the cursor of the rows after them; None on the last page."""

    rows: tuple[T, ...]
    next_cursor: str | None


def page_of(rows: Sequence[T], *, size: int, key: Callable[[T], Key]) -> Page[T]:
    """Cut a page from `size + 1` rows that were asked for; `key` gives what the list is ordered by."""
    shown = tuple(rows[:size])
    return Page(shown, cursor_of(key(shown[-1])) if len(rows) > size else None)


def page_size(asked: int | None) -> int:
    """Return a size between 1 and `MAX_PAGE_SIZE`."""
    return min(max(asked or PAGE_SIZE, 1), MAX_PAGE_SIZE)


def cursor_of(key: Key) -> str:
    """Return an opaque cursor for the key of a page's last row."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def key_of(cursor: str | None, *, length: int) -> Key | None:
    """Return the key inside a cursor; None for the first page. Raises `Invalid` for anything not made
    here.
    """
    if not cursor:
        return None
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    fits = isinstance(key, list) and len(key) == length
    if not fits or not all(part is None or isinstance(part, str | int) for part in key):
        raise Invalid(
            "This page of the list no longer exists. Start again from its beginning.", field="cursor"
        )
    return tuple(key)
