"""Start: turn queued sends into attempts, at the last moment at which it can still be stopped.

Under the enrolment's lock it compares position and generation, looks at automation, at inbound messages nobody
has processed yet, and at the gates. What passes is `sending` with a lease and may be called; what does not gives
its lock back. Both are in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Row

from app.campaigns.domain.decide import decide
from app.campaigns.domain.definition import CompiledVersion, MessageStep
from app.campaigns.domain.enrolment import Decision, Event
from app.campaigns.domain.gates import Defer, GateFacts, GatePolicy, Pass, Skip, judge, validity_seconds
from app.campaigns.domain.steps import next_channel
from app.campaigns.domain.stimuli import Facts, Inconclusive, Position, SendDeferred, SendSkipped
from app.campaigns.domain.vocabulary import Automation, Path
from app.campaigns.operations.effects import carry_out
from app.campaigns.operations.facts import add_needed
from app.campaigns.operations.retry import ARRIVED_AFTER_ALL
from app.campaigns.repository import KEEP, RELEASE, Change, Lock, Record, lock_enrolments, save_changes
from app.campaigns.versions import load_versions
from app.db.session import Database, UnitOfWork
from app.kernel.ids import attempt_id, lease_token
from app.kernel.phone_places import country_of, zone_of
from app.ledger.repository import append_contact_event
from app.messaging.domain.composing import Content, Lead, TemplateText, choose_language, compose
from app.messaging.domain.segments import LONGEST_SMS
from app.messaging.domain.templates import HeldVariable
from app.messaging.events import AdviserSendFailed, SendChanged
from app.messaging.gateways.base import OutMessage, TemplateContent, parse_address

ACTOR = "engine"
LEASE_SECONDS = 40.0  # with the reaper's pace, what a killed worker left is dealt with inside a minute
MOST_ATTEMPTS = 8  # in a row; a reviewer's `again` counts anew
UNREAD_RETRY = timedelta(seconds=10)  # a receipt is processed in milliseconds; one that fails is not hammered
AGAIN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class StartedCall:
    """An attempt that is committed as `sending` and may now be called, once."""

    attempt_id: str
    lease_token: str
    send_id: int
    enrolment_id: int | None
    contact_id: int
    provider: str
    message: OutMessage


@dataclass(frozen=True, slots=True)
class _Started:
    """What is written for one send that passed."""

    row: Row[Any]
    content: dict[str, Any]
    text: str
    call: StartedCall


async def start(
    database: Database,
    *,
    now: datetime,
    slots: int,
    policy: GatePolicy,
    organisation: str,
    lease_seconds: float = LEASE_SECONDS,
) -> list[StartedCall]:
    """Start at most `slots` queued sends under a lease, and return the calls to make."""
    async with database.transaction() as uow:
        candidates = (
            await uow.execute(
                "SELECT id, enrolment_id FROM sends WHERE status = 'queued' AND not_before <= clock_timestamp() "
                "ORDER BY not_before, id LIMIT :slots",
                {"slots": slots},
            )
        ).all()
        if not candidates:
            return []
        records = await lock_enrolments(
            uow, [c.enrolment_id for c in candidates if c.enrolment_id is not None], skip_locked=True
        )
        locked = {r.id: r for r in records}
        ids = [c.id for c in candidates if c.enrolment_id is None or c.enrolment_id in locked]
        rows = await _lock_sends(uow, ids, now)
        started = await _settle(uow, rows, locked, now=now, policy=policy, organisation=organisation)
        await _write_started(uow, started.sends, now, lease_seconds)
        await save_changes(uow, started.changes, actor=ACTOR, now=now)
        return [s.call for s in started.sends]


_LOCK = """
SELECT s.id FROM sends s WHERE s.id = ANY(CAST(:ids AS bigint[])) AND s.status = 'queued'
  AND s.not_before <= clock_timestamp() ORDER BY s.id FOR NO KEY UPDATE SKIP LOCKED
"""

# Read after the locks are held: a receipt that committed before is seen here and stops the send.
_FACTS = """
SELECT s.*, c.name, c.language, c.time_zone AS own_zone,
    coalesce(c.time_zone, :organisation_zone) AS organisation_zone, c.attributes,
    k.status AS campaign_status,
    n.provider, n.address AS sender_address, n.messaging_service_sid, n.status AS sender_status,
    t.address_value, t.address_kind, consent.granted, talk.whatsapp_inbound_at,
    ARRAY(SELECT w.scope FROM kill_switches w WHERE w.scope IN ('global', 'channel:' || s.channel,
        'sender:' || s.sender_id, 'campaign:' || coalesce(s.campaign_id, 0))) AS switches,
    ARRAY(SELECT u.reason FROM suppressions u WHERE u.contact_id = s.contact_id AND u.lifted_at IS NULL
        AND u.channel IN ('all', s.channel) ORDER BY u.id) AS suppressed,
    EXISTS (SELECT 1 FROM signals g WHERE g.processed_at IS NULL AND g.kind = 'inbound' AND g.address = t.wire)
        AS unread_receipt,
    (SELECT max(o.accepted_at) FROM sends o WHERE o.contact_id = s.contact_id AND o.kind = 'campaign'
        AND o.id <> s.id) AS last_campaign_send_at,
    coalesce((SELECT jsonb_agg(to_jsonb(x)) FROM templates x
        WHERE x.key = s.template_key AND x.channel = s.channel), '[]') AS texts
FROM sends s
JOIN contacts c ON c.id = s.contact_id
LEFT JOIN campaigns k ON k.id = s.campaign_id
LEFT JOIN senders n ON n.id = s.sender_id
LEFT JOIN consents consent ON consent.contact_id = s.contact_id AND consent.channel = s.channel
LEFT JOIN conversations talk ON talk.contact_id = s.contact_id
LEFT JOIN LATERAL (
    SELECT i.value AS address_value, i.kind AS address_kind,
        CASE WHEN s.channel = 'whatsapp' THEN 'whatsapp:' || i.value ELSE i.value END AS wire
    FROM contact_identities i WHERE i.contact_id = s.contact_id
      AND (i.kind = 'phone' OR (i.kind = 'whatsapp_user' AND s.channel = 'whatsapp'))
    ORDER BY (i.kind = 'phone') DESC, i.id LIMIT 1) t ON true
WHERE s.id = ANY(CAST(:ids AS bigint[])) ORDER BY s.id
"""


async def _lock_sends(uow: UnitOfWork, ids: Sequence[int], now: datetime) -> Sequence[Row[Any]]:
    locked = [row.id for row in await uow.execute(_LOCK, {"ids": list(ids)})]
    if not locked:
        return []
    return (await uow.execute(_FACTS, {"ids": locked, "organisation_zone": uow.zone})).all()


async def _settle(
    uow: UnitOfWork,
    rows: Sequence[Row[Any]],
    locked: dict[int, Record],
    *,
    now: datetime,
    policy: GatePolicy,
    organisation: str,
) -> _Settled:
    versions = await load_versions(uow, {r.state.version_id for r in locked.values()})
    started: list[_Started] = []
    changes: list[Change] = []
    facts = await add_needed(
        uow, {r.id: Facts(r.contact_id, r.zone) for r in locked.values()}, list(locked.values()), versions
    )
    for row in rows:
        record = locked.get(row.enrolment_id) if row.enrolment_id is not None else None
        step = _step(row, record, versions)
        outcome = _judge(row, record, step, now=now, policy=policy, organisation=organisation)
        if record is not None and isinstance(outcome, _NotStarted):
            if row.accepted_at is not None and outcome.status in ("waiting", "skipped"):
                outcome = _not_started(row, record, "skipped", f"not_again:{outcome.reason}", None)
            elif outcome.status == "skipped":
                outcome = _fall_back(row, record, step, facts[record.id], outcome, now)
        if isinstance(outcome, _Started):
            started.append(outcome)
            if record is not None:
                changes.append(Change(record, _started_decision(record, outcome), KEEP))
            continue
        await _mark(uow, row, outcome, now)
        if record is None:
            await _tell_author(uow, row, outcome, now)
        else:
            version = versions[record.state.version_id]
            decision = (
                outcome.decision
                if outcome.stimulus is None
                else decide(record.state, version, outcome.stimulus, facts[record.id], now)
            )
            changes.append(Change(record, decision, outcome.lock))
            await carry_out(uow, record=record, effects=decision.effects, actor=ACTOR, now=now)
    return _Settled(started, changes)


@dataclass(frozen=True, slots=True)
class _Settled:
    """What one round decided: the sends that start, and what becomes of their enrolments and of the others'."""

    sends: list[_Started]
    changes: list[Change]


@dataclass(frozen=True, slots=True)
class _NotStarted:
    """What is written for a send that does not start: its status, why, and how the enrolment learns of it."""

    status: str
    reason: str
    stimulus: SendSkipped | SendDeferred | Inconclusive | None
    decision: Decision
    lock: Lock = RELEASE
    until: datetime | None = None
    tried: str | None = None  # the channel that could not carry it, where another one takes over


def _step(
    row: Row[Any], record: Record | None, versions: Mapping[int, CompiledVersion]
) -> MessageStep | None:
    """Return the message step of a campaign's send as its journey's version has it."""
    step = versions[record.state.version_id].step(row.path, row.step) if record is not None else None
    return step if isinstance(step, MessageStep) else None


def _fall_back(
    row: Row[Any],
    record: Record,
    step: MessageStep | None,
    facts: Facts,
    skipped: _NotStarted,
    now: datetime,
) -> _NotStarted:
    """Let the next channel of the step take over where one reaches the person; else the step is skipped."""
    if step is None or facts.channels is None:
        return skipped
    channel = next_channel(step, facts, tried=(*row.tried, row.channel))
    if channel is None:
        return skipped
    reason = f"channel:{skipped.reason}"
    stimulus = SendDeferred(_position(row), row.id, reason, now, sender_id=facts.senders[channel])
    return replace(_not_started(row, record, "waiting", reason, stimulus, now), tried=row.channel)


def _judge(
    row: Row[Any],
    record: Record | None,
    step: MessageStep | None,
    *,
    now: datetime,
    policy: GatePolicy,
    organisation: str,
) -> _Started | _NotStarted:
    if record is not None:
        mismatch = _compare(row, record, now)
        if mismatch is not None:
            return mismatch
    texts = [_template_text(t) for t in row.texts]
    template = choose_language(texts, row.language)
    verdict = judge(_gate_facts(row, template, step), policy, now)
    match verdict:
        case Skip(reason=reason):
            return _not_started(row, record, "skipped", reason, SendSkipped(_position(row), row.id, reason))
        case Defer(reason=reason, until=until):
            stimulus = SendDeferred(_position(row), row.id, reason, until)
            return _not_started(row, record, "waiting", reason, stimulus, until)
        case Pass():
            pass
    if row.attempts >= MOST_ATTEMPTS:
        return _for_review(row, record, f"Tried {row.attempts} times without success.")
    content = _content(row, template, organisation)
    if isinstance(content, Content) and row.channel == "sms" and len(content.text) > LONGEST_SMS:
        content = f"The text has {len(content.text)} characters; an SMS takes {LONGEST_SMS}."
    if isinstance(content, str):
        return _for_review(row, record, content)
    return _pass(row, content, now=now, policy=policy)


def _compare(row: Row[Any], record: Record, now: datetime) -> _NotStarted | None:
    """Compare the send with the record it belongs to; a campaign send starts only where both still agree."""
    state = record.state
    if record.lock_token != f"send:{row.id}":
        return _not_started(row, record, "superseded", "lock_lost", None, lock=KEEP)
    here = (row.path, row.step, row.lap, row.generation)
    again = (
        row.accepted_at is not None
    )  # it failed after acceptance: its journey stands behind it, on the same path
    if (state.path, row.step if again else state.step, state.lap, state.generation) != here:
        return _not_started(row, record, "superseded", "position_moved", None)
    if again and row.reason == ARRIVED_AFTER_ALL:
        return _not_started(row, record, "skipped", ARRIVED_AFTER_ALL, None)
    if state.automation is Automation.COMPLETED:
        return _not_started(row, record, "superseded", str(state.stage), None)
    if state.automation is not Automation.ACTIVE:
        return _not_started(row, record, "waiting", str(state.automation), None)
    if row.unread_receipt:
        until = now + UNREAD_RETRY
        stimulus = SendDeferred(_position(row), row.id, "unread_inbound", until)
        return _not_started(row, record, "waiting", "unread_inbound", stimulus, until)
    return None


def _not_started(
    row: Row[Any],
    record: Record | None,
    status: str,
    reason: str,
    stimulus: SendSkipped | SendDeferred | Inconclusive | None,
    until: datetime | None = None,
    lock: Lock = RELEASE,
) -> _NotStarted:
    """Without a stimulus the record only loses its lock, and the ledger says why the send stood down."""
    told = status if status in ("superseded", "skipped") else "deferred"
    event = Event(told, reason, {"send_id": row.id, "step": row.step})
    state = record.state if record is not None else None
    return _NotStarted(status, reason, stimulus, Decision(state, (event,), ()), lock, until)  # type: ignore[arg-type]


def _for_review(row: Row[Any], record: Record | None, why: str) -> _NotStarted:
    """A message nobody can compose, or one tried too often, goes to a person."""
    stimulus = Inconclusive(f"send:{row.id}", why) if record is not None else None
    return _not_started(row, record, "needs_review", why, stimulus)


def _gate_facts(row: Row[Any], template: TemplateText | None, step: MessageStep | None) -> GateFacts:
    uses_template = row.template_key is not None
    is_sms = row.channel == "sms"
    return GateFacts(
        kind=row.kind,
        channel=row.channel,
        kill_switches=tuple(row.switches),
        campaign_active=row.campaign_status in (None, "active"),
        address=row.address_value,
        suppressed=tuple(row.suppressed),
        consent=row.granted,
        sender_status=row.sender_status or "missing",
        template_approval=(template.approval if template else "rejected") if uses_template else None,
        whatsapp_inbound_at=row.whatsapp_inbound_at,
        zone=_zone(row),
        last_campaign_send_at=row.last_campaign_send_at,
        window=step.window if step is not None else None,
        about_visit=row.path == Path.CONFIRMATION,
        country=country_of(row.address_value) if is_sms and row.address_value else None,
        zone_known=not is_sms or _own_zone(row) is not None,
    )


def _own_zone(row: Row[Any]) -> str | None:
    """Return the person's zone: as stored, else as their number says."""
    if row.own_zone or not row.address_value or not row.address_value.startswith("+"):
        return str(row.own_zone) if row.own_zone else None
    return zone_of(row.address_value)


def _zone(row: Row[Any]) -> str:
    """Return the zone of the person's quiet hours: their own, or else the organisation's."""
    return _own_zone(row) or str(row.organisation_zone)


def _content(row: Row[Any], template: TemplateText | None, organisation: str) -> Content | str:
    """Return the content to send, or in words why there is none. Adviser sends were rendered when written."""
    if row.content:
        kept = row.content
        return Content(
            kept.get("content_sid"), kept.get("variables", {}), kept["text"], kept.get("language", "")
        )
    if template is None:
        return f"There is no template `{row.template_key}` for {row.channel}."
    content = compose(template, Lead(row.name, row.attributes, organisation))
    if isinstance(content, HeldVariable):
        return f"Variable {content.key} of template `{template.key}` cannot be filled: {content.fault}."
    return content


def _pass(row: Row[Any], content: Content, *, now: datetime, policy: GatePolicy) -> _Started | _NotStarted:
    wire = f"whatsapp:{row.address_value}" if row.channel == "whatsapp" else row.address_value
    address = parse_address(wire)
    if address is None:
        return _not_started(
            row, None, "skipped", "no_address", SendSkipped(_position(row), row.id, "no_address")
        )
    attempt = attempt_id(at_ms=int(now.timestamp() * 1000))
    message = OutMessage(
        attempt_id=attempt,
        to=address,
        sender=None if row.messaging_service_sid else row.sender_address,
        messaging_service_sid=row.messaging_service_sid,
        body=None if content.content_sid else content.text,
        template=TemplateContent(content.content_sid, content.variables) if content.content_sid else None,
        validity_seconds=validity_seconds(now, policy=policy, zone=_zone(row))
        if row.kind == "campaign"
        else None,
    )
    call = StartedCall(
        attempt, lease_token(), row.id, row.enrolment_id, row.contact_id, row.provider, message
    )
    return _Started(row, content.as_json(), content.text, call)


def _started_decision(record: Record, started: _Started) -> Decision:
    event = Event(
        "send_started",
        None,
        {"send_id": started.row.id, "step": started.row.step, "attempt": started.call.attempt_id},
    )
    return Decision(record.state, (event,), ())


def _position(row: Row[Any]) -> Position:
    return Position(row.path or "", row.step or "", row.lap or 0, row.generation or 0)


def _template_text(stored: dict[str, Any]) -> TemplateText:
    return TemplateText(
        stored["key"],
        stored["language"],
        stored["body"],
        stored["approval"],
        stored["content_sid"],
        stored["variables"],
        stored["buttons"],
    )


async def _mark(uow: UnitOfWork, row: Row[Any], outcome: _NotStarted, now: datetime) -> None:
    verdict = {
        "outcome": outcome.status,
        "reason": outcome.reason,
        "at": now.isoformat(),
        "until": outcome.until.isoformat() if outcome.until else None,
    }
    await uow.execute(
        "UPDATE sends SET status = :status, status_at = :now, reason = :reason, verdict = CAST(:verdict AS jsonb), "
        "tried = CASE WHEN CAST(:tried AS text) IS NULL THEN tried ELSE array_append(tried, :tried) END, "
        "not_before = clock_timestamp() + make_interval(secs => :again) WHERE id = :id",
        {
            "tried": outcome.tried,
            "status": outcome.status,
            "now": now,
            "reason": outcome.reason,
            "verdict": msgspec.json.encode(verdict).decode(),
            "id": row.id,
            "again": AGAIN_SECONDS,  # when the sweep queues a message that hangs on no enrolment once more
        },
    )


async def _tell_author(uow: UnitOfWork, row: Row[Any], outcome: _NotStarted, now: datetime) -> None:
    """An adviser's or system message that did not start is in the contact's ledger; the bubble shows why."""
    await append_contact_event(
        uow,
        contact_id=row.contact_id,
        type="skipped" if outcome.status in ("skipped", "needs_review") else "deferred",
        at=now,
        actor=ACTOR,
        cause=outcome.reason,
        send_id=row.id,
    )
    if row.kind == "adviser" and outcome.status in ("skipped", "needs_review"):
        uow.emit(AdviserSendFailed(row.contact_id, row.id, row.author_id, outcome.reason))


_WRITE_STARTED = """
WITH r AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
        attempt text, send_id bigint, n integer, lease text, channel text, sender_id bigint, wire text,
        provider text, content jsonb, text text, contact_id bigint, verdict jsonb)
), attempts AS (
    INSERT INTO send_attempts (id, send_id, n, lease_token, lease_expires_at, channel, sender_id, address, provider)
    SELECT attempt, send_id, 1 + coalesce((SELECT max(a.n) FROM send_attempts a WHERE a.send_id = r.send_id), 0),
        lease, clock_timestamp() + make_interval(secs => :lease_seconds), channel, sender_id, wire, provider FROM r
), bubbles AS (
    INSERT INTO messages (contact_id, direction, channel, kind, text, send_id, at)
    SELECT contact_id, 'out', channel, 'text', text, send_id, :now FROM r
    ON CONFLICT (send_id) DO UPDATE SET text = excluded.text
)
UPDATE sends s SET status = 'sending', status_at = :now, reason = NULL, attempts = r.n, content = r.content,
    verdict = r.verdict
FROM r WHERE s.id = r.send_id
"""


async def _write_started(
    uow: UnitOfWork, started: Sequence[_Started], now: datetime, lease_seconds: float
) -> None:
    """Record the attempts before any call is made: the try is counted even if we die during it."""
    if not started:
        return
    rows = [
        {
            "attempt": s.call.attempt_id,
            "send_id": s.row.id,
            "n": s.row.attempts + 1,
            "lease": s.call.lease_token,
            "channel": s.row.channel,
            "sender_id": s.row.sender_id,
            "wire": s.call.message.to.wire,
            "provider": s.row.provider,
            "content": s.content,
            "text": s.text,
            "contact_id": s.row.contact_id,
            "verdict": {"outcome": "pass", "at": now.isoformat()},
        }
        for s in started
    ]
    await uow.execute(
        _WRITE_STARTED,
        {"rows": msgspec.json.encode(rows).decode(), "now": now, "lease_seconds": lease_seconds},
    )
    for s in started:
        if s.row.enrolment_id is None:
            uow.emit(SendChanged(s.row.contact_id, s.row.id, s.row.kind))
            await append_contact_event(
                uow,
                contact_id=s.row.contact_id,
                type="send_started",
                at=now,
                actor=ACTOR,
                send_id=s.row.id,
                attempt=s.call.attempt_id,
            )


async def queue_waiting_again(uow: UnitOfWork) -> int:
    """Queue the messages of advisers and of the system again that had to wait; return how many.

    Campaign sends are the planner's: their enrolment's timer brings them back.
    """
    queued = await uow.execute(
        "WITH due AS (SELECT id FROM sends WHERE status = 'waiting' AND kind <> 'campaign' "
        "AND not_before <= clock_timestamp() ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) "
        "UPDATE sends SET status = 'queued' FROM due WHERE sends.id = due.id RETURNING sends.id"
    )
    return len(queued.all())
