"""Working time: half-open shifts, holidays, and changes of the clocks."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.kernel.local_time import moment_of
from app.kernel.working_calendar import Shift, WorkingCalendar, same_hours

SLOW_MACHINE = settings(deadline=None, max_examples=60)
KL = ZoneInfo("Asia/Kuala_Lumpur")
OFFICE = WorkingCalendar("Asia/Kuala_Lumpur", same_hours(days=6, shifts=(Shift.between("09:00", "18:00"),)))
# Zones with changes by an hour, by half an hour, at midnight, and with none.
ZONES = ("Asia/Kuala_Lumpur", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago")


@st.composite
def days(draw: st.DrawFn) -> tuple[Shift, ...]:
    edges = sorted(draw(st.sets(st.integers(0, 1440), max_size=6)))
    return tuple(Shift(starts, ends) for starts, ends in zip(edges[::2], edges[1::2], strict=False))


@st.composite
def calendars(draw: st.DrawFn) -> WorkingCalendar:
    week = tuple(draw(st.lists(days(), min_size=7, max_size=7).filter(any)))
    free = draw(st.frozensets(st.dates(date(2026, 3, 1), date(2026, 4, 15)), max_size=5))
    return WorkingCalendar(draw(st.sampled_from(ZONES)), week, free)


moments = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
gaps = st.timedeltas(timedelta(0), timedelta(days=20))


def kl(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=KL)


@SLOW_MACHINE
@given(calendars(), moments, st.integers(0, 3000))
def test_measuring_what_was_added_gives_back_the_minutes(
    calendar: WorkingCalendar, start: datetime, minutes: int
) -> None:
    due = calendar.add_working_minutes(start, minutes)
    assert calendar.working_seconds_between(start, due) == minutes * 60


@SLOW_MACHINE
@given(calendars(), moments, st.integers(1, 3000))
def test_the_end_of_added_time_is_the_earliest_such_moment(
    calendar: WorkingCalendar, start: datetime, minutes: int
) -> None:
    due = calendar.add_working_minutes(start, minutes)
    just_before = due - timedelta(microseconds=1)
    assert calendar.working_seconds_between(start, just_before) < minutes * 60


@SLOW_MACHINE
@given(
    calendars(),
    moments,
    st.timedeltas(timedelta(0), timedelta(days=9)),
    st.integers(0, 1500),
    st.integers(0, 99),
)
def test_adding_is_monotone_in_start_and_minutes(
    calendar: WorkingCalendar, start: datetime, later: timedelta, minutes: int, more: int
) -> None:
    due = calendar.add_working_minutes(start, minutes)
    assert due <= calendar.add_working_minutes(start, minutes + more)
    assert due <= calendar.add_working_minutes(start + later, minutes)


@SLOW_MACHINE
@given(
    calendars(),
    moments,
    st.timedeltas(timedelta(0), timedelta(days=20)),
    st.timedeltas(timedelta(0), timedelta(days=20)),
)
def test_measuring_is_additive(
    calendar: WorkingCalendar, start: datetime, first: timedelta, second: timedelta
) -> None:
    middle = start + first
    end = middle + second
    parts = calendar.working_seconds_between(start, middle) + calendar.working_seconds_between(middle, end)
    assert calendar.working_seconds_between(start, end) == pytest.approx(parts, abs=1e-5)


@SLOW_MACHINE
@given(st.sampled_from(ZONES), st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)))  # noqa: DTZ001
def test_a_later_wall_time_is_never_an_earlier_moment(zone: str, wall: datetime) -> None:
    earlier = moment_of(wall, zone=ZoneInfo(zone))
    later = moment_of(wall + timedelta(minutes=7), zone=ZoneInfo(zone))
    assert earlier <= later


def test_a_gap_is_its_first_valid_moment_and_a_fold_its_first_occurrence() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    gap = moment_of(datetime(2026, 3, 29, 2, 30, 0, 5), zone=berlin)  # noqa: DTZ001
    fold = moment_of(datetime(2026, 10, 25, 2, 30), zone=berlin)  # noqa: DTZ001
    assert gap == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert fold == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_a_night_shift_is_an_hour_shorter_when_clocks_go_forward_and_longer_when_they_go_back() -> None:
    nights = WorkingCalendar("Europe/Berlin", same_hours(days=7, shifts=(Shift.between("01:00", "05:00"),)))

    def hours_on(day: date) -> float:
        start = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo("Europe/Berlin"))
        return nights.working_seconds_between(start, start + timedelta(days=1)) / 3600

    assert hours_on(date(2026, 3, 28)) == 4
    assert hours_on(date(2026, 3, 29)) == 3
    assert hours_on(date(2026, 10, 25)) == 5


def test_what_comes_late_on_friday_is_due_on_the_next_working_day() -> None:
    weekdays = WorkingCalendar("UTC", same_hours(days=5, shifts=(Shift.between("09:00", "17:00"),)))
    friday = datetime(2026, 11, 27, 16, 50, tzinfo=UTC)
    assert weekdays.add_working_minutes(friday, 30) == datetime(2026, 11, 30, 9, 20, tzinfo=UTC)


def test_time_that_ends_with_a_shift_ends_then_and_not_at_the_next_opening() -> None:
    assert OFFICE.add_working_minutes(kl(30, 17, 45), 15) == kl(30, 18)


def test_shifts_are_half_open() -> None:
    assert OFFICE.is_open(kl(30, 9))
    assert not OFFICE.is_open(kl(30, 18))
    assert OFFICE.next_opening(kl(28, 18)) == kl(30, 9)  # Saturday's end to Monday: Sunday is free


def test_split_shifts_and_holidays_do_not_count() -> None:
    split = (Shift.between("09:00", "12:00"), Shift.between("14:00", "18:00"))
    calendar = WorkingCalendar(
        "Asia/Kuala_Lumpur", same_hours(days=7, shifts=split), frozenset({date(2026, 11, 26)})
    )
    assert calendar.add_working_minutes(kl(25, 11, 50), 15) == kl(25, 14, 5)
    assert calendar.add_working_minutes(kl(25, 17, 50), 15) == kl(27, 9, 5)


@pytest.mark.parametrize(
    "times", [("9", "18:00"), ("18:00", "09:00"), ("09:00", "25:00"), ("09:60", "18:00")]
)
def test_a_shift_that_cannot_be_is_refused(times: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"shift|time of day"):
        Shift.between(*times)


def test_a_calendar_without_work_or_with_overlaps_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one shift"):
        WorkingCalendar("UTC", ((),) * 7)
    with pytest.raises(ValueError, match="overlap"):
        WorkingCalendar("UTC", same_hours(days=1, shifts=(Shift(0, 60), Shift(30, 90))))
    with pytest.raises(ValueError, match="zone"):
        WorkingCalendar("Nowhere/Land", same_hours(days=1, shifts=(Shift(0, 60),)))


def test_endless_holidays_are_an_error_and_not_an_endless_loop() -> None:
    free = frozenset(date(2026, 1, 1) + timedelta(days=n) for n in range(1200))
    calendar = WorkingCalendar("UTC", same_hours(days=7, shifts=(Shift(0, 1440),)), free)
    with pytest.raises(ValueError, match="no working time"):
        calendar.next_opening(datetime(2026, 11, 30, tzinfo=UTC))
