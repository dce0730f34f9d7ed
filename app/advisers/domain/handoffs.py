"""A handoff as operations see it, and what may be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.kernel.errors import Conflict, Invalid

LOGGED_BY_PEOPLE: Final = ("won", "lost", "not_now", "no_action")
"""Outcomes that a person logs; the others follow from what the lead or the campaign does."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """One row, locked. `waiting_since` is set while the ball is with the lead: then no clock runs."""

    id: int
    contact_id: int
    status: str
    owner_id: int | None
    team: str
    opened_at: datetime
    clock_started_at: datetime
    due_at: datetime | None
    waiting_since: datetime | None
    first_answered_at: datetime | None

    @property
    def is_closed(self) -> bool:
        """Say whether it has its outcome."""
        return self.status == "closed"


def check_open(handoff: Handoff) -> None:
    """Raise `Conflict` if it has ended meanwhile."""
    if handoff.is_closed:
        raise Conflict("This lead's handoff is closed already.", handoff_id=handoff.id)


def check_outcome(
    outcome: str, *, not_now_until: datetime | None, has_live_enrolment: bool, now: datetime
) -> None:
    """Raise `Invalid` unless a person may log this outcome.

    `no_action` is for people without a live enrolment: a paused journey needs somebody, so it is resumed or
    closed.
    """
    if outcome not in LOGGED_BY_PEOPLE:
        raise Invalid("Choose how it ended.", field="outcome")
    if outcome == "no_action" and has_live_enrolment:
        raise Invalid(
            "A campaign waits for this lead: resume it, or close it with an outcome.", field="outcome"
        )
    if outcome == "not_now" and not_now_until is None:
        raise Invalid("Say until when to leave them alone.", field="not_now_until")
    if outcome == "not_now" and not_now_until is not None and not_now_until <= now:
        raise Invalid("Choose a date that lies ahead.", field="not_now_until")
