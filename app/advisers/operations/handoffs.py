"""The life of a handoff: opened by a lead's words, answered by a person, closed with an outcome.

The caller holds the contact's lock, which makes each of these the only one at work on that contact.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.advisers import repository
from app.advisers.domain.handoffs import Handoff
from app.advisers.domain.sla import answer_time
from app.advisers.events import CapacityFreed, HandoffAnswered, HandoffClosed, HandoffOpened, HandoffTouched
from app.advisers.operations.ownership import give
from app.advisers.settings import load_rules
from app.db.session import UnitOfWork
from app.ledger.repository import append_contact_event

REASON_ANSWERED: str = "answered from the pool"


@dataclass(frozen=True, slots=True)
class HandoffChange:
    """The handoff that a lead's words opened or touched; `owner_id` is None in the pool."""

    handoff_id: int
    opened: bool
    owner_id: int | None


async def open_or_touch(
    uow: UnitOfWork,
    *,
    contact_id: int,
    enrolment_id: int | None,
    reason: str,
    flag: str | None = None,
    trigger_send_id: int | None = None,
    actor: str,
    now: datetime,
) -> HandoffChange:
    """Open a handoff in the pool, or let the open one know that the lead wrote.

    A first reply's clock starts with a new handoff. In an open one the next reply's clock starts if it was
    the lead's turn; a clock that runs goes on, because the first unanswered message counts. A `flag` (such as
    `may_want_to_stop`) takes the place of the reason, also in an open handoff: whoever reads it must see it.
    """
    standing = await repository.lock_open_handoff(uow, contact_id=contact_id)
    if standing is not None:
        return await _touch(uow, standing, enrolment_id=enrolment_id, flag=flag, now=now)
    rules = await load_rules(uow)
    clock = rules.first_clock(started_at=now)
    handoff_id, team = await repository.insert_handoff(
        uow,
        contact_id=contact_id,
        enrolment_id=enrolment_id,
        reason=flag or reason,
        trigger_send_id=trigger_send_id,
        clock=clock,
    )
    await append_contact_event(
        uow,
        contact_id=contact_id,
        type="handoff_opened",
        at=now,
        actor=actor,
        handoff_id=handoff_id,
        reason=reason,
        flag=flag,
        trigger_send_id=trigger_send_id,
        due_at=clock.due_at,
    )
    uow.emit(HandoffOpened(contact_id=contact_id, handoff_id=handoff_id, team=team))
    return HandoffChange(handoff_id=handoff_id, opened=True, owner_id=None)


async def _touch(
    uow: UnitOfWork, handoff: Handoff, *, enrolment_id: int | None, flag: str | None, now: datetime
) -> HandoffChange:
    if flag is not None:
        await repository.set_reason(uow, handoff_id=handoff.id, reason=flag, enrolment_id=enrolment_id)
    clock_starts = handoff.waiting_since is not None
    if clock_starts:
        rules = await load_rules(uow)
        await repository.start_clock(uow, handoff_id=handoff.id, clock=rules.next_clock(started_at=now))
    uow.emit(HandoffTouched(handoff.contact_id, handoff.id, handoff.owner_id, clock_started=clock_starts))
    return HandoffChange(handoff_id=handoff.id, opened=False, owner_id=handoff.owner_id)


async def record_answer(uow: UnitOfWork, *, contact_id: int, user_id: int, now: datetime) -> int | None:
    """Record that a person answered, and return the handoff's id; None where none is open.

    The clock stops and the ledger keeps how long it took in working time and whether it was in time. Out of
    the pool the handoff becomes the answerer's, above their capacity with a recorded override: they have it
    in fact. Further messages while it is the lead's turn only move "waiting since".
    """
    handoff = await repository.lock_open_handoff(uow, contact_id=contact_id)
    if handoff is None:
        return None
    owner_id = handoff.owner_id
    if owner_id is None:
        owner_id = user_id
        await _give_to_answerer(uow, handoff, user_id=user_id, now=now)
    await repository.stop_clock(uow, handoff_id=handoff.id, now=now)
    if handoff.due_at is not None:
        await _ledger_answer(uow, handoff, handoff.due_at, user_id=user_id, now=now)
    uow.emit(HandoffAnswered(contact_id, handoff.id, owner_id, user_id))
    return handoff.id


async def _give_to_answerer(uow: UnitOfWork, handoff: Handoff, *, user_id: int, now: datetime) -> None:
    seat = await repository.lock_seat(uow, user_id=user_id)
    await give(
        uow,
        handoff,
        seat,
        reason=REASON_ANSWERED,
        override_reason=REASON_ANSWERED if seat.is_full else None,
        actor=f"user:{user_id}",
        now=now,
    )


async def _ledger_answer(
    uow: UnitOfWork, handoff: Handoff, due_at: datetime, *, user_id: int, now: datetime
) -> None:
    rules = await load_rules(uow)
    took = answer_time(
        calendar=rules.calendar, started_at=handoff.clock_started_at, due_at=due_at, answered_at=now
    )
    await append_contact_event(
        uow,
        contact_id=handoff.contact_id,
        type="answered",
        at=now,
        actor=f"user:{user_id}",
        handoff_id=handoff.id,
        user_id=user_id,
        seconds=took.seconds,
        in_time=took.in_time,
        is_first=handoff.first_answered_at is None,
    )


async def close_open(
    uow: UnitOfWork,
    *,
    contact_id: int,
    outcome: str,
    not_now_until: datetime | None = None,
    actor: str,
    now: datetime,
) -> int | None:
    """Close the contact's open handoff and return its id; None where none is open.

    A second call does nothing. It counts for nobody's load from the commit on.
    """
    handoff = await repository.lock_open_handoff(uow, contact_id=contact_id)
    if handoff is None:
        return None
    await repository.mark_closed(
        uow, handoff_id=handoff.id, outcome=outcome, not_now_until=not_now_until, now=now
    )
    await append_contact_event(
        uow,
        contact_id=contact_id,
        type="handoff_closed",
        at=now,
        actor=actor,
        handoff_id=handoff.id,
        owner_id=handoff.owner_id,
        outcome=outcome,
        not_now_until=not_now_until,
    )
    uow.emit(HandoffClosed(contact_id, handoff.id, handoff.owner_id, outcome))
    if handoff.owner_id is not None:
        uow.emit(CapacityFreed(handoff.team))
    return handoff.id
