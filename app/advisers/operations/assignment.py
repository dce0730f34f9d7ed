"""Routing the pool: its own transaction, right after a handoff opened and whenever capacity frees.

Locks, in this order: the team's advisory lock (nobody waits for it while holding a row), the waiting
handoffs' contacts, the handoffs, the team's advisers. A contact somebody else is at work on is skipped, never
waited for, so routing can neither deadlock with signals nor stand behind a bulk run; that lead is routed next
time. Loads are counted under the advisers' locks, which people's own assignments hold too.

Outside working hours nobody is on shift: handoffs stay in the pool, which every adviser sees and may take
from, and their clock starts at the next opening, when the next sweep routes them, the oldest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.advisers import repository
from app.advisers.domain.routing import Routing, Seat, WaitingLead, route_all
from app.advisers.events import HandoffAssigned
from app.advisers.load import load_sql
from app.advisers.repository import AssignmentRow
from app.advisers.settings import load_rules
from app.db.session import UnitOfWork
from app.ledger.repository import LedgerRow, append_events

ACTOR: Final = "routing"
MAX_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class AssignmentMade:
    """A handoff that routing gave to somebody."""

    handoff_id: int
    contact_id: int
    owner_id: int
    reason: str


async def assign_waiting(uow: UnitOfWork, *, team: str = "main", now: datetime) -> list[AssignmentMade]:
    """Give the pool's handoffs, the earliest due first, to advisers below capacity; return what was given.

    At most 500 in one call. Needs a transaction of its own. Whoever stays in the pool is routed by the next
    call.
    """
    rules = await load_rules(uow)
    if not rules.calendar.is_open(now) or not await _has_waiting(uow, team):
        return []
    await uow.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('advisers.routing:' || CAST(:team AS text), 0))",
        {"team": team},
    )
    places = sum(seat.capacity - seat.load for seat in await _load_seats(uow, team) if seat.verdict == "free")
    if places == 0:
        return []
    leads = await _lock_waiting(uow, team, limit=min(places, MAX_AT_ONCE))
    if not leads:
        return []
    await _lock_seats(uow, team)
    routings = route_all(leads, await _load_seats(uow, team), now=now)
    return await _store(uow, [routing for routing in routings if routing.owner_id is not None], now)


async def _has_waiting(uow: UnitOfWork, team: str) -> bool:
    found = await uow.execute(
        "SELECT EXISTS (SELECT 1 FROM handoffs "
        "               WHERE owner_id IS NULL AND status <> 'closed' AND team = :team)",
        {"team": team},
    )
    return bool(found.scalar())


_LOCK_CONTACTS = """
SELECT h.id AS handoff_id, c.id AS contact_id, c.language, c.owner_id AS sticky_owner_id
FROM handoffs h JOIN contacts c ON c.id = h.contact_id
WHERE h.owner_id IS NULL AND h.status <> 'closed' AND h.team = :team
ORDER BY h.due_at, h.opened_at, h.id
LIMIT :limit
FOR NO KEY UPDATE OF c SKIP LOCKED
"""

# What another transaction changed while the contacts were being locked is seen here.
_LOCK_HANDOFFS = """
SELECT id, contact_id FROM handoffs
WHERE id = ANY(:ids) AND owner_id IS NULL AND status <> 'closed' AND team = :team
ORDER BY id
FOR NO KEY UPDATE
"""

_HAD_BY = """
SELECT handoff_id, array_agg(DISTINCT owner_id) AS owners FROM assignments
WHERE handoff_id = ANY(:ids) AND owner_id IS NOT NULL GROUP BY handoff_id
"""


async def _lock_waiting(uow: UnitOfWork, team: str, *, limit: int) -> list[WaitingLead]:
    found = (await uow.execute(_LOCK_CONTACTS, {"team": team, "limit": limit})).mappings().all()
    ids = [row["handoff_id"] for row in found]
    if not ids:
        return []
    locked = await uow.execute(_LOCK_HANDOFFS, {"ids": ids, "team": team})
    still_waiting = {(row.id, row.contact_id) for row in locked}
    had = await uow.execute(_HAD_BY, {"ids": ids})
    had_by = {row.handoff_id: frozenset(row.owners) for row in had}
    return [
        WaitingLead(**row, had_by=had_by.get(row["handoff_id"], frozenset()))
        for row in found
        if (row["handoff_id"], row["contact_id"]) in still_waiting
    ]


async def _lock_seats(uow: UnitOfWork, team: str) -> None:
    await uow.execute(
        "SELECT user_id FROM adviser_profiles WHERE team = :team ORDER BY user_id FOR NO KEY UPDATE",
        {"team": team},
    )


_SEATS = f"""
SELECT p.user_id, CASE WHEN u.active THEN p.state ELSE 'left' END AS state, p.taking_leads, p.capacity,
    p.languages, p.last_assigned_at,
    {load_sql("p.user_id")} AS load
FROM adviser_profiles p JOIN users u ON u.id = p.user_id
WHERE p.team = :team AND p.state <> 'left'
ORDER BY p.user_id
"""


async def _load_seats(uow: UnitOfWork, team: str) -> list[Seat]:
    """Return the seats as candidates.

    Within working hours everybody is on shift; own shifts are not kept yet.
    """
    rows = await uow.execute(_SEATS, {"team": team})
    return [
        Seat(
            user_id=row.user_id,
            state=row.state,
            is_taking=row.taking_leads,
            is_on_shift=True,
            load=row.load,
            capacity=row.capacity,
            languages=tuple(row.languages),
            last_assigned_at=row.last_assigned_at,
        )
        for row in rows
    ]


async def _store(uow: UnitOfWork, routings: Sequence[Routing], now: datetime) -> list[AssignmentMade]:
    await repository.save_assignments(uow, [_row(routing, now) for routing in routings])
    await append_events(uow, [_event(routing, now) for routing in routings])
    made = []
    for routing in routings:
        assert routing.owner_id is not None
        lead = routing.lead
        uow.emit(HandoffAssigned(lead.contact_id, lead.handoff_id, routing.owner_id, None))
        made.append(AssignmentMade(lead.handoff_id, lead.contact_id, routing.owner_id, routing.reason))
    return made


def _row(routing: Routing, now: datetime) -> AssignmentRow:
    return AssignmentRow(
        handoff_id=routing.lead.handoff_id,
        contact_id=routing.lead.contact_id,
        owner_id=routing.owner_id,
        reason=routing.reason,
        actor=ACTOR,
        at=now,
        load_seen=routing.load_seen,
        capacity_seen=routing.capacity_seen,
        candidates=[candidate.as_json() for candidate in routing.considered],
    )


def _event(routing: Routing, now: datetime) -> LedgerRow:
    data = {
        "handoff_id": routing.lead.handoff_id,
        "owner_id": routing.owner_id,
        "reason": routing.reason,
        "load": routing.load_seen,
        "capacity": routing.capacity_seen,
    }
    return LedgerRow(routing.lead.contact_id, "assigned", now, ACTOR, data=data)
