"""Handoffs and adviser seats: loading with row locks, set-based writes. Callers lock the contact first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from app.advisers.domain.handoffs import Handoff
from app.advisers.domain.sla import ReplyClock
from app.advisers.load import load_sql
from app.db.session import UnitOfWork
from app.kernel.errors import Conflict, NotFound
from app.kernel.row_ids import is_row_id

_COLUMNS = """id, contact_id, status, owner_id, team, opened_at, clock_started_at, due_at, waiting_since,
    first_answered_at"""


async def lock_contact_of(uow: UnitOfWork, *, handoff_id: int) -> int:
    """Lock the contact of a handoff and return its id.

    Raises `NotFound`, or `Conflict` if it was just merged.
    """
    if not is_row_id(handoff_id):
        raise NotFound("There is no such handoff.")
    found = await uow.execute("SELECT contact_id FROM handoffs WHERE id = :id", {"id": handoff_id})
    contact_id = found.scalar()
    if contact_id is None:
        raise NotFound("There is no such handoff.", handoff_id=handoff_id)
    await uow.execute("SELECT id FROM contacts WHERE id = :id FOR NO KEY UPDATE", {"id": contact_id})
    again = await uow.execute("SELECT contact_id FROM handoffs WHERE id = :id", {"id": handoff_id})
    if again.scalar() != contact_id:
        raise Conflict("This lead was merged with another a moment ago. Look again.", handoff_id=handoff_id)
    return int(contact_id)


async def read_handoff(uow: UnitOfWork, *, handoff_id: int) -> Handoff:
    """Return a handoff without a lock of its own.

    Enough under its contact's lock to read status and owner.
    """
    rows = await uow.execute(f"SELECT {_COLUMNS} FROM handoffs WHERE id = :id", {"id": handoff_id})
    return Handoff(**rows.mappings().one())


async def lock_handoff(uow: UnitOfWork, *, handoff_id: int) -> Handoff:
    """Lock a handoff's contact, then the handoff. Raises `NotFound`, or `Conflict` if it was just merged."""
    await lock_contact_of(uow, handoff_id=handoff_id)
    rows = await uow.execute(
        f"SELECT {_COLUMNS} FROM handoffs WHERE id = :id FOR NO KEY UPDATE",
        {"id": handoff_id},
    )
    return Handoff(**rows.mappings().one())


async def lock_open_handoff(uow: UnitOfWork, *, contact_id: int) -> Handoff | None:
    """Lock the open handoff of a contact whose lock the caller holds; None where there is none."""
    rows = await uow.execute(
        f"SELECT {_COLUMNS} FROM handoffs WHERE contact_id = :contact_id AND status <> 'closed' "
        "FOR NO KEY UPDATE",
        {"contact_id": contact_id},
    )
    row = rows.mappings().one_or_none()
    return Handoff(**row) if row else None


async def insert_handoff(
    uow: UnitOfWork,
    *,
    contact_id: int,
    enrolment_id: int | None,
    reason: str,
    trigger_send_id: int | None,
    clock: ReplyClock,
) -> tuple[int, str]:
    """Insert a handoff in the pool with its clock running; return its id and team."""
    rows = await uow.execute(
        "INSERT INTO handoffs (contact_id, enrolment_id, status, reason, trigger_send_id, opened_at, "
        "    clock_started_at, warn_at, due_at) "
        "VALUES (:contact_id, :enrolment_id, 'open', :reason, :trigger_send_id, :started_at, "
        "    :started_at, :warn_at, :due_at) "
        "RETURNING id, team",
        {
            "contact_id": contact_id,
            "enrolment_id": enrolment_id,
            "reason": reason,
            "trigger_send_id": trigger_send_id,
            "started_at": clock.started_at,
            "warn_at": clock.warn_at,
            "due_at": clock.due_at,
        },
    )
    row = rows.one()
    return row.id, row.team


async def start_clock(uow: UnitOfWork, *, handoff_id: int, clock: ReplyClock) -> None:
    """Let a new clock run: the ball is ours again, and this clock has neither warned nor breached."""
    await uow.execute(
        "UPDATE handoffs SET clock_started_at = :started_at, warn_at = :warn_at, due_at = :due_at, "
        "    warned_at = NULL, breached_at = NULL, waiting_since = NULL "
        "WHERE id = :id",
        {
            "id": handoff_id,
            "started_at": clock.started_at,
            "warn_at": clock.warn_at,
            "due_at": clock.due_at,
        },
    )


async def stop_clock(uow: UnitOfWork, *, handoff_id: int, now: datetime) -> None:
    """Record a human answer: the ball is with the lead."""
    await uow.execute(
        "UPDATE handoffs SET status = 'answered', accepted_at = coalesce(accepted_at, :now), "
        "    first_answered_at = coalesce(first_answered_at, :now), answered_at = :now, "
        "    waiting_since = :now, due_at = NULL, warn_at = NULL "
        "WHERE id = :id",
        {"id": handoff_id, "now": now},
    )


async def set_reason(uow: UnitOfWork, *, handoff_id: int, reason: str, enrolment_id: int | None) -> None:
    """Say anew why a person is needed, and for which enrolment."""
    await uow.execute(
        "UPDATE handoffs SET reason = :reason, enrolment_id = coalesce(:enrolment_id, enrolment_id) "
        "WHERE id = :id",
        {"id": handoff_id, "reason": reason, "enrolment_id": enrolment_id},
    )


async def mark_accepted(uow: UnitOfWork, *, handoff_id: int, now: datetime) -> bool:
    """Mark an open handoff as accepted; False if it was before."""
    result = await uow.execute(
        "UPDATE handoffs SET status = 'accepted', accepted_at = :now WHERE id = :id AND status = 'open'",
        {"id": handoff_id, "now": now},
    )
    return result.rowcount == 1


async def mark_closed(
    uow: UnitOfWork, *, handoff_id: int, outcome: str, not_now_until: datetime | None, now: datetime
) -> None:
    """Give a handoff its outcome. Its last clock stays readable."""
    await uow.execute(
        "UPDATE handoffs SET status = 'closed', closed_at = :now, outcome = :outcome, "
        "    not_now_until = :not_now_until "
        "WHERE id = :id",
        {"id": handoff_id, "now": now, "outcome": outcome, "not_now_until": not_now_until},
    )


@dataclass(frozen=True, slots=True)
class LockedSeat:
    """A person as an assignment by hand sees them.

    Without a profile there is no place to fill: capacity 0.
    """

    user_id: int
    name: str
    state: str | None
    is_active: bool
    load: int
    capacity: int

    @property
    def is_full(self) -> bool:
        """Say whether one more would be above the capacity."""
        return self.load >= self.capacity


async def lock_seat(uow: UnitOfWork, *, user_id: int) -> LockedSeat:
    """Lock an adviser, then count the load. Raises `NotFound` for an unknown person.

    Whoever gives a handoff to somebody holds that adviser's lock from the count to the commit; so two of them
    cannot both see the same last place.
    """
    await uow.execute(
        "SELECT user_id FROM adviser_profiles WHERE user_id = :id FOR NO KEY UPDATE", {"id": user_id}
    )
    rows = await uow.execute(
        "SELECT u.id AS user_id, u.name, p.state, u.active AS is_active, "
        "    coalesce(p.capacity, 0) AS capacity, "
        f"    {load_sql('u.id')} AS load "
        "FROM users u LEFT JOIN adviser_profiles p ON p.user_id = u.id WHERE u.id = :id",
        {"id": user_id},
    )
    row = rows.mappings().one_or_none()
    if row is None:
        raise NotFound("There is no such person.", user_id=user_id)
    return LockedSeat(**row)


async def name_of(uow: UnitOfWork, *, user_id: int) -> str:
    """Return a person's name, for words such as who was faster."""
    rows = await uow.execute("SELECT name FROM users WHERE id = :id", {"id": user_id})
    return str(rows.scalar() or "Somebody")


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """One assignment to write. Load and capacity are those before it; None where it goes to the pool."""

    handoff_id: int
    contact_id: int
    owner_id: int | None
    reason: str
    actor: str
    at: datetime
    load_seen: int | None = None
    capacity_seen: int | None = None
    override_by: str | None = None
    override_reason: str | None = None
    candidates: Sequence[Any] = ()


_ROWS = """jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    handoff_id bigint, contact_id bigint, owner_id bigint, reason text, actor text, at timestamptz,
    load_seen integer, capacity_seen integer, override_by text, override_reason text, candidates jsonb,
    n integer)
"""

# A new owner has not accepted yet, whoever did before.
_SET_OWNERS = f"""
UPDATE handoffs h
SET owner_id = r.owner_id,
    status = CASE h.status WHEN 'accepted' THEN 'open' ELSE h.status END,
    accepted_at = CASE h.status WHEN 'accepted' THEN NULL ELSE h.accepted_at END
FROM {_ROWS} WHERE h.id = r.handoff_id
"""

_INSERT = f"""
INSERT INTO assignments (handoff_id, contact_id, owner_id, load_seen, capacity_seen, override_by,
    override_reason, reason, candidates, actor, at)
SELECT handoff_id, contact_id, owner_id, load_seen, capacity_seen, override_by,
    override_reason, reason, candidates, actor, at
FROM {_ROWS} ORDER BY n
"""

_SET_STICKY_OWNERS = f"UPDATE contacts c SET owner_id = r.owner_id FROM {_ROWS} WHERE c.id = r.contact_id"

_SET_LAST_ASSIGNED = f"""
UPDATE adviser_profiles p SET last_assigned_at = r.last_at
FROM (SELECT owner_id, max(at) AS last_at FROM {_ROWS} WHERE owner_id IS NOT NULL GROUP BY owner_id) r
WHERE p.user_id = r.owner_id
"""


async def save_assignments(uow: UnitOfWork, rows: Sequence[AssignmentRow]) -> None:
    """Write assignments and all that follows from them.

    Contacts, handoffs and advisers are locked by the caller.
    """
    if not rows:
        return
    encoded = [{**msgspec.to_builtins(row), "n": n} for n, row in enumerate(rows)]
    values = {"rows": msgspec.json.encode(encoded).decode()}
    for statement in (_SET_STICKY_OWNERS, _SET_OWNERS, _INSERT, _SET_LAST_ASSIGNED):
        await uow.execute(statement, values)
