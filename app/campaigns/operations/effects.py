"""Carrying out what a decision asks for beyond the enrolment itself: handoffs, tasks, suppressions, cool-downs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.advisers.operations import handoffs
from app.campaigns.domain.enrolment import (
    CloseHandoff,
    CoolDown,
    Effect,
    OpenHandoff,
    OpenReview,
    QueueSend,
    SupersedeSends,
    SuppressChannel,
)
from app.campaigns.repository import Record
from app.db.session import UnitOfWork

# Days by exit reason; `not_now` lasts until the date that was given.
COOLDOWN_DAYS = {
    "breakup": 60,
    "completed": 30,
    "won": 30,
    "lost": 90,
    "not_now": 30,
    "manual": 30,
}
REVIEW_DUE = timedelta(hours=4)


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a handoff hangs on besides its reason: the last message of ours before it."""

    send_id: int | None = None


async def carry_out(
    uow: UnitOfWork,
    *,
    record: Record,
    effects: Iterable[Effect],
    actor: str,
    now: datetime,
    trigger: Trigger = Trigger(),
) -> None:
    """Carry out the effects of one decision, in the lock order: send, handoff, task."""
    for effect in sorted(effects, key=_lock_rank):
        match effect:
            case SupersedeSends(reason):
                await _supersede(uow, record.id, reason, now)
            case OpenHandoff(reason, flag):
                await handoffs.open_or_touch(
                    uow,
                    contact_id=record.contact_id,
                    enrolment_id=record.id,
                    reason=reason,
                    flag=flag,
                    trigger_send_id=trigger.send_id,
                    actor=actor,
                    now=now,
                )
            case CloseHandoff(outcome, until):
                await _close_unowned(uow, record.id, actor, now)
                await handoffs.close_open(
                    uow,
                    contact_id=record.contact_id,
                    outcome=str(outcome),
                    not_now_until=until,
                    actor=actor,
                    now=now,
                )
            case OpenReview(ref, title):
                await open_review(
                    uow,
                    subject=ref if ref.startswith("send:") else f"enrolment:{record.id}:{ref}",
                    title=title,
                    contact_id=record.contact_id,
                    enrolment_id=record.id,
                    now=now,
                )
            case SuppressChannel(channel, reason):
                await suppress(
                    uow, contact_id=record.contact_id, channel=channel, reason=reason, source=actor, now=now
                )
            case CoolDown(reason, until):
                await _cool_down(uow, record, reason, until, actor, now)
            case QueueSend():
                raise AssertionError("sends are queued by the planner alone")


def _lock_rank(effect: Effect) -> int:
    order = (SuppressChannel, CoolDown, SupersedeSends, OpenHandoff, CloseHandoff, OpenReview, QueueSend)
    return order.index(type(effect))


async def suppress(
    uow: UnitOfWork, *, contact_id: int, channel: str, reason: str, source: str, now: datetime
) -> None:
    """Close a channel for a contact; one that is closed for this reason already stays as it is."""
    await uow.execute(
        "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
        "VALUES (:contact_id, :channel, :reason, :source, :now) "
        "ON CONFLICT (contact_id, channel, reason) WHERE lifted_at IS NULL DO NOTHING",
        {"contact_id": contact_id, "channel": channel, "reason": reason, "source": source, "now": now},
    )


async def _supersede(uow: UnitOfWork, enrolment_id: int, reason: str, now: datetime) -> None:
    """Mark the sends that wait for a later moment. A queued one is settled by its start, which holds the lock."""
    await uow.execute(
        "UPDATE sends SET status = 'superseded', status_at = :now, reason = :reason "
        "WHERE enrolment_id = :enrolment_id AND status = 'waiting'",
        {"enrolment_id": enrolment_id, "reason": reason, "now": now},
    )


async def open_review(
    uow: UnitOfWork,
    *,
    subject: str,
    title: str,
    contact_id: int | None = None,
    enrolment_id: int | None = None,
    owner_id: int | None = None,
    now: datetime,
) -> None:
    """Ask a person; a question about a subject that is asked already stays as it is."""
    await uow.execute(
        "INSERT INTO tasks (kind, subject, contact_id, enrolment_id, owner_id, title, due_at, created_at) "
        "VALUES ('review', :subject, :contact_id, :enrolment_id, :owner_id, :title, :due_at, :now) "
        "ON CONFLICT (kind, subject) WHERE done_at IS NULL DO NOTHING",
        {
            "subject": subject,
            "contact_id": contact_id,
            "enrolment_id": enrolment_id,
            "owner_id": owner_id,
            "title": title,
            "due_at": now + REVIEW_DUE,
            "now": now,
        },
    )


async def _close_unowned(uow: UnitOfWork, enrolment_id: int, actor: str, now: datetime) -> None:
    """Somebody took care: the question who does is answered."""
    await uow.execute(
        "UPDATE tasks SET done_at = :now, done_by = :actor, outcome = 'no_action' "
        "WHERE kind = 'review' AND subject = :subject AND done_at IS NULL",
        {"now": now, "actor": actor, "subject": f"enrolment:{enrolment_id}:unowned"},
    )


async def _cool_down(
    uow: UnitOfWork, record: Record, reason: str, until: datetime | None, actor: str, now: datetime
) -> None:
    ends_at = until or now + timedelta(days=COOLDOWN_DAYS.get(reason, COOLDOWN_DAYS["manual"]))
    if ends_at <= now:
        return
    await uow.execute(
        "INSERT INTO cooldowns (contact_id, reason, enrolment_id, starts_at, ends_at, created_by) "
        "VALUES (:contact_id, :reason, :enrolment_id, :now, :ends_at, :actor)",
        {
            "contact_id": record.contact_id,
            "reason": reason,
            "enrolment_id": record.id,
            "now": now,
            "ends_at": ends_at,
            "actor": actor,
        },
    )
