"""Accept: the one door through which the outcome of a send comes in, whoever brings it.

Finish, status callback, look-up and reviewer all call `settle_outcomes`. It is idempotent: the first word that a
send was accepted advances the journey, later ones only raise the rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row

from app.campaigns.domain.decide import decide
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.enrolment import Event
from app.campaigns.domain.stimuli import (
    ChannelLost,
    Facts,
    Inconclusive,
    OptedOut,
    Position,
    SendAccepted,
    SendDeferred,
    SendSkipped,
    Stimulus,
)
from app.campaigns.operations.apply import apply
from app.campaigns.operations.channels import next_sender
from app.campaigns.operations.effects import carry_out, open_review, suppress
from app.campaigns.operations.facts import add_needed
from app.campaigns.operations.reach import usable_channels_without
from app.campaigns.repository import KEEP, RELEASE, Change, Lock, Record, lock_enrolments, save_changes
from app.campaigns.versions import load_versions
from app.db.session import Database, UnitOfWork
from app.ledger.repository import append_contact_event
from app.messaging.domain.error_map import Disposition
from app.messaging.events import AdviserSendFailed, SendChanged
from app.messaging.gateways.base import Accepted, NotSent, Rejected, SendResult, Unknown

ACTOR = "engine"
BACKOFF = timedelta(seconds=5)
LONGEST_BACKOFF = timedelta(minutes=10)

# What a refusal does to the send. `again`: certainly not sent and worth another attempt once something is mended.
_GO_ON = frozenset(
    {
        Disposition.SKIP,
        Disposition.MARK_BAD_ADDRESS,
        Disposition.UNREACHABLE,
        Disposition.SUPPRESS,
        Disposition.TEMPLATE,
    }
)
_STOPS_CAMPAIGNS = frozenset({Disposition.PAUSE, Disposition.PAUSE_MARKETING})
CLOSES_CHANNEL = {
    Disposition.MARK_BAD_ADDRESS: "unreachable",
    Disposition.UNREACHABLE: "unreachable",
    Disposition.SUPPRESS: "provider_block",
}


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What is known about one attempt. `via` says who brought the word: finish, callback, look_up, reviewer."""

    attempt_id: str
    result: SendResult
    via: str


async def settle_outcomes(database: Database, outcomes: Sequence[CallOutcome], *, now: datetime) -> None:
    """Write a batch of outcomes in one transaction, locked by ascending enrolment and send."""
    if not outcomes:
        return
    async with database.transaction() as uow:
        await settle_in(uow, outcomes, now=now)


async def settle_in(uow: UnitOfWork, outcomes: Sequence[CallOutcome], *, now: datetime) -> None:
    """Write outcomes inside the caller's transaction. The caller holds no lock below an enrolment's."""
    by_attempt = {o.attempt_id: o for o in outcomes}
    located = (await uow.execute(_LOCATE, {"ids": list(by_attempt)})).all()
    records = await _lock_records(uow, located)
    for number, part in enumerate(_rounds(located)):
        if number:  # the round before has moved some of them
            records = await _lock_records(uow, located)
        await _settle_round(uow, part, records, by_attempt, now)


async def _lock_records(uow: UnitOfWork, located: Sequence[Row[Any]]) -> dict[int, Record]:
    found = await lock_enrolments(uow, [s.enrolment_id for s in located if s.enrolment_id])
    return {record.id: record for record in found}


# An adviser's message has no enrolment of its own, but what the provider says of the person concerns the live one.
_LOCATE = """
SELECT a.id AS attempt_id, s.id, coalesce(s.enrolment_id, (SELECT e.id FROM enrolments e
    WHERE e.contact_id = s.contact_id AND e.automation <> 'completed')) AS enrolment_id
FROM send_attempts a JOIN sends s ON s.id = a.send_id
WHERE a.id = ANY(CAST(:ids AS text[])) ORDER BY s.id, a.n
"""


def _rounds(located: Sequence[Row[Any]]) -> list[list[Row[Any]]]:
    """Split attempts so that no send and no enrolment comes twice in a round: each is read as it was left last."""
    rounds: list[list[Row[Any]]] = []
    passed: dict[str, int] = {}
    for row in located:
        keys = [f"send:{row.id}", *([f"enrolment:{row.enrolment_id}"] if row.enrolment_id else [])]
        number = max(passed.get(key, 0) for key in keys)
        passed |= dict.fromkeys(keys, number + 1)
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(row)
    return rounds


async def _settle_round(
    uow: UnitOfWork,
    located: Sequence[Row[Any]],
    records: Mapping[int, Record],
    outcomes: Mapping[str, CallOutcome],
    now: datetime,
) -> None:
    bystanders = {r.contact_id: r for r in records.values() if r.state.automation != "completed"}
    sends = sorted(s.id for s in located)
    await uow.execute(_LOCK, {"sends": sends})
    rows = (await uow.execute(_READ, {"sends": sends, "attempts": [s.attempt_id for s in located]})).all()
    versions = await load_versions(uow, {r.state.version_id for r in records.values()})
    plain = [row for row in rows if _is_plain(row, records, outcomes)]
    await _accept_plain(uow, plain, records, outcomes, versions, now)
    done = {row.send_id for row in plain}
    for row in rows:
        if row.send_id in done:
            continue
        record = records.get(row.enrolment_id)
        version = versions[record.state.version_id] if record is not None else None
        settled = await _settle_one(uow, row, record, version, outcomes[row.attempt_id], now)
        if settled is None:
            continue
        if record is None:
            await _tell_contact(uow, row, settled, now)
            await close_channel(
                uow, row.contact_id, bystanders.get(row.contact_id), _closing(settled.stimuli), now
            )
            continue
        lock = settled.lock if record.lock_token == f"send:{row.send_id}" else KEEP
        await apply(uow, record, settled.stimuli, events=settled.events, lock=lock, actor=ACTOR, now=now)


def _is_plain(row: Row[Any], records: Mapping[int, Record], outcomes: Mapping[str, CallOutcome]) -> bool:
    """Whether this is what nearly always happens: the first word about a campaign send in the air, accepted."""
    record = records.get(row.enrolment_id)
    return (
        record is not None
        and record.state.automation == "active"
        and row.outcome is None
        and row.status == "sending"
        and not row.accepted_elsewhere
        and isinstance(outcomes[row.attempt_id].result, Accepted)
    )


_ACCEPT_PLAIN = """
WITH r AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:attempts AS text[]), CAST(:sids AS text[])) AS r(attempt, sid)
), written AS (
    UPDATE send_attempts a SET outcome = 'accepted', provider_message_id = coalesce(a.provider_message_id, r.sid),
        finished_at = clock_timestamp(), error_code = NULL, error_text = NULL
    FROM r WHERE a.id = r.attempt
    RETURNING a.send_id
)
UPDATE sends s SET status = 'accepted', status_at = :now, accepted_at = :now, reason = NULL
FROM written WHERE s.id = written.send_id
"""


async def _accept_plain(
    uow: UnitOfWork,
    rows: Sequence[Row[Any]],
    records: Mapping[int, Record],
    outcomes: Mapping[str, CallOutcome],
    versions: Mapping[int, CompiledVersion],
    now: datetime,
) -> None:
    """Accept many sends with a handful of statements; their journeys advance as they would one by one."""
    if not rows:
        return
    sids = [outcomes[row.attempt_id].result for row in rows]
    await uow.execute(
        _ACCEPT_PLAIN,
        {
            "attempts": [row.attempt_id for row in rows],
            "sids": [result.provider_message_id for result in sids if isinstance(result, Accepted)],
            "now": now,
        },
    )
    touched = [records[row.enrolment_id] for row in rows]
    facts = await add_needed(uow, {r.id: Facts(r.contact_id, r.zone) for r in touched}, touched, versions)
    changes: list[Change] = []
    for row in rows:
        record = records[row.enrolment_id]
        via = outcomes[row.attempt_id].via
        stimulus = SendAccepted(_position(row), row.send_id, row.attempt_id, via, started_at=row.status_at)
        version = versions[record.state.version_id]
        decision = decide(record.state, version, stimulus, facts[record.id], now)
        lock = RELEASE if record.lock_token == f"send:{row.send_id}" else KEEP
        changes.append(Change(record, decision, lock))
    await save_changes(uow, changes, actor=ACTOR, now=now)
    for change in changes:
        await carry_out(uow, record=change.record, effects=change.decision.effects, actor=ACTOR, now=now)


async def close_channel(
    uow: UnitOfWork, contact_id: int, live: Record | None, closing: Stimulus | None, now: datetime
) -> None:
    """Close the channel of a person whom an adviser's message did not reach; a live journey learns of it as well."""
    if not isinstance(closing, OptedOut | ChannelLost):
        return
    if live is None:
        await suppress(
            uow, contact_id=contact_id, channel=closing.channel, reason=closing.reason, source=ACTOR, now=now
        )
        await append_contact_event(
            uow, contact_id=contact_id, type="suppressed", at=now, actor=ACTOR, channel=closing.channel
        )
        return
    await apply(uow, live, [closing], actor=ACTOR, now=now)


def _closing(stimuli: Sequence[Stimulus]) -> Stimulus | None:
    return next((s for s in stimuli if isinstance(s, OptedOut | ChannelLost)), None)


@dataclass(frozen=True, slots=True)
class _Settled:
    """How the enrolment learns of an outcome: stimuli in order, or plain events where the state does not move."""

    stimuli: tuple[Stimulus, ...] = ()
    events: tuple[Event, ...] = ()
    lock: Lock = RELEASE


_LOCK = """
SELECT id FROM sends WHERE id = ANY(CAST(:sends AS bigint[])) ORDER BY id FOR NO KEY UPDATE
"""

# Read in a statement of its own: one that had to wait for a lock would still see the attempts as they were before.
_READ = """
SELECT a.id AS attempt_id, a.outcome, a.provider_message_id, a.n, s.id AS send_id, s.kind, s.contact_id,
    s.enrolment_id, s.status, s.path, s.step, s.lap, s.generation, s.channel, s.sender_id, s.campaign_id, s.attempts,
    s.author_id, s.status_at, s.tried, s.accepted_at,
    EXISTS (SELECT 1 FROM send_attempts b WHERE b.send_id = s.id AND b.outcome = 'accepted' AND b.id <> a.id)
        AS accepted_elsewhere
FROM sends s JOIN send_attempts a ON a.send_id = s.id
WHERE s.id = ANY(CAST(:sends AS bigint[])) AND a.id = ANY(CAST(:attempts AS text[]))
ORDER BY s.id, a.n
"""


async def _settle_one(
    uow: UnitOfWork,
    row: Row[Any],
    record: Record | None,
    version: CompiledVersion | None,
    outcome: CallOutcome,
    now: datetime,
) -> _Settled | None:
    match outcome.result:
        case Accepted(provider_message_id=sid):
            return await _accepted(uow, row, outcome, sid, now)
        case Rejected():
            return await _rejected(uow, row, record, version, outcome.result, now)
        case NotSent():
            return await _not_sent(uow, row, outcome.result, now)
        case Unknown(reason=reason):
            return await _unknown(uow, row, reason, now)


async def _accepted(
    uow: UnitOfWork, row: Row[Any], outcome: CallOutcome, sid: str, now: datetime
) -> _Settled | None:
    """Write the provider's id on its own attempt, always; advance only at the first word about this send."""
    await uow.execute(
        "UPDATE send_attempts SET outcome = CASE WHEN outcome = 'failed' THEN outcome ELSE 'accepted' END, "
        "provider_message_id = coalesce(provider_message_id, nullif(:sid, '')), "
        "finished_at = coalesce(finished_at, clock_timestamp()), error_code = NULL, error_text = NULL "
        "WHERE id = :id",
        {"sid": sid, "id": row.attempt_id},
    )
    if row.outcome in ("accepted", "failed"):
        return None
    first = row.status not in ("accepted", "sent", "delivered", "read", "undelivered")
    if not first or row.accepted_elsewhere:
        return _Settled(
            events=(Event("send_accepted", outcome.via, {"send_id": row.send_id, "again": True}),), lock=KEEP
        )
    await uow.execute(
        "UPDATE sends SET status = 'accepted', status_at = :now, accepted_at = :now, reason = NULL WHERE id = :id",
        {"now": now, "id": row.send_id},
    )
    await _close_review(uow, row.send_id, outcome.via, now)
    began = row.status_at if row.status == "sending" else await _start_of(uow, row)
    accepted = SendAccepted(_position(row), row.send_id, row.attempt_id, outcome.via, started_at=began)
    return _Settled((accepted,))


async def _start_of(uow: UnitOfWork, row: Row[Any]) -> datetime | None:
    """Return when, in business time, an attempt began whose send has been in other states since."""
    started = await uow.execute(
        "SELECT at FROM ledger WHERE contact_id = :contact_id AND enrolment_id = :enrolment_id "
        "AND type = 'send_started' AND data ->> 'attempt' = :attempt",
        {"contact_id": row.contact_id, "enrolment_id": row.enrolment_id, "attempt": row.attempt_id},
    )
    found = started.one_or_none()
    return found.at if found else None


async def _close_review(uow: UnitOfWork, send_id: int, via: str, now: datetime) -> None:
    """A question that answered itself: nobody needs to look any more."""
    await uow.execute(
        "UPDATE tasks SET done_at = :now, done_by = :via, outcome = 'sent' "
        "WHERE kind = 'review' AND subject = :subject AND done_at IS NULL",
        {"now": now, "via": via, "subject": f"send:{send_id}"},
    )


async def _rejected(
    uow: UnitOfWork,
    row: Row[Any],
    record: Record | None,
    version: CompiledVersion | None,
    result: Rejected,
    now: datetime,
) -> _Settled | None:
    if row.outcome is not None:
        return None
    code = str(result.code) if result.code is not None else "rejected"
    await _close_attempt(uow, row.attempt_id, "rejected", code, result.message)
    disposition = result.disposition
    if disposition in _GO_ON:
        stimuli = [await _go_on(uow, row, record, version, code, disposition, now)]
        if disposition in CLOSES_CHANNEL:
            stimuli.append(await closing_stimulus(uow, row, disposition, code))
        return _Settled(tuple(stimuli))
    if disposition is Disposition.DEFER:
        return await _again_later(uow, row, code, now, result.retry_after_seconds)
    if disposition is Disposition.CREDS or (disposition in _STOPS_CAMPAIGNS and row.campaign_id is not None):
        await _stop_the_source(uow, row, disposition, f"{code}: {result.message}", now)
        await _set_status(uow, row.send_id, "waiting", code, now)
        return _Settled(events=(Event("deferred", code, {"send_id": row.send_id, "step": row.step}),))
    return await _for_review(uow, row, f"The provider refused this message ({code}).", now)


async def _go_on(
    uow: UnitOfWork,
    row: Row[Any],
    record: Record | None,
    version: CompiledVersion | None,
    code: str,
    disposition: Disposition,
    now: datetime,
) -> Stimulus:
    """Let the next channel of the step carry the same send, unless the person blocked us; else the flow goes on."""
    tried = (*row.tried, row.channel)
    sender_id = None
    first = row.accepted_at is None  # a send that is tried once more has its journey behind it already
    if first and record is not None and version is not None and disposition is not Disposition.SUPPRESS:
        sender_id = await next_sender(uow, record, version, step=row.step, tried=tried)
    if sender_id is None:
        await _set_status(uow, row.send_id, "failed", code, now)
        return SendSkipped(_position(row), row.send_id, code, "failed", {"disposition": str(disposition)})
    await uow.execute(
        "UPDATE sends SET status = 'waiting', status_at = :now, reason = :why, tried = CAST(:tried AS text[]) "
        "WHERE id = :id",
        {"now": now, "why": code, "tried": list(tried), "id": row.send_id},
    )
    return SendDeferred(_position(row), row.send_id, f"channel:{code}", now, sender_id=sender_id)


async def _not_sent(uow: UnitOfWork, row: Row[Any], result: NotSent, now: datetime) -> _Settled | None:
    if row.outcome is not None:
        return None
    await _close_attempt(uow, row.attempt_id, "not_sent", None, result.reason)
    return await _again_later(uow, row, result.reason, now, result.retry_after_seconds)


async def _again_later(
    uow: UnitOfWork, row: Row[Any], why: str, now: datetime, retry_after: float | None = None
) -> _Settled:
    """Queue the same send for its next attempt. It keeps its lock: nothing else may act for this step."""
    wait = min(BACKOFF * 2 ** (row.attempts - 1), LONGEST_BACKOFF).total_seconds()
    await uow.execute(
        "UPDATE sends SET status = 'queued', status_at = :now, reason = :why, "
        "not_before = clock_timestamp() + make_interval(secs => :wait) WHERE id = :id",
        {"now": now, "why": why, "wait": max(wait, retry_after or 0.0), "id": row.send_id},
    )
    event = Event("deferred", why, {"send_id": row.send_id, "step": row.step, "attempt": row.attempt_id})
    return _Settled(events=(event,), lock=KEEP)


async def _unknown(uow: UnitOfWork, row: Row[Any], reason: str, now: datetime) -> _Settled | None:
    """Nobody knows: the send keeps its lock and waits for a callback or a look-up."""
    if row.outcome is not None or row.status != "sending":
        return None
    await _close_attempt(uow, row.attempt_id, "unknown", None, reason)
    await _set_status(uow, row.send_id, "unknown", reason, now)
    event = Event("unknown", reason, {"send_id": row.send_id, "step": row.step, "attempt": row.attempt_id})
    return _Settled(events=(event,), lock=KEEP)


async def _for_review(uow: UnitOfWork, row: Row[Any], why: str, now: datetime) -> _Settled:
    await _set_status(uow, row.send_id, "needs_review", why, now)
    if row.enrolment_id is None:
        await ask_about(uow, row, why, now)
        return _Settled(lock=KEEP)
    return _Settled((Inconclusive(f"send:{row.send_id}", why),))


async def ask_about(uow: UnitOfWork, row: Row[Any], why: str, now: datetime) -> None:
    """Ask a person about a message that hangs on no journey; an adviser's own comes back to its author."""
    await open_review(
        uow,
        subject=f"send:{row.send_id}",
        title=why,
        contact_id=row.contact_id,
        owner_id=row.author_id,
        now=now,
    )
    await append_contact_event(
        uow,
        contact_id=row.contact_id,
        type="task_opened",
        at=now,
        actor=ACTOR,
        cause=why,
        kind="review",
        send_id=row.send_id,
    )
    if row.kind == "adviser":
        uow.emit(AdviserSendFailed(row.contact_id, row.send_id, row.author_id, why))


async def closing_stimulus(uow: UnitOfWork, row: Row[Any], disposition: Disposition, code: str) -> Stimulus:
    """Return the stimulus of a channel that the provider or the person closed."""
    reason = CLOSES_CHANNEL[disposition]
    if disposition is Disposition.SUPPRESS:
        return OptedOut(code, row.channel, reason)
    left = await usable_channels_without(uow, contact_id=row.contact_id, lost=row.channel)
    return ChannelLost(code, row.channel, reason, left)


async def _stop_the_source(
    uow: UnitOfWork, row: Row[Any], disposition: Disposition, why: str, now: datetime
) -> None:
    """Stop what every further message would run into: the campaign, the sender's marketing, or the sender.

    A person is asked, and starts it again.
    """
    if disposition is Disposition.PAUSE:
        subject = f"campaign:{row.campaign_id}"
        await uow.execute(
            "UPDATE campaigns SET status = 'paused', status_reason = :why WHERE id = :id AND status = 'active'",
            {"why": why, "id": row.campaign_id},
        )
    else:
        subject = f"sender:{row.sender_id}"
        status = "credentials" if disposition is Disposition.CREDS else "marketing_off"
        await uow.execute(
            "UPDATE senders SET status = :status, status_reason = :why WHERE id = :id "
            "AND status IN ('active', 'marketing_off')",
            {"status": status, "why": why, "id": row.sender_id},
        )
    await open_review(uow, subject=subject, title=f"Stopped by the provider: {why}"[:200], now=now)


async def _close_attempt(
    uow: UnitOfWork, attempt: str, outcome: str, code: str | None, text: str | None
) -> None:
    await uow.execute(
        "UPDATE send_attempts SET outcome = :outcome, error_code = :code, error_text = :text, "
        "finished_at = clock_timestamp() WHERE id = :id",
        {"outcome": outcome, "code": code, "text": (text or "")[:500], "id": attempt},
    )


async def _set_status(uow: UnitOfWork, send_id: int, status: str, reason: str | None, now: datetime) -> None:
    await uow.execute(
        "UPDATE sends SET status = :status, status_at = :now, reason = :reason WHERE id = :id",
        {"status": status, "now": now, "reason": reason, "id": send_id},
    )


async def _tell_contact(uow: UnitOfWork, row: Row[Any], settled: _Settled, now: datetime) -> None:
    """Adviser and system sends hang on the contact: their outcome is the contact's event."""
    types: list[tuple[str, str | None]] = [(e.type, e.cause) for e in settled.events]
    for stimulus in settled.stimuli:
        match stimulus:
            case SendAccepted():
                types.append(("send_accepted", stimulus.via))
            case SendSkipped():
                types.append(("failed", stimulus.reason))
            case _:
                pass
    for type_, cause in types:
        await append_contact_event(
            uow,
            contact_id=row.contact_id,
            type=type_,
            at=now,
            actor=ACTOR,
            cause=cause,
            send_id=row.send_id,
            attempt=row.attempt_id,
        )
    uow.emit(SendChanged(row.contact_id, row.send_id, row.kind))
    failed = next((cause for type_, cause in types if type_ == "failed"), None)
    if row.kind == "adviser" and failed is not None:
        uow.emit(AdviserSendFailed(row.contact_id, row.send_id, row.author_id, failed))


def _position(row: Row[Any]) -> Position:
    return Position(row.path or "", row.step or "", row.lap or 0, row.generation or 0)
