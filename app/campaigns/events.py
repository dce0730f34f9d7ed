"""What happened to journeys, for reactions: ids only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JourneyChanged:
    """An enrolment changed by something other than the plain course of its sends."""

    contact_id: int
    enrolment_id: int
