"""How long a person rests: by reason, in days of the organisation's zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.contacts.cooldowns.domain import CooldownLengths, rest_ends

MONDAY = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)  # 09:00 in Kuala Lumpur


@pytest.mark.parametrize(
    ("reason", "days"),
    [
        ("breakup", 60),
        ("completed", 30),
        ("won", 30),
        ("lost", 90),
        ("not_now", 30),
        ("manual", 30),
        ("opted_out", 90),
        ("something_new", 30),
    ],
)
def test_each_end_has_its_length_and_an_unknown_one_rests_like_an_end_by_hand(reason: str, days: int) -> None:
    ends = rest_ends(CooldownLengths(), reason=reason, begins_at=MONDAY, until=None, zone="Asia/Kuala_Lumpur")
    assert ends == MONDAY + timedelta(days=days)


def test_a_date_that_was_given_wins_and_one_that_has_passed_leaves_no_rest() -> None:
    given = MONDAY + timedelta(days=200)
    lengths = CooldownLengths()
    for until, ends in ((given, given), (MONDAY, None), (MONDAY - timedelta(days=1), None)):
        assert rest_ends(lengths, reason="not_now", begins_at=MONDAY, until=until, zone="UTC") == ends


def test_no_days_leave_no_rest() -> None:
    assert rest_ends(CooldownLengths(won=0), reason="won", begins_at=MONDAY, until=None, zone="UTC") is None


def test_days_are_local_days_over_a_change_of_the_clocks() -> None:
    begins = datetime(2027, 3, 20, 8, 0, tzinfo=UTC)  # 09:00 in Berlin, which is an hour ahead of UTC then
    ends = rest_ends(
        CooldownLengths(completed=30), reason="completed", begins_at=begins, until=None, zone="Europe/Berlin"
    )
    assert ends == datetime(2027, 4, 19, 7, 0, tzinfo=UTC)  # 09:00 again, two hours ahead by now


def test_a_local_time_that_does_not_exist_becomes_the_first_moment_after_it() -> None:
    begins = datetime(2027, 2, 26, 1, 30, tzinfo=UTC)  # 02:30 in Berlin
    ends = rest_ends(
        CooldownLengths(completed=30), reason="completed", begins_at=begins, until=None, zone="Europe/Berlin"
    )
    assert ends == datetime(2027, 3, 28, 1, 0, tzinfo=UTC)  # 02:30 is skipped that night; it is 03:00
