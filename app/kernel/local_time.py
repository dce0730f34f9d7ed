"""Local wall times as moments: what a gap or a fold of the clocks makes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


def moment_of(wall: datetime, *, zone: ZoneInfo) -> datetime:
    """Return the moment, in UTC, at which clocks in `zone` show the naive time `wall`.

    A time that does not exist (a gap) is the first valid moment after it; one that exists twice (a fold) is
    its first occurrence. So a later wall time never gives an earlier moment.
    """
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == wall:
        return moment
    # In a gap the two readings lie on either side of the change.
    other = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change_between(min(moment, other), max(moment, other), zone)


def days_later(moment: datetime, days: int, *, zone: ZoneInfo) -> datetime:
    """Return the same local time of day, `days` dates later in `zone`, in UTC; no days give back the moment."""
    if not days:
        return moment.astimezone(UTC)
    return moment_of(moment.astimezone(zone).replace(tzinfo=None) + timedelta(days=days), zone=zone)


def _change_between(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment at which the offset changes; the time zone database knows whole seconds."""
    low, high = low.replace(microsecond=0), high.replace(microsecond=0)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
