"""Waits and quiet hours: UTC in and out, local times over clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.advisers.domain.sla import DEFAULT_CALENDAR
from app.campaigns.domain.definition import WaitStep
from app.campaigns.domain.schedule import next_local_time, quiet_until, wait_due

KL = "Asia/Kuala_Lumpur"
BERLIN = "Europe/Berlin"
NEW_YORK = "America/New_York"


def utc(text: str) -> datetime:
    """Return a moment from ISO 8601."""
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    "length",
    [
        timedelta(seconds=5),
        timedelta(seconds=64),
        timedelta(seconds=66),
        timedelta(minutes=5),
        timedelta(days=1),
        timedelta(days=40),
    ],
)
def test_S05_a_wait_of_any_length_ends_exactly_then(length: timedelta) -> None:
    start = utc("2026-11-30T01:00:00+00:00")
    assert (
        wait_due(WaitStep("w", length), wait_from=start, zone=KL, calendar=DEFAULT_CALENDAR) == start + length
    )


def test_a_wait_until_a_local_time_ends_at_the_first_such_time_after_its_length() -> None:
    wait = WaitStep("w", timedelta(days=2), time(10, 0))
    early = utc("2026-11-30T09:00:00+08:00")
    late = utc("2026-11-30T10:00:01+08:00")
    assert wait_due(wait, wait_from=early, zone=KL, calendar=DEFAULT_CALENDAR) == utc(
        "2026-12-02T10:00:00+08:00"
    )
    assert wait_due(wait, wait_from=late, zone=KL, calendar=DEFAULT_CALENDAR) == utc(
        "2026-12-03T10:00:00+08:00"
    )


def test_a_switched_off_wait_is_over_when_it_begins() -> None:
    start = utc("2026-11-30T01:00:00+00:00")
    assert (
        wait_due(
            WaitStep("w", timedelta(days=2), None, False), wait_from=start, zone=KL, calendar=DEFAULT_CALENDAR
        )
        == start
    )


@pytest.mark.parametrize(
    ("zone", "before", "at", "due"),
    [
        # The gap: 02:30 does not exist; the first moment after it is 03:00 summer time.
        (BERLIN, "2027-03-28T00:30:00+01:00", time(2, 30), "2027-03-28T03:00:00+02:00"),
        (NEW_YORK, "2027-03-14T00:30:00-05:00", time(2, 30), "2027-03-14T03:00:00-04:00"),
        # The fold: the time exists twice; the first one counts.
        (BERLIN, "2027-10-31T00:30:00+02:00", time(2, 30), "2027-10-31T02:30:00+02:00"),
        (NEW_YORK, "2027-11-07T00:30:00-04:00", time(1, 30), "2027-11-07T01:30:00-04:00"),
    ],
)
def test_L05_local_times_in_a_gap_and_in_a_fold(zone: str, before: str, at: time, due: str) -> None:
    assert next_local_time(utc(before), at, zone=zone) == utc(due)


@pytest.mark.parametrize(("zone", "at"), [(BERLIN, time(2, 30)), (NEW_YORK, time(1, 30))])
def test_L05_after_the_first_of_two_the_next_one_is_tomorrows(zone: str, at: time) -> None:
    first = next_local_time(utc("2027-10-31T00:30:00+02:00"), at, zone=zone)
    second = next_local_time(first + timedelta(seconds=1), at, zone=zone)
    assert timedelta(hours=23) < second - first < timedelta(hours=26)
    assert second.astimezone(ZoneInfo(zone)).date() == first.astimezone(ZoneInfo(zone)).date() + timedelta(
        days=1
    )


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK])
def test_L05_a_daily_time_comes_exactly_once_on_each_local_date_of_a_year(zone: str) -> None:
    moment = datetime(2027, 1, 1, 12, tzinfo=UTC)
    dates = []
    for _ in range(365):
        moment = next_local_time(moment + timedelta(seconds=1), time(2, 30), zone=zone)
        dates.append(moment.astimezone(ZoneInfo(zone)).date())
    assert len(set(dates)) == 365
    assert (dates[-1] - dates[0]).days == 364


@given(
    after=st.integers(0, 63_000_000).map(lambda s: utc("2026-01-01T00:00:00+00:00") + timedelta(seconds=s)),
    at=st.times().map(lambda t: t.replace(microsecond=0)),
    zone=st.sampled_from([KL, BERLIN, NEW_YORK, "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
@settings(max_examples=150, deadline=None)
def test_the_next_local_time_lies_ahead_and_within_two_days(after: datetime, at: time, zone: str) -> None:
    found = next_local_time(after, at, zone=zone)
    assert after <= found <= after + timedelta(days=2)
    local = found.astimezone(ZoneInfo(zone))
    assert local.time() >= at  # equal, or the first moment after a gap


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2026-11-30T08:00:00+08:00", None),
        ("2026-11-30T20:59:59+08:00", None),
        ("2026-11-30T21:00:00+08:00", "2026-12-01T08:00:00+08:00"),
        ("2026-11-30T07:59:59+08:00", "2026-11-30T08:00:00+08:00"),
        ("2026-11-30T00:00:00+08:00", "2026-11-30T08:00:00+08:00"),
    ],
)
def test_quiet_hours_end_at_the_next_opening_in_the_persons_own_zone(now: str, opens: str | None) -> None:
    until = quiet_until(utc(now), opens=time(8), closes=time(21), zone=KL)
    assert until == (utc(opens) if opens else None)


def test_quiet_hours_over_a_clock_change_open_by_the_new_local_time() -> None:
    until = quiet_until(utc("2027-03-27T22:00:00+01:00"), opens=time(8), closes=time(21), zone=BERLIN)
    assert until == utc("2027-03-28T08:00:00+02:00")
