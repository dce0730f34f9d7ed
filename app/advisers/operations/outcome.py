"""How it ended, logged by a person."""

from __future__ import annotations

from datetime import datetime

from app.advisers import repository
from app.advisers.domain.handoffs import check_open, check_outcome
from app.advisers.events import OutcomeLogged, OutcomeNoted
from app.advisers.operations.handoffs import close_open
from app.db.session import UnitOfWork


async def lock_lead(uow: UnitOfWork, *, handoff_id: int) -> int:
    """Lock the contact of a handoff and return its id, so that what is read about it next stays true."""
    return await repository.lock_contact_of(uow, handoff_id=handoff_id)


async def log_outcome(
    uow: UnitOfWork,
    *,
    handoff_id: int,
    outcome: str,
    not_now_until: datetime | None,
    has_live_enrolment: bool,
    note: str = "",
    actor: str,
    now: datetime,
) -> None:
    """Log won, lost, not now, or nothing to do. `has_live_enrolment` was read under the contact's lock.

    One of two closes the handoff, never both. Without a live enrolment it is closed here. With one,
    `OutcomeLogged` lets the campaign close the enrolment in the same transaction, and that closes the handoff
    as every other end of an enrolment does; the handoff's row is not locked here, because the enrolment's
    lock comes before it. Raises `Invalid`, `Conflict` (closed already), `NotFound`.
    """
    contact_id = await repository.lock_contact_of(uow, handoff_id=handoff_id)
    check_open(await repository.read_handoff(uow, handoff_id=handoff_id))
    check_outcome(outcome, not_now_until=not_now_until, has_live_enrolment=has_live_enrolment, now=now)
    until = not_now_until if outcome == "not_now" else None
    if note.strip():
        uow.emit(OutcomeNoted(contact_id, handoff_id, note.strip(), actor))
    if has_live_enrolment:
        uow.emit(OutcomeLogged(contact_id, handoff_id, outcome, until, actor))
        return
    await close_open(uow, contact_id=contact_id, outcome=outcome, not_now_until=until, actor=actor, now=now)
