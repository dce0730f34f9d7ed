"""When things are due: waits, local times over clock changes, quiet hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.campaigns.domain.definition import BookingMoment, SendWindow, WaitStep
from app.kernel.local_time import moment_of
from app.kernel.working_calendar import MAX_IDLE_DAYS, WorkingCalendar


@dataclass(frozen=True, slots=True)
class Visit:
    """A booking as the engine needs it: which, and when, in UTC."""

    id: int
    starts_at: datetime
    ends_at: datetime


def wait_due(
    step: WaitStep, *, wait_from: datetime, zone: str, calendar: WorkingCalendar, visit: Visit | None = None
) -> datetime:
    """Return when a wait that began at `wait_from` is over, in UTC; a local time of day is the person's own.

    A wait on a booking needs the `visit`. Raises ValueError where there is none.
    """
    if not step.enabled:
        return wait_from
    if step.booking is not None:
        return _booking_moment(step.booking, visit)
    due = wait_from + step.length
    if step.business_days:
        due = after_working_days(due, step.business_days, zone=zone, calendar=calendar)
    if step.until is None:
        return due
    due = next_local_time(due, step.until, zone=zone)
    while step.business_days and not works_on(_local(due, zone), calendar):
        due = next_local_time(due + timedelta(seconds=1), step.until, zone=zone)
    return due


def after_working_days(moment: datetime, days: int, *, zone: str, calendar: WorkingCalendar) -> datetime:
    """Return the same local time `days` working days later; what lies on a day off counts from the day before it.

    Working days and holidays are the organisation's, dates and times of day those of `zone`. Raises ValueError
    for a calendar without working days.
    """
    local = moment.astimezone(ZoneInfo(zone))
    day, left, idle = local.date(), days, 0
    while left:
        day += timedelta(days=1)
        idle += 1
        if works_on(day, calendar):
            left, idle = left - 1, 0
        elif idle > MAX_IDLE_DAYS:
            raise ValueError("The working calendar has no working days for more than a year.")
    return moment_of(datetime.combine(day, local.time()), zone=ZoneInfo(zone))


def works_on(day: date, calendar: WorkingCalendar) -> bool:
    """Say whether the organisation works on a date."""
    return bool(calendar.week[day.weekday()]) and day not in calendar.holidays


def window_opens(window: SendWindow, now: datetime, *, zone: str) -> datetime | None:
    """Return None where `now` lies in the window, else when it opens next, in UTC."""
    local = now.astimezone(ZoneInfo(zone))
    if local.weekday() in window.days and window.opens <= local.time() < window.closes:
        return None
    for ahead in range(9):
        day = local.date() + timedelta(days=ahead)
        opens = moment_of(datetime.combine(day, window.opens), zone=ZoneInfo(zone))
        if day.weekday() in window.days and opens > now:
            return opens
    raise AssertionError("a window opens on some day of each week")


def _booking_moment(moment: BookingMoment, visit: Visit | None) -> datetime:
    if visit is None:
        raise ValueError("There is no booking that this wait could hang on.")
    return (visit.starts_at if moment.edge == "start" else visit.ends_at) + moment.offset


def _local(moment: datetime, zone: str) -> date:
    return moment.astimezone(ZoneInfo(zone)).date()


def next_local_time(after: datetime, at: time, *, zone: str) -> datetime:
    """Return the first moment at or after `after` that shows the local time `at`, in UTC.

    A local time that does not exist (a gap) becomes the first valid moment after it; one that exists twice
    (a fold) is its first occurrence.
    """
    local = after.astimezone(ZoneInfo(zone))
    for days in (0, 1):
        moment = moment_of(datetime.combine(local.date() + timedelta(days=days), at), zone=ZoneInfo(zone))
        if moment >= after:
            return moment
    raise AssertionError("tomorrow's local time lies after now")


def quiet_until(now: datetime, *, opens: time, closes: time, zone: str) -> datetime | None:
    """Return None where `now` lies in the local hours [opens, closes), else the moment they open next, in UTC."""
    local = now.astimezone(ZoneInfo(zone)).time()
    if opens <= local < closes:
        return None
    return next_local_time(now, opens, zone=zone)
