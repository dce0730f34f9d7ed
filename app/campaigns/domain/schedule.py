"""When things are due: waits, local times over clock changes, quiet hours."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.campaigns.domain.definition import WaitStep
from app.kernel.local_time import moment_of


def wait_due(step: WaitStep, *, wait_from: datetime, zone: str) -> datetime:
    """Return when a wait that began at `wait_from` is over, in UTC."""
    if not step.enabled:
        return wait_from
    due = wait_from + step.length
    if step.until is None:
        return due
    return next_local_time(due, step.until, zone=zone)


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
