"""Who owns a handoff, decided by people: accept, take from the pool, assign by a manager."""

from __future__ import annotations

from datetime import datetime

from app.advisers import repository
from app.advisers.domain.handoffs import Handoff, check_open
from app.advisers.events import CapacityFreed, HandoffAccepted, HandoffAssigned
from app.advisers.repository import AssignmentRow, LockedSeat
from app.db.session import UnitOfWork
from app.kernel.errors import Conflict, Forbidden, Invalid
from app.ledger.repository import append_contact_event


async def accept(uow: UnitOfWork, *, handoff_id: int, user_id: int, now: datetime) -> None:
    """Record that the owner takes care; again is nothing new.

    Raises `Conflict` where it is not (or no more) theirs.
    """
    handoff = await repository.lock_handoff(uow, handoff_id=handoff_id)
    check_open(handoff)
    if handoff.owner_id is None:
        raise Conflict("This lead is in the pool: take it first.", handoff_id=handoff_id)
    if handoff.owner_id != user_id:
        raise await _taken(uow, handoff)
    await _accept(uow, handoff, user_id=user_id, now=now)


async def take(uow: UnitOfWork, *, handoff_id: int, user_id: int, now: datetime) -> None:
    """Take a handoff from the pool and accept it; one's own is accepted again without effect.

    Also outside working hours, and while not taking leads: it is the person's own act. Raises `Conflict`
    naming the owner if somebody was faster, or if the adviser has no place left, and `Forbidden` for people
    without a seat.
    """
    handoff = await repository.lock_handoff(uow, handoff_id=handoff_id)
    check_open(handoff)
    if handoff.owner_id is not None and handoff.owner_id != user_id:
        raise await _taken(uow, handoff)
    if handoff.owner_id is None:
        seat = await repository.lock_seat(uow, user_id=user_id)
        if seat.state is None or seat.state == "left" or not seat.is_active:
            raise Forbidden("Only advisers take leads. Assign it to one.")
        if seat.is_full:
            raise Conflict(
                f"You have {seat.load} of {seat.capacity} leads. Close one first, or ask a manager.",
                handoff_id=handoff_id,
            )
        await give(uow, handoff, seat, reason="took it from the pool", actor=f"user:{user_id}", now=now)
    await _accept(uow, handoff, user_id=user_id, now=now)


async def assign_to(
    uow: UnitOfWork,
    *,
    handoff_id: int,
    owner_id: int | None,
    actor: str,
    override_reason: str | None = None,
    now: datetime,
) -> None:
    """Give a handoff to an adviser, or back to the pool (`owner_id` None); to its owner is nothing new.

    Above the capacity only with a reason, which is stored. The clock goes on. Raises `Conflict` where the
    adviser is full, `Invalid` where they are not ready, `NotFound`.
    """
    handoff = await repository.lock_handoff(uow, handoff_id=handoff_id)
    check_open(handoff)
    if handoff.owner_id == owner_id:
        return
    if owner_id is None:
        await _give_back(uow, handoff, actor=actor, now=now)
        return
    seat = await repository.lock_seat(uow, user_id=owner_id)
    override = (override_reason or "").strip() or None
    if seat.state != "ready" or not seat.is_active:
        raise Invalid(f"{seat.name} is not ready to take leads.", field="adviser_id")
    if seat.is_full and override is None:
        raise Conflict(
            f"{seat.name} has {seat.load} of {seat.capacity} leads. Give a reason to go above it.",
            field="override_reason",
        )
    await give(
        uow,
        handoff,
        seat,
        reason="assigned by hand",
        override_reason=override if seat.is_full else None,
        actor=actor,
        now=now,
    )


async def give(
    uow: UnitOfWork,
    handoff: Handoff,
    seat: LockedSeat,
    *,
    reason: str,
    override_reason: str | None = None,
    actor: str,
    now: datetime,
) -> None:
    """Store that a locked handoff goes to a locked seat, with the load and capacity seen.

    The caller judged them.
    """
    row = AssignmentRow(
        handoff_id=handoff.id,
        contact_id=handoff.contact_id,
        owner_id=seat.user_id,
        reason=reason,
        actor=actor,
        at=now,
        load_seen=seat.load,
        capacity_seen=seat.capacity,
        override_by=actor if override_reason else None,
        override_reason=override_reason,
    )
    await _store(uow, handoff, row)


async def _give_back(uow: UnitOfWork, handoff: Handoff, *, actor: str, now: datetime) -> None:
    row = AssignmentRow(
        handoff_id=handoff.id,
        contact_id=handoff.contact_id,
        owner_id=None,
        reason="given back to the pool",
        actor=actor,
        at=now,
    )
    await _store(uow, handoff, row)


async def _store(uow: UnitOfWork, handoff: Handoff, row: AssignmentRow) -> None:
    await repository.save_assignments(uow, [row])
    await append_contact_event(
        uow,
        contact_id=row.contact_id,
        type="assigned",
        at=row.at,
        actor=row.actor,
        handoff_id=row.handoff_id,
        owner_id=row.owner_id,
        previous_owner_id=handoff.owner_id,
        reason=row.reason,
        load=row.load_seen,
        capacity=row.capacity_seen,
        above_capacity=True if row.override_by else None,
    )
    uow.emit(HandoffAssigned(row.contact_id, row.handoff_id, row.owner_id, handoff.owner_id))
    if handoff.owner_id is not None:
        uow.emit(CapacityFreed(handoff.team))


async def _accept(uow: UnitOfWork, handoff: Handoff, *, user_id: int, now: datetime) -> None:
    if not await repository.mark_accepted(uow, handoff_id=handoff.id, now=now):
        return
    await append_contact_event(
        uow,
        contact_id=handoff.contact_id,
        type="accepted",
        at=now,
        actor=f"user:{user_id}",
        handoff_id=handoff.id,
        user_id=user_id,
    )
    uow.emit(HandoffAccepted(handoff.contact_id, handoff.id, user_id))


async def _taken(uow: UnitOfWork, handoff: Handoff) -> Conflict:
    assert handoff.owner_id is not None
    name = await repository.name_of(uow, user_id=handoff.owner_id)
    return Conflict(f"{name} has this lead.", handoff_id=handoff.id, owner_id=handoff.owner_id)
