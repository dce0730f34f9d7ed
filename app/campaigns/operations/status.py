"""Status reports: find the attempt, lock that send's enrolment, raise the rank. Late, doubled or odd: never back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row

from app.campaigns.domain.enrolment import Event
from app.campaigns.domain.stimuli import FailedLater, Seen, Stimulus
from app.campaigns.operations.apply import apply
from app.campaigns.operations.finish import (
    CLOSES_CHANNEL,
    CallOutcome,
    close_channel,
    closing_stimulus,
    settle_in,
)
from app.campaigns.operations.retry import ARRIVED_AFTER_ALL, try_again
from app.campaigns.repository import KEEP, Lock, Record, lock_enrolments
from app.db.session import Database, UnitOfWork
from app.ledger.repository import append_contact_event
from app.messaging.domain.inbound import Unprocessable
from app.messaging.domain.statuses import RankVerdict, StatusEvent, apply_rank, send_status_for
from app.messaging.events import AdviserSendFailed, SendChanged
from app.messaging.gateways.base import Accepted
from app.messaging.gateways.twilio.errors import disposition_for, rule_for
from app.messaging.operations.receive import read_status

ACTOR = "provider"
PARK = timedelta(seconds=5)
LONGEST_PARK = timedelta(hours=1)
GIVE_UP_AFTER = timedelta(hours=24)


async def process_status(database: Database, *, signal_id: int) -> bool:
    """Process one stored report; False where somebody else does. One that matches nothing yet is kept for later."""
    async with database.transaction() as uow:
        signal = (
            await uow.execute(
                "SELECT id, payload, at, tries, received_at < clock_timestamp() - CAST(:give_up AS interval) AS old "
                "FROM signals WHERE id = :id AND kind = 'status' AND processed_at IS NULL FOR UPDATE SKIP LOCKED",
                {"id": signal_id, "give_up": GIVE_UP_AFTER},
            )
        ).one_or_none()
        if signal is None:
            return False
        report = read_status(signal.payload)
        if isinstance(report, Unprocessable):
            await _done(uow, signal.id, f"ignored:{report.reason}", None)
            return True
        located = await _locate(uow, report)
        if located is None:
            await _park(uow, signal)
            return True
        outcome = await _apply(uow, report, located, signal.at)
        await _done(uow, signal.id, outcome, located)
    return True


_LOCATE = """
SELECT a.id AS attempt_id, a.provider_message_id, a.outcome, s.id AS send_id, s.enrolment_id, s.contact_id, s.kind,
    s.author_id, s.path, s.step, s.channel, s.campaign_id,
    coalesce(s.enrolment_id, (SELECT e.id FROM enrolments e WHERE e.contact_id = s.contact_id
        AND e.automation <> 'completed')) AS lock_id  -- an adviser's message concerns the live journey
FROM send_attempts a JOIN sends s ON s.id = a.send_id
"""


async def _locate(uow: UnitOfWork, report: StatusEvent) -> Row[Any] | None:
    """Find the attempt by the id in the callback's address, else by the provider's own id."""
    if report.attempt_id is not None:
        row = (await uow.execute(f"{_LOCATE} WHERE a.id = :id", {"id": report.attempt_id})).one_or_none()
        if row is not None:
            return row
    return (
        await uow.execute(
            f"{_LOCATE} WHERE a.provider = 'twilio' AND a.provider_message_id = :sid",
            {"sid": report.provider_message_id},
        )
    ).one_or_none()


async def _apply(uow: UnitOfWork, report: StatusEvent, located: Row[Any], now: datetime) -> str:
    """Let the acceptance through its door first: a report proves that the provider has the message."""
    if (located.outcome, located.provider_message_id) != ("accepted", report.provider_message_id):
        accepted = CallOutcome(
            located.attempt_id, Accepted(report.provider_message_id, report.status), "callback"
        )
        await settle_in(uow, [accepted], now=now)
    records = await lock_enrolments(uow, [located.lock_id] if located.lock_id else [])
    send = (
        await uow.execute(
            "SELECT s.status, a.provider_message_id AS sid, a.outcome, "
            "(SELECT max(b.n) FROM send_attempts b WHERE b.send_id = s.id) = a.n AS latest "
            "FROM sends s JOIN send_attempts a ON a.send_id = s.id "
            "WHERE a.id = :attempt FOR NO KEY UPDATE OF s",
            {"attempt": located.attempt_id},
        )
    ).one()
    if send.sid != report.provider_message_id:
        return "ignored:another_message_of_this_attempt"
    if not send.latest:
        return "ignored:a_later_attempt_stands"
    if send.outcome == "failed" and send.status in ("queued", "waiting"):
        return await _after_a_failure(uow, report, located, records, now)
    rank = apply_rank(current=send.status, new=report.status)
    if not rank.changes_state:
        if rank.is_anomaly:
            await _tell(
                uow, located, records, [Event("ignored", str(rank.verdict), _data(located, report))], (), now
            )
        return f"ignored:{rank.verdict}"
    status = send_status_for(report.status)
    if status is None or status == send.status:
        return "same_status"
    await uow.execute(
        "UPDATE sends SET status = :status, status_at = :now, reason = :reason WHERE id = :id",
        {
            "status": status,
            "now": now,
            "reason": str(report.error_code) if report.error_code else None,
            "id": located.send_id,
        },
    )
    uow.emit(SendChanged(located.contact_id, located.send_id, located.kind))
    if rank.verdict is RankVerdict.FAILED:
        return await _failed(uow, report, located, records, now)
    if status not in ("delivered", "read"):
        await _tell(uow, located, records, [], (), now)
        return status
    seen = [Seen(status, now, f"send:{located.send_id}")] if located.enrolment_id is not None else []
    await _tell(uow, located, records, [Event(status, None, _data(located, report))], seen, now)
    return status


async def _after_a_failure(
    uow: UnitOfWork, report: StatusEvent, located: Row[Any], records: Sequence[Record], now: datetime
) -> str:
    """A word about a failed attempt while the send waits for its next: if it arrived after all, that one stops."""
    if report.status not in ("delivered", "read"):
        return "ignored:late"
    await uow.execute(
        "UPDATE sends SET reason = :why WHERE id = :id", {"why": ARRIVED_AFTER_ALL, "id": located.send_id}
    )
    event = Event("ignored", "progress_after_failure", _data(located, report))
    await _tell(uow, located, records, [event], (), now)
    return "ignored:progress_after_failure"


async def _failed(
    uow: UnitOfWork, report: StatusEvent, located: Row[Any], records: Sequence[Record], now: datetime
) -> str:
    """The provider gave the message up. The position never moves back; a closed channel may end the journey."""
    code = str(report.error_code) if report.error_code else "unknown"
    await uow.execute(
        "UPDATE send_attempts SET outcome = 'failed', error_code = :code, error_text = :text WHERE id = :id",
        {"code": code, "text": (report.error_message or "")[:500], "id": located.attempt_id},
    )
    if located.kind == "adviser" and located.author_id is not None:
        uow.emit(AdviserSendFailed(located.contact_id, located.send_id, located.author_id, code))
    disposition = disposition_for(report.error_code, to=report.to_address)
    own = records[0] if records and located.enrolment_id is not None else None
    lock = await try_again(
        uow,
        own,
        send_id=located.send_id,
        disposition=disposition,
        delay=rule_for(report.error_code).delay,
    )
    failed = FailedLater(located.send_id, located.step or "", code, path=located.path, again=lock is not None)
    stimuli: list[Stimulus] = [failed]
    if disposition in CLOSES_CHANNEL:
        stimuli.append(await closing_stimulus(uow, located, disposition, code))
    await _tell(uow, located, records, [], stimuli, now, lock=lock or KEEP)
    return f"failed:{code}"


async def _tell(
    uow: UnitOfWork,
    located: Row[Any],
    records: Sequence[Record],
    events: Sequence[Event],
    stimuli: Sequence[Stimulus],
    now: datetime,
    *,
    lock: Lock = KEEP,
) -> None:
    """Write events and stimuli to the enrolment's ledger, or to the contact's where the send has no enrolment."""
    live = records[0] if records else None
    if live is not None and located.enrolment_id is not None:
        await apply(uow, live, stimuli, events=events, lock=lock, actor=ACTOR, now=now)
        return
    for event in events:
        await append_contact_event(
            uow,
            contact_id=located.contact_id,
            type=event.type,
            at=now,
            actor=ACTOR,
            cause=event.cause,
            **event.data,
        )
    for stimulus in stimuli:
        if isinstance(stimulus, FailedLater):
            await append_contact_event(
                uow,
                contact_id=located.contact_id,
                type="failed",
                at=now,
                actor=ACTOR,
                cause=stimulus.code,
                send_id=located.send_id,
            )
        else:
            await close_channel(uow, located.contact_id, live, stimulus, now)


def _data(located: Row[Any], report: StatusEvent) -> dict[str, Any]:
    return {
        "send_id": located.send_id,
        "step": located.step,
        "attempt": located.attempt_id,
        **({"code": report.error_code} if report.error_code else {}),
    }


async def _park(uow: UnitOfWork, signal: Row[Any]) -> None:
    """Keep a report whose message we do not know (yet); after a day it was somebody else's."""
    if signal.old:
        await _done(uow, signal.id, "ignored:unknown_message", None)
        return
    wait = min(PARK * 2**signal.tries, LONGEST_PARK)
    await uow.execute(
        "UPDATE signals SET tries = tries + 1, outcome = 'parked', "
        "not_before = clock_timestamp() + CAST(:wait AS interval) WHERE id = :id",
        {"wait": wait, "id": signal.id},
    )


async def _done(uow: UnitOfWork, signal_id: int, outcome: str, located: Row[Any] | None) -> None:
    await uow.execute(
        "UPDATE signals SET processed_at = clock_timestamp(), processed_xid = pg_current_xact_id(), "
        "outcome = :outcome, contact_id = :contact_id, enrolment_id = :enrolment_id, problem = NULL WHERE id = :id",
        {
            "id": signal_id,
            "outcome": outcome,
            "contact_id": located.contact_id if located else None,
            "enrolment_id": located.enrolment_id if located else None,
        },
    )
