"""What the forms about handoffs send."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from app.kernel.errors import Invalid
from app.kernel.local_time import moment_of

ME: Final = "me"
MAX_NOTE_CHARS: Final = 4000


class AssignmentForm(msgspec.Struct, frozen=True):
    """`adviser_id` is a person's id, `me` to take it from the pool, or empty to give it back to the pool."""

    adviser_id: str
    override_reason: str = ""


class OutcomeForm(msgspec.Struct, frozen=True):
    """How it ended. `not_now_until` is a date as people write it in a date field (ISO)."""

    outcome: str = ""
    not_now_until: str = ""
    note: str = ""


class AvailabilityForm(msgspec.Struct, frozen=True):
    """The switch; an unticked box sends nothing."""

    is_taking: str = ""


def person_id(text: str) -> int:
    """Return the id of a person in a form. Raises `Invalid`."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise Invalid("Choose who takes this lead.", field="adviser_id")
    return int(text)


def start_of_day(text: str, *, zone: str) -> datetime | None:
    """Return the moment a day begins in `zone`; None where none was given. Raises `Invalid`."""
    if not text.strip():
        return None
    try:
        day = date.fromisoformat(text.strip())
        return moment_of(datetime.combine(day, time()), zone=ZoneInfo(zone))
    except (ValueError, OverflowError) as error:
        raise Invalid("Choose a date.", field="not_now_until") from error
