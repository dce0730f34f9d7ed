"""The reply clock in working time, and what a person may log as an outcome."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.advisers.domain.handoffs import check_outcome
from app.advisers.domain.sla import SlaPolicy, WorkingRules, answer_time
from app.kernel.errors import Invalid

RULES = WorkingRules()


def kl(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=ZoneInfo("Asia/Kuala_Lumpur"))


def test_a_first_reply_is_due_in_15_working_minutes_and_warned_of_at_10() -> None:
    clock = RULES.first_clock(started_at=kl(30, 10))
    assert (clock.warn_at, clock.due_at) == (kl(30, 10, 10), kl(30, 10, 15))


def test_a_next_reply_is_due_in_60_and_warned_of_at_45() -> None:
    clock = RULES.next_clock(started_at=kl(30, 10))
    assert (clock.warn_at, clock.due_at) == (kl(30, 10, 45), kl(30, 11))


def test_outside_working_hours_the_clock_starts_at_the_next_opening() -> None:
    saturday_night = RULES.first_clock(started_at=kl(28, 22))
    assert saturday_night.due_at == kl(30, 9, 15)
    at_opening = RULES.first_clock(started_at=kl(30, 9))
    assert at_opening.due_at == saturday_night.due_at


def test_an_answer_is_measured_in_working_time_and_in_time_up_to_its_due_time() -> None:
    started = kl(28, 17, 50)
    due = RULES.first_clock(started_at=started).due_at
    on_the_dot = answer_time(
        calendar=RULES.calendar, started_at=started, due_at=due, answered_at=kl(30, 9, 5)
    )
    assert (on_the_dot.seconds, on_the_dot.in_time) == (15 * 60, True)
    late = answer_time(
        calendar=RULES.calendar,
        started_at=started,
        due_at=due,
        answered_at=kl(30, 9, 5) + timedelta(seconds=1),
    )
    assert (late.seconds, late.in_time) == (15 * 60 + 1, False)


def test_a_warning_that_would_come_after_its_breach_is_refused() -> None:
    with pytest.raises(ValueError, match="warning"):
        SlaPolicy(first_reply_minutes=10, first_warn_minutes=10)


@pytest.mark.parametrize(
    ("outcome", "until", "live", "field"),
    [
        ("resumed", None, True, "outcome"),
        ("nonsense", None, False, "outcome"),
        ("no_action", None, True, "outcome"),
        ("not_now", None, True, "not_now_until"),
        ("not_now", kl(30, 10), True, "not_now_until"),
    ],
)
def test_an_outcome_that_makes_no_sense_is_refused(
    outcome: str, until: datetime | None, live: bool, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        check_outcome(outcome, not_now_until=until, has_live_enrolment=live, now=kl(30, 10))
    assert refused.value.facts["field"] == field


@pytest.mark.parametrize(
    ("outcome", "until", "live"),
    [("won", None, True), ("lost", None, False), ("not_now", kl(30, 11), True), ("no_action", None, False)],
)
def test_outcomes_that_people_log(outcome: str, until: datetime | None, live: bool) -> None:
    check_outcome(outcome, not_now_until=until, has_live_enrolment=live, now=kl(30, 10))
