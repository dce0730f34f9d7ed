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
    OpenTask,
    QueueSend,
    SupersedeSends,
    SuppressChannel,
)
from app.campaigns.repository import Record
from app.campaigns.waiting.operations import drop_waiting
from app.contacts.cooldowns.operations import begin_cooldown
from app.db.session import UnitOfWork

OPT_OUTS = ("stop_word", "provider_block", "complaint")
"""Reasons for which a channel closes because the person wants no more: they rest as well, should it open again."""
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
            case OpenTask():
                await _open_task(uow, record, effect, now)
            case SuppressChannel(channel, reason):
                await suppress(
                    uow,
                    contact_id=record.contact_id,
                    enrolment_id=record.id,
                    channel=channel,
                    reason=reason,
                    source=actor,
                    now=now,
                )
            case CoolDown(reason, until):
                await begin_cooldown(
                    uow,
                    contact_id=record.contact_id,
                    reason=reason,
                    enrolment_id=record.id,
                    until=until,
                    actor=actor,
                    now=now,
                )
            case QueueSend():
                raise AssertionError("sends are queued by the planner alone")


def _lock_rank(effect: Effect) -> int:
    order = (
        SuppressChannel, CoolDown, SupersedeSends, OpenHandoff, CloseHandoff, OpenReview, OpenTask, QueueSend
    )  # fmt: skip
    return order.index(type(effect))


async def suppress(
    uow: UnitOfWork,
    *,
    contact_id: int,
    channel: str,
    reason: str,
    source: str,
    enrolment_id: int | None = None,
    now: datetime,
) -> None:
    """Close a channel for a contact; one that is closed for this reason already stays as it is.

    Who opted out rests besides, so that no list begins anew with them once START has opened the channel again; with
    all channels closed, nothing of theirs waits for its turn any more.
    """
    closed = await uow.execute(
        "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
        "VALUES (:contact_id, :channel, :reason, :source, :now) "
        "ON CONFLICT (contact_id, channel, reason) WHERE lifted_at IS NULL DO NOTHING RETURNING id",
        {"contact_id": contact_id, "channel": channel, "reason": reason, "source": source, "now": now},
    )
    if reason not in OPT_OUTS or (closed.one_or_none() is None and enrolment_id is None):
        return
    await begin_cooldown(
        uow, contact_id=contact_id, reason="opted_out", enrolment_id=enrolment_id, actor=source, now=now
    )
    if channel == "all":
        await drop_waiting(uow, contact_id=contact_id, reason="suppressed", actor=source, now=now)


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


async def _open_task(uow: UnitOfWork, record: Record, task: OpenTask, now: datetime) -> None:
    """Give a task to whoever has the lead, else to whoever had it last, else to all; the same one is opened once."""
    await uow.execute(
        "INSERT INTO tasks (kind, subject, contact_id, enrolment_id, owner_id, title, due_at, created_at) "
        "SELECT :kind, :subject, c.id, :enrolment_id, CASE WHEN CAST(:who AS text) = 'owner' THEN coalesce("
        "(SELECT h.owner_id FROM handoffs h WHERE h.contact_id = c.id AND h.status <> 'closed'), c.owner_id) END, "
        ":title, :due_at, :now FROM contacts c WHERE c.id = :contact_id "
        "ON CONFLICT (kind, subject) WHERE done_at IS NULL DO NOTHING",
        {
            "kind": task.kind,
            "subject": f"enrolment:{record.id}:{task.subject}",
            "contact_id": record.contact_id,
            "enrolment_id": record.id,
            "who": task.who,
            "title": task.title,
            "due_at": task.due_at,
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
