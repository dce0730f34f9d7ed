"""The order of the queue and the reasons for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.queue.domain import DOUBTFUL, Candidate, Group, OpenHandoff, OpenTask, end_of_day, rank

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)  # Monday 10:00 in Kuala Lumpur
ZONE = "Asia/Kuala_Lumpur"


def handoff(
    *,
    due: int | None = 10,
    owner: int | None = 1,
    reason: str = "replied",
    waiting: int | None = None,
    first: bool = True,
) -> OpenHandoff:
    """Return a handoff due in so many minutes, or waiting on the lead since so many."""
    return OpenHandoff(
        owner_id=owner,
        reason=reason,
        started_at=NOW - timedelta(minutes=5),
        due_at=None if due is None else NOW + timedelta(minutes=due),
        waiting_since=None if waiting is None else NOW - timedelta(minutes=waiting),
        is_first_reply=first,
    )


def task(*, due: int = 30, kind: str = "review", title: str = "Was this message sent?") -> OpenTask:
    """Return a task due in so many minutes."""
    return OpenTask(kind, title, NOW + timedelta(minutes=due))


def order(*leads: Candidate) -> list[int]:
    """Return the leads' ids as they are worked."""
    return [
        r.contact_id for r in sorted((rank(lead, now=NOW, zone=ZONE) for lead in leads), key=lambda r: r.key)
    ]


def test_running_clocks_come_first_then_today_then_waiting_then_the_pool() -> None:
    pool = Candidate(1, handoff(owner=None, due=1), None)
    waiting = Candidate(2, handoff(due=None, waiting=60), None)
    today = Candidate(3, None, task(due=5))
    running = Candidate(4, handoff(due=600), None)
    assert order(pool, waiting, today, running) == [4, 3, 2, 1]


def test_now_and_the_pool_are_worked_soonest_due_first_and_waiting_longest_first() -> None:
    assert order(*(Candidate(i, handoff(due=due), None) for i, due in ((1, 9), (2, -4), (3, 3)))) == [2, 3, 1]
    assert order(*(Candidate(i, handoff(due=due, owner=None), None) for i, due in ((1, 9), (3, 3)))) == [3, 1]
    assert order(*(Candidate(i, handoff(due=None, waiting=w), None) for i, w in ((1, 5), (2, 50)))) == [2, 1]


def test_one_moment_is_worked_in_the_order_in_which_people_came() -> None:
    assert order(Candidate(9, handoff(), None), Candidate(4, handoff(), None)) == [4, 9]


def test_an_overdue_lead_of_nobody_belongs_to_everybody_now() -> None:
    overdue = rank(Candidate(1, handoff(owner=None, due=-1), None), now=NOW, zone=ZONE)
    assert (overdue.group, overdue.action.kind) == (Group.NOW, "take")
    at_its_due_time = rank(Candidate(1, handoff(owner=None, due=0), None), now=NOW, zone=ZONE)
    assert at_its_due_time.group is Group.NOW
    in_time = rank(Candidate(1, handoff(owner=None, due=1), None), now=NOW, zone=ZONE)
    assert in_time.group is Group.POOL


def test_a_task_never_hides_a_running_clock_but_lifts_a_lead_out_of_waiting() -> None:
    assert rank(Candidate(1, handoff(due=99), task(due=-500)), now=NOW, zone=ZONE).group is Group.NOW
    lifted = rank(Candidate(1, handoff(due=None, waiting=9), task()), now=NOW, zone=ZONE)
    assert (lifted.group, lifted.action.label) == (Group.TODAY, "Review")


@pytest.mark.parametrize(
    ("lead", "kind", "label"),
    [
        (Candidate(1, handoff(), None), "reply", "First reply"),
        (Candidate(1, handoff(first=False), None), "reply", "Reply"),
        (Candidate(1, handoff(due=None, waiting=1), None), "wait", "Waiting"),
        (Candidate(1, handoff(owner=None), None), "take", "Take"),
        (Candidate(1, None, task()), "review", "Review"),
        (Candidate(1, None, task(kind="visit_reminder", title="Visit today")), "review", "Confirm visit"),
        (Candidate(1, None, task(kind="promise", title="Send the fees")), "review", "Send the fees"),
    ],
)
def test_there_is_one_next_action(lead: Candidate, kind: str, label: str) -> None:
    action = rank(lead, now=NOW, zone=ZONE).action
    assert (action.kind, action.label) == (kind, label)


@pytest.mark.parametrize(
    ("lead", "reasons"),
    [
        (Candidate(1, handoff(), None, "Welcome"), ("First reply is due today 10:10", "Answered “Welcome”")),
        (Candidate(1, handoff(due=-4), None), ("First reply was due today 09:56", "Answered the campaign")),
        (
            Candidate(1, handoff(reason=DOUBTFUL), None, "Welcome"),
            ("May want us to stop: read before you write", "First reply is due today 10:10"),
        ),
        (
            Candidate(1, handoff(owner=None, reason="wrote_first"), None),
            ("Nobody has this lead yet", "First reply is due today 10:10", "Wrote to us first"),
        ),
        (
            Candidate(1, handoff(due=None, waiting=30), None),
            ("Their turn since today 09:30", "Answered the campaign"),
        ),
        (Candidate(1, None, task(due=24 * 60)), ("Was this message sent? (due tomorrow 10:00)",)),
        (Candidate(1, None, task(due=-60)), ("Was this message sent? (was due today 09:00)",)),
    ],
)
def test_the_rank_explains_itself_most_important_part_first(
    lead: Candidate, reasons: tuple[str, ...]
) -> None:
    assert rank(lead, now=NOW, zone=ZONE).reasons == reasons


def test_a_lead_without_handoff_and_task_is_no_lead_of_the_queue() -> None:
    with pytest.raises(ValueError, match="handoff or a task"):
        rank(Candidate(1, None, None), now=NOW, zone=ZONE)


def test_today_ends_at_the_readers_midnight_also_where_the_clocks_change() -> None:
    assert end_of_day(NOW, zone=ZONE) == datetime(2026, 11, 30, 16, 0, tzinfo=UTC)
    assert end_of_day(datetime(2026, 10, 24, 12, tzinfo=UTC), zone="Europe/Berlin") == datetime(
        2026, 10, 24, 22, tzinfo=UTC
    )
    assert end_of_day(datetime(2026, 10, 25, 12, tzinfo=UTC), zone="Europe/Berlin") == datetime(
        2026, 10, 25, 23, tzinfo=UTC
    )
