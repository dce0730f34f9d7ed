"""Working time: split shifts for each weekday, holidays, a zone; adding and measuring over clock changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from app.kernel.local_time import moment_of
from app.kernel.periods import Period

DAY_MINUTES: Final = 24 * 60
MAX_IDLE_DAYS: Final = 400
"""Longer without a shift is a calendar filled in wrongly, not a holiday."""


@dataclass(frozen=True, slots=True)
class Shift:
    """Local minutes since midnight, half-open [starts, ends); 1440 is the end of the day."""

    starts: int
    ends: int

    def __post_init__(self) -> None:
        if not 0 <= self.starts < self.ends <= DAY_MINUTES:
            raise ValueError("A shift starts before it ends, within one day.")

    @classmethod
    def between(cls, starts: str, ends: str) -> Shift:
        """Read two local times such as `09:00`; `24:00` is the end of the day. Raises ValueError."""
        return cls(_minutes(starts), _minutes(ends))


@dataclass(frozen=True, slots=True)
class WorkingCalendar:
    """When work is done. `week` holds the shifts of each weekday, Monday first; nothing is done on holidays.

    Raises ValueError for an unknown zone, for shifts that overlap or are out of order, and for a week without
    any.
    """

    zone: str
    week: tuple[tuple[Shift, ...], ...]
    holidays: frozenset[date] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (KeyError, OSError) as error:
            raise ValueError("Unknown time zone.") from error
        if len(self.week) != 7 or not any(self.week):
            raise ValueError("A week has seven days and at least one shift.")
        for day in self.week:
            if any(earlier.ends > later.starts for earlier, later in pairwise(day)):
                raise ValueError("Shifts of a day stand in order and do not overlap.")

    def is_open(self, moment: datetime) -> bool:
        """Say whether `moment` lies in working time."""
        return moment in next(self.periods_from(moment))

    def next_opening(self, moment: datetime) -> datetime:
        """Return `moment` itself in working time, else when work begins next, in UTC."""
        return next(self.periods_from(moment)).starts

    def add_working_minutes(self, start: datetime, minutes: int) -> datetime:
        """Return the first moment by which `minutes` of working time have passed since `start`, in UTC.

        What ends with a shift ends then, not at the next opening; no minutes give back `start`.
        """
        if minutes < 0:
            raise ValueError("Working time is added forwards only.")
        left = timedelta(minutes=minutes)
        if not left:
            return start.astimezone(UTC)
        for period in self.periods_from(start):
            if left <= period.length:
                return period.starts + left
            left -= period.length
        raise AssertionError("periods never end")

    def working_seconds_between(self, start: datetime, end: datetime) -> float:
        """Return how many seconds of working time lie in [start, end); 0 where `end` is not later."""
        total = timedelta(0)
        if end <= start:
            return 0.0
        for period in self.periods_from(start):
            if period.starts >= end:
                break
            total += Period(period.starts, min(period.ends, end)).length
        return total.total_seconds()

    def periods_from(self, moment: datetime) -> Iterator[Period]:
        """Yield working periods in order, in UTC, without what lies before `moment`; none is empty.

        Raises ValueError after more than a year without work.
        """
        moment = moment.astimezone(UTC)
        day = moment.astimezone(ZoneInfo(self.zone)).date()
        idle_days = 0
        while idle_days <= MAX_IDLE_DAYS:
            idle_days += 1
            for period in self._periods_of(day):
                if period.ends > moment:
                    idle_days = 0
                    yield Period(max(period.starts, moment), period.ends)
            day += timedelta(days=1)
        raise ValueError("The working calendar has no working time for more than a year.")

    def _periods_of(self, day: date) -> Iterator[Period]:
        if day in self.holidays:
            return
        for shift in self.week[day.weekday()]:
            period = Period(self._moment(day, shift.starts), self._moment(day, shift.ends))
            if period.length:  # a shift inside a gap of the clocks does not happen
                yield period

    def _moment(self, day: date, minutes: int) -> datetime:
        return moment_of(datetime.combine(day, time()) + timedelta(minutes=minutes), zone=ZoneInfo(self.zone))


def same_hours(*, days: int, shifts: tuple[Shift, ...]) -> tuple[tuple[Shift, ...], ...]:
    """Return a week that has the same shifts on its first `days` days and is free after them."""
    return (shifts,) * days + ((),) * (7 - days)


def _minutes(text: str) -> int:
    hours, colon, minutes = text.partition(":")
    if not (colon and hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2 and int(minutes) < 60):
        raise ValueError("A time of day looks like 09:00.")
    return int(hours) * 60 + int(minutes)
