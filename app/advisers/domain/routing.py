"""Who is given a lead: one ranking, pure, with every candidate's verdict kept for whoever asks why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

Verdict = Literal["chosen", "free", "full", "not_ready", "not_taking", "off_shift"]

REASON_STICKY: Final = "knows this lead"
REASON_LANGUAGE: Final = "speaks their language, lowest load"
REASON_LOAD: Final = "lowest load"

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WaitingLead:
    """A handoff in the pool.

    `had_by` are advisers who have had it before: given back, it goes to them last.
    """

    handoff_id: int
    contact_id: int
    language: str
    sticky_owner_id: int | None
    had_by: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Seat:
    """An adviser as routing sees them; `load` = handoffs not closed, counted under the adviser's lock."""

    user_id: int
    state: str
    is_taking: bool
    is_on_shift: bool
    load: int
    capacity: int
    languages: tuple[str, ...] = ()
    last_assigned_at: datetime | None = None

    @property
    def verdict(self) -> Verdict:
        """Say whether this adviser can be given one more lead, and if not, why."""
        if self.state != "ready":
            return "not_ready"
        if not self.is_taking:
            return "not_taking"
        if not self.is_on_shift:
            return "off_shift"
        return "full" if self.load >= self.capacity else "free"

    @property
    def load_ratio(self) -> float:
        """Return load over capacity; a seat without capacity counts as full."""
        return self.load / self.capacity if self.capacity > 0 else 1.0

    def speaks(self, language: str) -> bool:
        """Say whether this adviser speaks a lead's language, whatever its region or script."""
        return _primary(language) in {_primary(known) for known in self.languages}

    def with_one_more(self, at: datetime) -> Seat:
        """Return the seat after a lead was given to it."""
        return replace(self, load=self.load + 1, last_assigned_at=at)


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate of one routing, as it was seen."""

    user_id: int
    verdict: Verdict
    load: int
    capacity: int
    load_ratio: float
    speaks_language: bool
    is_sticky: bool
    had_it: bool
    idle_since: datetime | None

    def as_json(self) -> Mapping[str, Any]:
        """Return what is stored with the assignment."""
        return {
            "user_id": self.user_id,
            "verdict": self.verdict,
            "load": self.load,
            "capacity": self.capacity,
            "load_ratio": round(self.load_ratio, 4),
            "speaks_language": self.speaks_language,
            "is_sticky": self.is_sticky,
            "had_it": self.had_it,
            "idle_since": self.idle_since.isoformat() if self.idle_since else None,
        }


@dataclass(frozen=True, slots=True)
class Routing:
    """What became of one lead. Without an owner it stays in the pool. Load is that before this assignment."""

    lead: WaitingLead
    owner_id: int | None
    reason: str
    load_seen: int
    capacity_seen: int
    considered: tuple[Considered, ...]


def route_all(leads: Sequence[WaitingLead], seats: Sequence[Seat], *, now: datetime) -> list[Routing]:
    """Route leads in the order given; each assignment counts for the next.

    Nobody gets above their capacity.
    """
    by_id = {seat.user_id: seat for seat in seats}
    routings = []
    for lead in leads:
        routing = route(lead, tuple(by_id.values()))
        routings.append(routing)
        if routing.owner_id is not None:
            by_id[routing.owner_id] = by_id[routing.owner_id].with_one_more(now)
    return routings


def route(lead: WaitingLead, seats: Sequence[Seat]) -> Routing:
    """Choose among those who are free.

    Who knows the lead, else language, lowest load ratio, longest idle, id.
    """
    free = [seat for seat in seats if seat.verdict == "free"]
    chosen = min(free, key=lambda seat: _rank(lead, seat), default=None)
    considered = tuple(_consider(lead, seat, chosen) for seat in seats)
    if chosen is None:
        return Routing(lead, None, "nobody is free", 0, 0, considered)
    return Routing(lead, chosen.user_id, _reason(lead, chosen), chosen.load, chosen.capacity, considered)


def _rank(lead: WaitingLead, seat: Seat) -> tuple[bool, bool, bool, float, datetime, int]:
    """Sort key, the best first."""
    return (
        seat.user_id in lead.had_by,
        seat.user_id != lead.sticky_owner_id,
        not seat.speaks(lead.language),
        seat.load_ratio,
        seat.last_assigned_at or _NEVER,
        seat.user_id,
    )


def _reason(lead: WaitingLead, seat: Seat) -> str:
    if seat.user_id == lead.sticky_owner_id:
        return REASON_STICKY
    return REASON_LANGUAGE if seat.speaks(lead.language) else REASON_LOAD


def _consider(lead: WaitingLead, seat: Seat, chosen: Seat | None) -> Considered:
    return Considered(
        user_id=seat.user_id,
        verdict="chosen" if seat is chosen else seat.verdict,
        load=seat.load,
        capacity=seat.capacity,
        load_ratio=seat.load_ratio,
        speaks_language=seat.speaks(lead.language),
        is_sticky=seat.user_id == lead.sticky_owner_id,
        had_it=seat.user_id in lead.had_by,
        idle_since=seat.last_assigned_at,
    )


def _primary(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].casefold()
