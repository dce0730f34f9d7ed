"""The order of the queue: one pure rank for each lead, with the reasons for it in words.

A queue is worked from the top. `now`: a reply clock runs, soonest due first. `today`: something is to be done
by the end of the day. `waiting`: it is the lead's turn. `pool`: nobody has the lead yet, soonest due first;
once such a clock is overdue it belongs to everybody's `now`, because nobody is responsible for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final, Literal
from zoneinfo import ZoneInfo

from app.kernel.local_time import moment_of
from app.web.words import day_and_time

ActionKind = Literal["reply", "take", "review", "wait"]

DOUBTFUL: Final = "may_want_to_stop"
REVIEW: Final = "review"
"""The kind of a task that asks what became of a message, or what is to become of a journey."""
_OPENED_BY: Final = {
    "replied": "Answered the campaign",
    "wrote_first": "Wrote to us first",
    "called": "Answered a call",
    "cancelled": "Cancelled the visit",
    DOUBTFUL: "May want us to stop: read before you write",
}
_TASKS: Final = {
    REVIEW: "Review",
    "visit_reminder": "Confirm visit",
    "visit": "Confirm visit",
    "post_visit": "Post-visit call",
    "call": "Call",
    "follow_up": "Follow up",
}
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class Group(StrEnum):
    """The parts of the queue, in the order in which they are worked."""

    NOW = "now"
    TODAY = "today"
    WAITING = "waiting"
    POOL = "pool"


ORDER: Final = {group: place for place, group in enumerate(Group)}


@dataclass(frozen=True, slots=True)
class OpenHandoff:
    """What the rank needs of a handoff. Without `due_at` it is the lead's turn since `waiting_since`."""

    owner_id: int | None
    reason: str
    started_at: datetime
    due_at: datetime | None
    waiting_since: datetime | None
    is_first_reply: bool


@dataclass(frozen=True, slots=True)
class OpenTask:
    """The lead's first open task that is due by the end of the day: a review before all others and whenever it is due,
    as nothing goes on before it is answered; then the earliest.
    """

    kind: str
    title: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lead that may stand in somebody's queue: at least one of handoff and task is there."""

    contact_id: int
    handoff: OpenHandoff | None
    task: OpenTask | None
    trigger: str | None = None
    """The name of our message that the lead answered."""


@dataclass(frozen=True, slots=True)
class Action:
    """The one thing to do next."""

    kind: ActionKind
    label: str


@dataclass(frozen=True, slots=True)
class Rank:
    """Where a lead stands, and why: `reasons` are the parts of the rank, most important first."""

    group: Group
    at: datetime
    contact_id: int
    action: Action
    reasons: tuple[str, ...]

    @property
    def key(self) -> tuple[int, datetime, int]:
        """Return the sort key: group, then the moment that counts in it, then the contact."""
        return ORDER[self.group], self.at, self.contact_id


def rank(lead: Candidate, *, now: datetime, zone: str) -> Rank:
    """Rank one lead. Raises `ValueError` for one with neither handoff nor task."""
    group, at = _place(lead, now)
    return Rank(group, at, lead.contact_id, _action(lead, group), _reasons(lead, group, now, zone))


def end_of_day(now: datetime, *, zone: str) -> datetime:
    """Return the first moment of tomorrow in the reader's zone, in UTC: a half-open end of today."""
    local = now.astimezone(ZoneInfo(zone))
    return moment_of(datetime.combine(local.date() + timedelta(days=1), time()), zone=ZoneInfo(zone))


def _place(lead: Candidate, now: datetime) -> tuple[Group, datetime]:
    handoff, task = lead.handoff, lead.task
    due_at = handoff.due_at if handoff is not None else None
    if handoff is not None and due_at is not None and (handoff.owner_id is not None or due_at <= now):
        return Group.NOW, due_at
    if task is not None:
        return Group.TODAY, task.due_at
    if handoff is None:
        raise ValueError("A lead in the queue has a handoff or a task.")
    if handoff.owner_id is None:
        return Group.POOL, handoff.due_at or _NEVER
    return Group.WAITING, handoff.waiting_since or handoff.started_at


def _action(lead: Candidate, group: Group) -> Action:
    handoff, task = lead.handoff, lead.task
    if group is Group.TODAY and task is not None:
        return Action("review", _TASKS.get(task.kind, task.title))
    if handoff is not None and handoff.owner_id is None:
        return Action("take", "Take")
    if handoff is None or handoff.due_at is None:
        return Action("wait", "Waiting")
    return Action("reply", "First reply" if handoff.is_first_reply else "Reply")


def _reasons(lead: Candidate, group: Group, now: datetime, zone: str) -> tuple[str, ...]:
    reasons: list[str] = []
    if lead.task is not None:
        late = lead.task.due_at < now
        when = _when(lead.task.due_at, now, zone)
        reasons.append(f"{lead.task.title} ({'was due' if late else 'due'} {when})")
    if lead.handoff is not None:
        of_handoff = _handoff_reasons(lead.handoff, lead.trigger, now, zone)
        reasons = reasons + of_handoff if group is Group.TODAY else of_handoff + reasons
    return tuple(reasons)


def _handoff_reasons(handoff: OpenHandoff, trigger: str | None, now: datetime, zone: str) -> list[str]:
    reasons = [_OPENED_BY[DOUBTFUL]] if handoff.reason == DOUBTFUL else []
    if handoff.owner_id is None:
        reasons.append("Nobody has this lead yet")
    if handoff.due_at is not None:
        reply = "First reply" if handoff.is_first_reply else "Reply"
        late = handoff.due_at <= now
        when = _when(handoff.due_at, now, zone)
        reasons.append(f"{reply} {'was due' if late else 'is due'} {when}")
    elif handoff.waiting_since is not None:
        reasons.append(f"Their turn since {_when(handoff.waiting_since, now, zone)}")
    if handoff.reason == "replied" and trigger:
        reasons.append(f"Answered “{trigger}”")
    elif handoff.reason != DOUBTFUL:
        reasons.append(_OPENED_BY.get(handoff.reason, handoff.reason.replace("_", " ").capitalize()))
    return reasons


def _when(at: datetime, now: datetime, zone: str) -> str:
    """Return a moment for the middle of a sentence: `today 14:00`, `Fri 4 Dec 09:00`."""
    words = day_and_time(at, now=now, zone=zone)
    return words[0].lower() + words[1:] if words.startswith(("Today", "Tomorrow", "Yesterday")) else words
