"""What happened to journeys, for reactions: ids only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JourneyChanged:
    """An enrolment changed by something other than the plain course of its sends."""

    contact_id: int
    enrolment_id: int


@dataclass(frozen=True, slots=True)
class JourneyEnded:
    """An enrolment came to its end, in whatever way: what waits for this person may have its turn."""

    contact_id: int
    enrolment_id: int


@dataclass(frozen=True, slots=True)
class WaitingChanged:
    """A request of this person began to wait, waits for something else, or waits no more."""

    contact_id: int
