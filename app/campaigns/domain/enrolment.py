"""The state record as a value, and what a decision about it contains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from app.campaigns.domain.vocabulary import Automation, Outcome, Stage


@dataclass(frozen=True, slots=True)
class EnrolmentState:
    """What the ledger covers of one enrolment. Locks are the shell's and are not here. Times are UTC."""

    version_id: int
    generation: int
    stage: Stage
    automation: Automation
    path: str | None
    step: str | None
    lap: int
    sender_id: int
    wait_from: datetime | None = None
    next_run_at: datetime | None = None
    return_stage: Stage | None = None
    return_path: str | None = None
    return_step: str | None = None
    return_lap: int | None = None
    held_from: Automation | None = None
    hold_ref: str | None = None
    resume_at: datetime | None = None
    pause_reason: str | None = None
    booking_id: int | None = None
    last_sent_at: datetime | None = None
    last_inbound_at: datetime | None = None
    first_reply_send_id: int | None = None
    first_booking_send_id: int | None = None
    adviser_id: int | None = None
    exit_reason: str | None = None


COVERED: tuple[str, ...] = tuple(f.name for f in fields(EnrolmentState))


def changed_columns(before: EnrolmentState | None, after: EnrolmentState) -> dict[str, Any]:
    """Return the covered columns that differ, as values that JSON holds."""
    return {
        name: to_json(getattr(after, name))
        for name in COVERED
        if before is None or getattr(before, name) != getattr(after, name)
    }


def to_json(value: Any) -> Any:
    """Return a column's value as the ledger stores it: moments in ISO 8601, UTC."""
    return value.isoformat() if isinstance(value, datetime) else value


def fold(sets: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Fold the `set` of an enrolment's events, in order of seq: the last value of each column."""
    state: dict[str, Any] = {}
    for changed in sets:
        state.update(changed)
    return state


@dataclass(frozen=True, slots=True)
class Event:
    """One ledger event of a decision; `set` holds the covered columns it changed."""

    type: str
    cause: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueSend:
    """Queue the send of a message step (or re-arm its unstarted row) and take the lock for it."""

    path: str
    step: str
    lap: int
    template: str
    channel: str


@dataclass(frozen=True, slots=True)
class SupersedeSends:
    """Sends of this enrolment that have not started no longer fit its position."""

    reason: str


@dataclass(frozen=True, slots=True)
class OpenHandoff:
    """Open a handoff in the pool; where one is open, its next-response clock runs."""

    reason: str
    flag: str | None = None


@dataclass(frozen=True, slots=True)
class CloseHandoff:
    """Close the open handoff of the contact, if there is one."""

    outcome: Outcome
    not_now_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenReview:
    """Ask a person: `ref` is what the hold hangs on, such as `send:12`."""

    ref: str
    title: str


@dataclass(frozen=True, slots=True)
class OpenTask:
    """Ask a person to do something by `due_at`; `subject` names it within the enrolment, one open task for each."""

    kind: str
    subject: str
    title: str
    due_at: datetime
    who: str = "owner"  # owner, pool


@dataclass(frozen=True, slots=True)
class SuppressChannel:
    """Close a channel, or `all`, for the contact."""

    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class CoolDown:
    """Write a cool-down; the length comes from settings by reason, or ends at `until`."""

    reason: str
    until: datetime | None = None


Effect = (
    QueueSend
    | SupersedeSends
    | OpenHandoff
    | CloseHandoff
    | OpenReview
    | OpenTask
    | SuppressChannel
    | CoolDown
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What one stimulus does: the new state, the events that explain it, the effects to carry out."""

    state: EnrolmentState
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]

    @property
    def queued(self) -> QueueSend | None:
        """Return the send this decision queues, if any: there is never more than one."""
        return next((e for e in self.effects if isinstance(e, QueueSend)), None)


def idempotency_key(
    *, contact_id: int, campaign_id: int, generation: int, path: str, lap: int, step: str
) -> str:
    """Return the key of a campaign send; it can be rebuilt from the position alone."""
    return f"{contact_id}:{campaign_id}:{generation}:{path}:{lap}:{step}"
