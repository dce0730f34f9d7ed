"""Commands of people: pause, resume, hold, release, close, hand back, resolve a review. The table may refuse them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.campaigns.domain.enrolment import Event
from app.campaigns.domain.stimuli import (
    AdviserResumed,
    Closed,
    HumanSignal,
    Operator,
    Position,
    ResumeDue,
    ReviewResolved,
    Stimulus,
)
from app.campaigns.domain.vocabulary import Outcome, Stim
from app.campaigns.operations.apply import apply
from app.campaigns.operations.finish import CallOutcome, settle_in
from app.campaigns.repository import Record, lock_enrolments, lock_live_enrolment
from app.contacts.finding import lock_contact
from app.db.session import UnitOfWork
from app.kernel.errors import CommandRefused, Conflict, Invalid, NotFound
from app.messaging.gateways.base import Accepted

VERDICTS = ("sent", "again", "skip")


async def operate(
    uow: UnitOfWork, *, enrolment_id: int, stim: Stim, actor: str, reason: str | None, now: datetime
) -> None:
    """Pause, resume, hold or release one journey. Raises `NotFound`, or `CommandRefused` where the table has no row."""
    record = await _lock(uow, enrolment_id)
    await _carry(uow, record, Operator(stim, actor, reason), actor, now)


async def close_journey(
    uow: UnitOfWork,
    *,
    contact_id: int,
    outcome: Outcome,
    not_now_until: datetime | None,
    actor: str,
    now: datetime,
) -> None:
    """End the live journey of a contact: won, lost or not now; closes the handoff and writes the cool-down."""
    contact = await lock_contact(uow, contact_id)
    record = await lock_live_enrolment(uow, contact_id=contact.id)
    if record is None:
        raise CommandRefused("This lead has no journey that could be closed.")
    await _carry(uow, record, Closed(actor, outcome, not_now_until), actor, now)


async def resume_by_adviser(uow: UnitOfWork, *, contact_id: int, actor: str, now: datetime) -> None:
    """Hand a lead back to the machine where it left off; the handoff closes as `resumed`."""
    contact = await lock_contact(uow, contact_id)
    record = await lock_live_enrolment(uow, contact_id=contact.id)
    if record is None:
        raise CommandRefused("This lead has no journey to go on with.")
    await _carry(uow, record, AdviserResumed(actor), actor, now)


async def pause_for_human_words(uow: UnitOfWork, *, contact_id: int, actor: str, now: datetime) -> None:
    """An adviser wrote first: the machine keeps quiet. Nothing happens to a journey that is paused already."""
    record = await lock_live_enrolment(uow, contact_id=contact_id)
    if record is None or record.state.automation != "active":
        return
    stimulus = HumanSignal(actor, type="noted", opens_handoff=False, inbound=False)
    await _carry(uow, record, stimulus, actor, now)


async def wake(uow: UnitOfWork, *, enrolment_id: int, now: datetime) -> None:
    """Let a journey go on whose stated date has come; not where a person has taken over meanwhile."""
    found = await lock_enrolments(uow, [enrolment_id], skip_locked=True)
    if not found:
        return
    record = found[0]
    if record.state.resume_at is None or record.state.resume_at > now:
        return
    if record.state.automation == "paused":
        await _carry(uow, record, ResumeDue(), "engine", now)


async def resolve_review(
    uow: UnitOfWork, *, task_id: int, verdict: str, provider_message_id: str | None, actor: str, now: datetime
) -> None:
    """Carry out what a person found out about a send nobody could tell of: `sent`, `again` or `skip`.

    Raises `Invalid` for another verdict and `Conflict` where the question is answered already.
    """
    if verdict not in VERDICTS:
        raise Invalid(f"A review ends with {', '.join(VERDICTS)}.")
    task = await _open_review(uow, task_id)
    records = await lock_enrolments(uow, [task.enrolment_id] if task.enrolment_id else [])
    send = await _reviewed_send(uow, task.subject)
    await _open_review(uow, task_id)  # the locks may have been waited for
    if send is not None:
        await _settle_review(uow, send, verdict, provider_message_id, records, now)
        records = await lock_enrolments(uow, [task.enrolment_id] if task.enrolment_id else [])
    if records and records[0].state.automation == "held":
        position = Position(send.path, send.step, send.lap, send.generation) if send is not None else None
        ref = task.subject.removeprefix(f"enrolment:{records[0].id}:")
        stimulus = ReviewResolved(actor, verdict, position, send.id if send is not None else None, ref)
        await _carry(uow, records[0], stimulus, actor, now)
    elif records and _was_to_rest(task.subject, records[0]):
        told = Event("task_done", actor, {"kind": "review", "verdict": "goes_on"})
        resume = Operator(Stim.OPERATOR_RESUMED, actor, "in spite of the rest")
        await apply(uow, records[0], [resume], events=[told], actor=actor, now=now)
    await uow.execute(
        "UPDATE tasks SET done_at = :now, done_by = :actor, outcome = :verdict WHERE id = :id",
        {"now": now, "actor": actor, "verdict": verdict, "id": task.id},
    )


def _was_to_rest(subject: str, record: Record) -> bool:
    """Say whether the question is about a journey that a backfill of cool-downs paused, and that still waits for it."""
    is_paused = record.state.automation == "paused" and record.state.pause_reason == "cooldown"
    return is_paused and subject == f"enrolment:{record.id}:cooldown"


async def _settle_review(
    uow: UnitOfWork,
    send: Row[Any],
    verdict: str,
    provider_message_id: str | None,
    records: Sequence[Record],
    now: datetime,
) -> None:
    """Write what the person found out on the send: it was accepted after all, or certainly is not out."""
    if send.status not in ("needs_review", "unknown"):
        raise Conflict(
            "This message is on its way again, or its outcome is known: the question is out of date."
        )
    if verdict == "sent":
        if send.attempt_id is None:
            raise Invalid("This message was never handed to the provider, so it cannot have been sent.")
        result = Accepted(provider_message_id or "", "accepted")  # a later report brings the real id
        await settle_in(uow, [CallOutcome(send.attempt_id, result, "reviewer")], now=now)
        return
    await uow.execute(
        "UPDATE send_attempts SET outcome = 'ruled_not_sent', "
        "finished_at = coalesce(finished_at, clock_timestamp()) "
        "WHERE send_id = :id AND (outcome IS NULL OR outcome = 'unknown')",
        {"id": send.id},
    )
    await uow.execute(
        "UPDATE sends SET status = :status, status_at = :now, reason = 'review', attempts = 0, "
        "not_before = clock_timestamp() WHERE id = :id",
        {"status": _status_after(verdict, records), "now": now, "id": send.id},
    )


def _status_after(verdict: str, records: Sequence[Record]) -> str:
    if verdict == "skip":
        return "skipped"
    if not records:
        return "queued"
    return "superseded" if records[0].state.automation == "completed" else "waiting"


async def _open_review(uow: UnitOfWork, task_id: int) -> Row[Any]:
    task = (
        await uow.execute(
            "SELECT id, subject, enrolment_id FROM tasks WHERE id = :id AND kind = 'review' AND done_at IS NULL",
            {"id": task_id},
        )
    ).one_or_none()
    if task is None:
        raise Conflict("This review is done already.")
    return task


async def _reviewed_send(uow: UnitOfWork, subject: str) -> Row[Any] | None:
    kind, _, number = subject.partition(":")
    if kind != "send" or not number.isdigit():
        return None
    return (
        await uow.execute(
            "SELECT s.id, s.status, s.path, s.step, s.lap, s.generation, a.id AS attempt_id FROM sends s "
            "LEFT JOIN LATERAL (SELECT id FROM send_attempts WHERE send_id = s.id ORDER BY n DESC LIMIT 1) a ON true "
            "WHERE s.id = :id FOR NO KEY UPDATE OF s",
            {"id": int(number)},
        )
    ).one_or_none()


async def _lock(uow: UnitOfWork, enrolment_id: int) -> Record:
    found = await lock_enrolments(uow, [enrolment_id])
    if not found:
        raise NotFound("There is no such journey.")
    return found[0]


async def _carry(uow: UnitOfWork, record: Record, stimulus: Stimulus, actor: str, now: datetime) -> None:
    await apply(uow, record, [stimulus], actor=actor, now=now)
