"""What happened to handoffs, for reactions in the same transaction.

Pushes, the next assignment, campaigns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HandoffOpened:
    """A lead waits for a person, in the pool."""

    contact_id: int
    handoff_id: int
    team: str


@dataclass(frozen=True, slots=True)
class HandoffTouched:
    """The lead wrote again. `clock_started` says whether it had been the lead's turn."""

    contact_id: int
    handoff_id: int
    owner_id: int | None
    clock_started: bool


@dataclass(frozen=True, slots=True)
class HandoffAssigned:
    """A handoff changed hands; without `owner_id` it went back to the pool."""

    contact_id: int
    handoff_id: int
    owner_id: int | None
    previous_owner_id: int | None


@dataclass(frozen=True, slots=True)
class HandoffAccepted:
    """The owner has seen it and takes care."""

    contact_id: int
    handoff_id: int
    owner_id: int


@dataclass(frozen=True, slots=True)
class HandoffAnswered:
    """A person answered; the ball is with the lead."""

    contact_id: int
    handoff_id: int
    owner_id: int | None
    user_id: int


@dataclass(frozen=True, slots=True)
class HandoffClosed:
    """A handoff has its outcome. Emitted once for each."""

    contact_id: int
    handoff_id: int
    owner_id: int | None
    outcome: str


@dataclass(frozen=True, slots=True)
class OutcomeLogged:
    """A person logged how it ended with a lead whose enrolment is live.

    The campaign closes, and with it the handoff.
    """

    contact_id: int
    handoff_id: int
    outcome: str
    not_now_until: datetime | None
    actor: str


@dataclass(frozen=True, slots=True)
class OutcomeNoted:
    """What the person wrote beside the outcome, for the conversation's private notes."""

    contact_id: int
    handoff_id: int
    text: str
    actor: str


@dataclass(frozen=True, slots=True)
class CapacityFreed:
    """Somebody of a team can take a lead again: the pool may drain."""

    team: str


@dataclass(frozen=True, slots=True)
class AvailabilityChanged:
    """An adviser of a team began or stopped taking leads."""

    user_id: int
    team: str
    is_taking: bool


@dataclass(frozen=True, slots=True)
class SlaWarned:
    """A reply will soon be due."""

    contact_id: int
    handoff_id: int
    owner_id: int | None
    due_at: datetime


@dataclass(frozen=True, slots=True)
class SlaBreached:
    """A reply is overdue."""

    contact_id: int
    handoff_id: int
    owner_id: int | None
    due_at: datetime
