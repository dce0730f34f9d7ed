"""Every invariant there is, in the order of their numbers. Bookings bring I9."""

from __future__ import annotations

from typing import Final

from app.advisers.invariants import INVARIANTS as ADVISERS
from app.campaigns.invariants import INVARIANTS as CAMPAIGNS
from app.db.invariants import Invariant
from app.messaging.invariants import INVARIANTS as MESSAGING

INVARIANTS: Final[tuple[Invariant, ...]] = tuple(
    sorted((*CAMPAIGNS, *ADVISERS, *MESSAGING), key=lambda one: int(one.id.removeprefix("I")))
)
