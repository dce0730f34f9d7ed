"""Moments, clocks, counts and people in words."""

from datetime import UTC, datetime, timedelta

import pytest

from app.web import words
from app.web.views import ReplyClock, TimelineEvent

KUALA_LUMPUR = "Asia/Kuala_Lumpur"
NOW = datetime(2026, 11, 30, 2, 41, 7, tzinfo=UTC)


def clock(seconds: float) -> ReplyClock:
    due = NOW + timedelta(seconds=seconds)
    return ReplyClock(state="on_time", due_at=due, started_at=due - timedelta(minutes=15))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (204, "3:24"),
        (0, "0:00"),
        (0.4, "0:00"),
        (-254, "−4:14"),
        (3599, "59:59"),
        (3600, "1h 00m"),
        (4740, "1h 19m"),
        (-18600, "−5h 10m"),
        (172800, "2 days"),
    ],
)
def test_a_clock_counts_down_and_then_up_with_a_minus(seconds: float, text: str) -> None:
    assert words.clock_text(clock(seconds), now=NOW) == text


def test_a_waiting_clock_says_why_and_never_a_time() -> None:
    waiting = ReplyClock(state="waiting", due_at=NOW, words="With the lead")
    assert words.clock_text(waiting, now=NOW) == "With the lead"


@pytest.mark.parametrize(("seconds", "left"), [(900, 1.0), (450, 0.5), (0, 0.0), (-60, 0.0), (1800, 1.0)])
def test_the_ring_drains_from_full_to_empty_and_no_further(seconds: float, left: float) -> None:
    assert words.clock_left(clock(seconds), now=NOW) == left


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (23 * 60 + 34, "23 h 34 m"),
        (34, "34 m"),
        (0.5, "under 1 m"),
        (0, "closed"),
        (-5, "closed"),
        (4320, "3 days"),
    ],
)
def test_a_reply_window_says_how_long_it_stays_open(minutes: float, text: str) -> None:
    assert words.time_left(NOW + timedelta(minutes=minutes), now=NOW) == text


def test_a_full_moment_names_its_zone() -> None:
    assert words.full_moment(NOW, zone=KUALA_LUMPUR) == "Mon 30 Nov 2026, 10:41, Kuala Lumpur time"


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 11, 30, 2, 19, tzinfo=UTC), "10:19"),
        (datetime(2026, 11, 29, 15, 59, tzinfo=UTC), "Sun"),
        (datetime(2026, 11, 29, 16, 1, tzinfo=UTC), "00:01"),
        (datetime(2026, 11, 21, 2, 0, tzinfo=UTC), "21 Nov"),
        (datetime(2025, 11, 21, 2, 0, tzinfo=UTC), "21 Nov 2025"),
    ],
)
def test_days_change_at_the_readers_midnight(at: datetime, text: str) -> None:
    assert words.short_moment(at, now=NOW, zone=KUALA_LUMPUR) == text


def test_a_timeline_is_split_where_the_readers_date_changes() -> None:
    moments = [NOW, datetime(2026, 11, 29, 16, 1, tzinfo=UTC), datetime(2026, 11, 29, 15, 59, tzinfo=UTC)]
    events = [TimelineEvent(key=str(number), at=at, title="") for number, at in enumerate(moments)]
    days = words.by_day(events, zone=KUALA_LUMPUR)
    assert [[event.key for event in day.events] for day in days] == [["0", "1"], ["2"]]


@pytest.mark.parametrize(
    ("phone", "shown"),
    [
        ("+60124824821", "+60 12-•••• 4821"),
        ("+601123456789", "+60 11-•••• 6789"),
        ("+6591234567", "+65 •••• 4567"),
        ("123", "••••"),
        ("", "••••"),
    ],
)
def test_a_phone_number_is_shown_so_that_it_can_be_known_but_not_copied(phone: str, shown: str) -> None:
    assert words.masked_phone(phone) == shown


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Puan Aisyah Rahman", "AR"),
        ("Mdm. Tan Siew Ling", "TS"),
        ("陈美玲", "陈"),
        ("Nadia", "N"),
        ("Puan", "P"),
        ("🌱", "?"),
        ("", "?"),
    ],
)
def test_initials_pass_over_forms_of_address(name: str, letters: str) -> None:
    assert words.initials(name) == letters


@pytest.mark.parametrize(("count", "text"), [(1, "1 lead"), (0, "0 leads"), (1200, "1,200 leads")])
def test_counts_agree_with_their_noun(count: int, text: str) -> None:
    assert words.plural(count, "lead") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(10, "just now"), (240, "4 min ago"), (3 * 3600, "3 h ago"), (86400, "1 day ago"), (-240, "in 4 min")],
)
def test_ago_rounds_to_what_a_person_would_say(seconds: int, text: str) -> None:
    assert words.ago(NOW - timedelta(seconds=seconds), now=NOW) == text
