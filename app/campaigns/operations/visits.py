"""What becomes of a journey when its lead books a visit, moves it, cancels it, comes, or does not come.

The booking itself is written before, in the same transaction, by whoever keeps bookings; these are facts. One that
no journey can take is kept in the contact's ledger, and where somebody must know, a person is told.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.advisers.operations import handoffs
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.schedule import Visit
from app.campaigns.domain.stimuli import (
    AttendanceCorrected,
    Attended,
    Booked,
    Cancelled,
    Due,
    NoShow,
    Rescheduled,
    Stimulus,
)
from app.campaigns.domain.vocabulary import Path, Stage
from app.campaigns.operations.apply import apply
from app.campaigns.operations.attribution import last_campaign_send
from app.campaigns.operations.effects import Trigger, open_review
from app.campaigns.operations.enrol import EnrolRequest, enrol
from app.campaigns.repository import Record, lock_enrolments, lock_live_enrolment
from app.campaigns.versions import load_versions
from app.contacts.finding import lock_contact
from app.db.session import UnitOfWork
from app.kernel.errors import NotFound
from app.ledger.repository import append_contact_event

MOST_AT_ONCE = 200


async def visit_booked(uow: UnitOfWork, *, booking_id: int, actor: str, now: datetime) -> None:
    """Confirm a new visit: the live journey goes on with it, or one begins for it.

    Raises `CommandRefused` where the lead has a visit already: then it is offered as a change of time.
    """
    booking = await _booking(uow, booking_id)
    contact = await lock_contact(uow, booking.contact_id)
    record = await lock_live_enrolment(uow, contact_id=contact.id)
    booked = Booked(actor, _visit(booking))
    if record is not None:
        await _tell(uow, record, booked, actor, now)
        return
    await _begin(uow, booking, contact.id, booked, actor, now)


async def visit_rescheduled(uow: UnitOfWork, *, booking_id: int, actor: str, now: datetime) -> None:
    """Confirm the new time of a visit."""
    booking = await _booking(uow, booking_id)
    await _tell_or_note(uow, booking, Rescheduled(actor, _visit(booking)), actor, now)


async def visit_cancelled(uow: UnitOfWork, *, booking_id: int, actor: str, now: datetime) -> None:
    """Give a lead whose visit is off to a person."""
    booking = await _booking(uow, booking_id)
    await _tell_or_note(uow, booking, Cancelled(actor), actor, now)


async def visit_marked(uow: UnitOfWork, *, booking_id: int, came: bool, actor: str, now: datetime) -> None:
    """Go on with what follows a visit that took place, or did not. A second word that differs corrects the first."""
    booking = await _booking(uow, booking_id)
    contact = await lock_contact(uow, booking.contact_id)
    record = await lock_live_enrolment(uow, contact_id=contact.id)
    marked: Stimulus = Attended(actor) if came else NoShow(actor)
    other = Stage.NO_SHOW if came else Stage.ATTENDED
    if record is not None and record.state.booking_id == booking_id and record.state.stage is other:
        marked = AttendanceCorrected(actor)
    await _tell_or_note(uow, booking, marked, actor, now)
    await uow.execute(
        "UPDATE tasks SET done_at = :now, done_by = :actor, outcome = :outcome "
        "WHERE kind = 'mark_visit' AND contact_id = :contact_id AND done_at IS NULL",
        {"now": now, "actor": actor, "outcome": str(marked.stim), "contact_id": contact.id},
    )


async def remind_by_hand(uow: UnitOfWork, *, enrolment_id: int, now: datetime) -> None:
    """Turn what falls due before a visit into a task, while a person has the lead."""
    for record in await lock_enrolments(uow, [enrolment_id], skip_locked=True):
        state = record.state
        due = state.next_run_at is not None and state.next_run_at <= now
        if due and record.lock_token is None and state.automation == "paused" and state.stage is Stage.BOOKED:
            await apply(uow, record, [Due()], actor="engine", now=now)


async def find_reminders(uow: UnitOfWork, *, now: datetime) -> list[int]:
    """Return paused journeys before a visit whose timer is due, the earliest first."""
    rows = await uow.execute(
        "SELECT id FROM enrolments WHERE automation = 'paused' AND stage = 'booked' AND lock_token IS NULL "
        "AND next_run_at <= :now ORDER BY next_run_at LIMIT :most",
        {"now": now, "most": MOST_AT_ONCE},
    )
    return [row.id for row in rows]


async def _tell_or_note(
    uow: UnitOfWork, booking: Row[Any], stimulus: Stimulus, actor: str, now: datetime
) -> None:
    """Tell the live journey if the visit is its own; otherwise the contact's ledger keeps it."""
    contact = await lock_contact(uow, booking.contact_id)
    record = await lock_live_enrolment(uow, contact_id=contact.id)
    if record is not None and record.state.booking_id == booking.id:
        await _tell(uow, record, stimulus, actor, now)
        return
    await append_contact_event(
        uow,
        contact_id=contact.id,
        type=str(stimulus.stim),
        at=now,
        actor=actor,
        cause="no_journey",
        booking_id=booking.id,
    )
    if isinstance(stimulus, Cancelled):
        await handoffs.open_or_touch(
            uow,
            contact_id=contact.id,
            enrolment_id=None,
            reason="cancelled",
            flag=None,
            trigger_send_id=None,
            actor=actor,
            now=now,
        )


async def _tell(uow: UnitOfWork, record: Record, stimulus: Stimulus, actor: str, now: datetime) -> None:
    trigger = Trigger(await last_campaign_send(uow, record.contact_id, record.id, now))
    await apply(uow, record, [stimulus], actor=actor, trigger=trigger, now=now)


async def _begin(
    uow: UnitOfWork, booking: Row[Any], contact_id: int, booked: Booked, actor: str, now: datetime
) -> None:
    """Begin a journey for a visit that was booked without one; where none can, a person sees to the visit."""
    key = await _visit_campaign(uow, booking.program_id)
    reason = "There is no campaign that confirms visits."
    if key is not None:
        request = EnrolRequest(contact_id, f"booking:{booking.id}", own_act="booked a visit", booked=booked)
        result = await enrol(uow, campaign_key=key, request=request, actor=actor, now=now)
        if result.outcome in ("enrolled", "repeated"):
            return
        reason = f"The campaign does not take them: {result.reason}."
    await append_contact_event(
        uow,
        contact_id=contact_id,
        type="booked",
        at=now,
        actor=actor,
        cause="no_journey",
        booking_id=booking.id,
    )
    await open_review(
        uow,
        subject=f"booking:{booking.id}",
        title=f"This visit is confirmed by nobody. {reason}",
        contact_id=contact_id,
        now=now,
    )


async def _visit_campaign(uow: UnitOfWork, program_id: int) -> str | None:
    """Return the key of the program's campaign that visits go to: the first open one that confirms them."""
    rows = (
        await uow.execute(
            "SELECT key, current_version_id FROM campaigns WHERE program_id = :id AND status <> 'archived' "
            "AND current_version_id IS NOT NULL ORDER BY (status = 'active') DESC, id",
            {"id": program_id},
        )
    ).all()
    versions = await load_versions(uow, [row.current_version_id for row in rows])
    confirms = [row.key for row in rows if _confirms(versions[row.current_version_id])]
    return confirms[0] if confirms else None


def _confirms(version: CompiledVersion) -> bool:
    return Path.CONFIRMATION in version.paths


async def _booking(uow: UnitOfWork, booking_id: int) -> Row[Any]:
    row = (
        await uow.execute(
            "SELECT id, contact_id, program_id, starts_at, ends_at FROM bookings WHERE id = :id",
            {"id": booking_id},
        )
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such booking.")
    return row


def _visit(booking: Row[Any]) -> Visit:
    return Visit(booking.id, booking.starts_at, booking.ends_at)
