"""The brake on guessing, in numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounts.domain import BRAKE_LONGEST, TooManyTries, brakes_for, check_password, wait_after
from app.kernel.errors import Invalid

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def failures(count: int, *, last_ago: timedelta = timedelta(0)) -> list[datetime]:
    return [NOW - last_ago - timedelta(seconds=count - n - 1) for n in range(count)]


@pytest.mark.parametrize(
    ("count", "seconds"),
    [(0, 0), (4, 0), (5, 30), (6, 60), (7, 120), (8, 240), (9, 480), (10, 900), (60, 900)],
)
def test_each_failure_beyond_the_free_ones_doubles_the_pause(count: int, seconds: int) -> None:
    assert wait_after(failures(count), free=5, now=NOW) == timedelta(seconds=seconds)


def test_the_pause_counts_from_the_last_failure() -> None:
    assert wait_after(failures(5, last_ago=timedelta(seconds=12)), free=5, now=NOW) == timedelta(seconds=18)
    assert wait_after(failures(5, last_ago=timedelta(seconds=30)), free=5, now=NOW) == timedelta(0)


@given(st.integers(0, 500), st.integers(0, 7200))
def test_nobody_is_ever_locked_out_for_longer_than_the_longest_pause(count: int, ago: int) -> None:
    wait = wait_after(failures(count, last_ago=timedelta(seconds=ago)), free=5, now=NOW)
    assert timedelta(0) <= wait <= BRAKE_LONGEST


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("203.0.113.7", "address:203.0.113.7"),
        ("::ffff:203.0.113.7", "address:203.0.113.7"),
        ("2001:db8:1:2:aaaa::1", "address:2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "address:2001:db8:1:2::/64"),
        ("", "address:unknown"),
    ],
)
def test_an_address_counts_as_one_visitor(address: str, key: str) -> None:
    assert key in {brake.key for brake in brakes_for(email="a@example.org", address=address)}


def test_the_name_that_was_tried_is_not_kept_in_clear() -> None:
    assert all("hunter2" not in brake.key for brake in brakes_for(email="hunter2", address="203.0.113.7"))


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 second"), (30, "30 seconds"), (91, "2 minutes"), (900, "15 minutes")]
)
def test_the_time_to_wait_is_said_in_words(seconds: float, words: str) -> None:
    assert TooManyTries(timedelta(seconds=seconds)).message == f"Too many tries. Try again in {words}."


@pytest.mark.parametrize("password", ["", "123456789", "x" * 1001])
def test_a_password_that_is_too_short_or_absurdly_long_is_refused(password: str) -> None:
    with pytest.raises(Invalid):
        check_password(password)
