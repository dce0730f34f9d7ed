"""How long a person rests after a journey. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import msgspec

from app.kernel.local_time import days_later

Days = Annotated[int, msgspec.Meta(ge=0, le=3650)]


class CooldownLengths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Days by the reason of the end; 0 leaves no rest. `not_now` is for where no date was given."""

    breakup: Days = 60
    completed: Days = 30
    won: Days = 30
    lost: Days = 90
    not_now: Days = 30
    manual: Days = 30
    opted_out: Days = 90

    def days(self, reason: str) -> int:
        """Return the days of a reason; one that has no length of its own rests like an end by hand."""
        return int(getattr(self, reason)) if reason in REASONS else self.manual


REASONS = frozenset(CooldownLengths.__struct_fields__)


def rest_ends(
    lengths: CooldownLengths, *, reason: str, begins_at: datetime, until: datetime | None, zone: str
) -> datetime | None:
    """Return when a rest ends, in UTC, or None where there is none.

    `until` is the date that a person gave for `not_now`. Without it the rest ends at the same local time of day,
    so many days later in the organisation's `zone`.
    """
    ends_at = until if until is not None else days_later(begins_at, lengths.days(reason), zone=ZoneInfo(zone))
    return ends_at.astimezone(UTC) if ends_at > begins_at else None


def lost_words(lengths: CooldownLengths) -> str:
    """Return what it means to log a lead as lost, in words."""
    days = lengths.days("lost")
    if not days:
        return "They will not join."
    return f"They will not join. A rest of {days} {'day' if days == 1 else 'days'} begins."
