"""Plan: claim enrolments whose timer is due, decide, and queue their sends at the pace of their senders.

What does not fit a sender's rate or cap stays due, untouched: that is the pacing. Rates run on real time, caps
and timers on business time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec
import structlog
from sqlalchemy import Row
from sqlalchemy.exc import DBAPIError

from app.campaigns.domain.decide import decide, held_for_fault
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.enrolment import Decision, QueueSend, idempotency_key
from app.campaigns.domain.stimuli import Due, Facts
from app.campaigns.operations.effects import carry_out
from app.campaigns.operations.facts import add_needed
from app.campaigns.repository import KEEP, Change, Record, Take, lock_enrolments, save_changes
from app.campaigns.versions import load_versions
from app.db.session import Database, UnitOfWork

log = structlog.get_logger(__name__)

ACTOR = "engine"
HORIZON_SECONDS = 3.0  # how far ahead of the wire sends are queued


@dataclass(frozen=True, slots=True)
class PlanReport:
    """How many enrolments were looked at, how many sends were queued; `more` where another round may find work."""

    enrolments: int
    queued: int
    more: bool


@dataclass(frozen=True, slots=True)
class _Reservation:
    """Slots of one sender from `base` on (real time), one each `1/rate` seconds."""

    sender_id: int
    slots: int
    base: datetime
    rate: float


async def plan(database: Database, *, now: datetime, batch: int = 200) -> PlanReport:
    """Run one round of planning over all open senders, each in transactions of its own."""
    looked = queued = 0
    more = False
    async with database.reading() as uow:
        senders = await _open_senders(uow, now)
    for sender in senders:
        report = await _plan_sender(database, sender, now=now, batch=batch)
        looked, queued, more = looked + report.enrolments, queued + report.queued, more or report.more
    return PlanReport(looked, queued, more)


_OPEN_SENDERS = """
SELECT s.id, s.rate_per_second, s.daily_cap,
    (CAST(:now AS timestamptz) AT TIME ZONE s.time_zone)::date AS day,
    coalesce(d.reserved, 0) AS reserved,
    greatest(0, extract(epoch FROM s.next_free_at - clock_timestamp()))::float8 AS backlog_seconds
FROM senders s
LEFT JOIN sender_days d ON d.sender_id = s.id
    AND d.day = (CAST(:now AS timestamptz) AT TIME ZONE s.time_zone)::date
WHERE s.status = 'active'
  AND NOT EXISTS (SELECT 1 FROM kill_switches k
                  WHERE k.scope IN ('global', 'channel:' || s.channel, 'sender:' || s.id))
  AND EXISTS (SELECT 1 FROM enrolments e WHERE e.sender_id = s.id AND e.automation = 'active'
              AND e.lock_token IS NULL AND e.next_run_at <= :now)
ORDER BY s.id
"""

# Selection reads without locks; `lock_enrolments` locks and `_still_due` checks again.
_DUE = """
SELECT e.id FROM enrolments e
WHERE e.sender_id = :sender_id AND e.automation = 'active' AND e.lock_token IS NULL AND e.next_run_at <= :now
  AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = e.campaign_id AND c.status <> 'active')
  AND NOT EXISTS (SELECT 1 FROM kill_switches k WHERE k.scope = 'campaign:' || e.campaign_id)
ORDER BY e.next_run_at, e.id LIMIT :most
"""

_RESERVE = """
WITH taken AS (
    UPDATE senders SET next_free_at = greatest(next_free_at, clock_timestamp())
        + make_interval(secs => CAST(:slots AS double precision) / rate_per_second)
    WHERE id = :sender_id
    RETURNING id, rate_per_second, next_free_at
), counted AS (
    INSERT INTO sender_days (sender_id, day, reserved) SELECT id, :day, :slots FROM taken
    ON CONFLICT (sender_id, day) DO UPDATE SET reserved = sender_days.reserved + excluded.reserved
)
SELECT next_free_at - make_interval(secs => CAST(:slots AS double precision) / rate_per_second) AS base,
       rate_per_second
FROM taken
"""


async def _open_senders(uow: UnitOfWork, now: datetime) -> Sequence[Row[Any]]:
    return (await uow.execute(_OPEN_SENDERS, {"now": now})).all()


async def _plan_sender(database: Database, sender: Row[Any], *, now: datetime, batch: int) -> PlanReport:
    ahead = HORIZON_SECONDS - sender.backlog_seconds
    room = min(batch, math.ceil(sender.rate_per_second * ahead), sender.daily_cap - sender.reserved)
    if room <= 0:
        return PlanReport(0, 0, False)
    async with database.transaction() as uow:
        ids = await _due_ids(uow, sender, now, room)
        if not ids:
            return PlanReport(0, 0, False)
        reservation = await _reserve(uow, sender, len(ids))
    # The reservation is its own transaction, so no lock on the sender is held while enrolments are decided.
    looked, queued = await _plan_or_isolate(database, ids, reservation, now)
    if queued < len(ids):
        async with database.transaction() as uow:
            await _give_back(uow, sender, len(ids) - queued)
    return PlanReport(looked, queued, len(ids) == room)


async def _plan_or_isolate(
    database: Database, ids: Sequence[int], reservation: _Reservation, now: datetime
) -> tuple[int, int]:
    """Plan enrolments together; where one of them makes that impossible, one by one, and hold the one at fault."""
    try:
        return await _plan_together(database, ids, reservation, now)
    except (DBAPIError, OSError):
        raise  # the database's troubles are nobody's fault among these
    except Exception:
        if len(ids) == 1:
            log.exception("plan.held_for_fault", enrolment_id=ids[0])
            await _hold_for_fault(database, ids[0], now)
            return 1, 0
        log.warning("plan.isolating", enrolments=len(ids))
    reports = [await _plan_or_isolate(database, [id_], reservation, now) for id_ in ids]
    return sum(looked for looked, _ in reports), sum(queued for _, queued in reports)


async def _plan_together(
    database: Database, ids: Sequence[int], reservation: _Reservation, now: datetime
) -> tuple[int, int]:
    async with database.transaction() as uow:
        records = [r for r in await lock_enrolments(uow, ids, skip_locked=True) if _still_due(r, now)]
        return len(records), await _decide_and_write(uow, records, reservation, now)


async def _hold_for_fault(database: Database, enrolment_id: int, now: datetime) -> None:
    """Take a journey that cannot be decided out of the way of the others, and ask a person."""
    async with database.transaction() as uow:
        records = [r for r in await lock_enrolments(uow, [enrolment_id]) if _still_due(r, now)]
        for record in records:
            decision = held_for_fault(record.state, Facts(record.contact_id, record.zone), now)
            await save_changes(uow, [Change(record, decision)], actor=ACTOR, now=now)
            await carry_out(uow, record=record, effects=decision.effects, actor=ACTOR, now=now)


async def _due_ids(uow: UnitOfWork, sender: Row[Any], now: datetime, most: int) -> list[int]:
    rows = await uow.execute(_DUE, {"sender_id": sender.id, "now": now, "most": most})
    return [row.id for row in rows]


async def _reserve(uow: UnitOfWork, sender: Row[Any], slots: int) -> _Reservation:
    row = (await uow.execute(_RESERVE, {"sender_id": sender.id, "day": sender.day, "slots": slots})).one()
    return _Reservation(sender.id, slots, row.base, row.rate_per_second)


async def _give_back(uow: UnitOfWork, sender: Row[Any], slots: int) -> None:
    """Give unused places of the daily cap back; the moments they stood for simply pass."""
    await uow.execute(
        "UPDATE sender_days SET reserved = greatest(0, reserved - :slots) WHERE sender_id = :id AND day = :day",
        {"slots": slots, "id": sender.id, "day": sender.day},
    )


def _still_due(record: Record, now: datetime) -> bool:
    state = record.state
    return (
        state.automation == "active"
        and record.lock_token is None
        and state.next_run_at is not None
        and state.next_run_at <= now
    )


async def _decide_and_write(
    uow: UnitOfWork, records: Sequence[Record], reservation: _Reservation, now: datetime
) -> int:
    versions = await load_versions(uow, {r.state.version_id for r in records})
    plain = {r.id: Facts(r.contact_id, r.zone) for r in records}
    facts = await add_needed(uow, plain, records, versions)
    decisions = {r.id: _decide(r, versions, facts, now) for r in records}
    places = {r.id: n for n, r in enumerate(records)}
    tokens = await _insert_sends(uow, records, decisions, reservation, places, now)
    met = [r for r in records if decisions[r.id].queued is not None and r.id not in tokens]
    if met:
        existing = await _existing_sends(uow, [r.id for r in met])
        for record in met:
            sends = existing.get(record.id, _Existing())
            facts[record.id] = replace(facts[record.id], sends=sends.statuses, tried=sends.tried)
            decisions[record.id] = _decide(record, versions, facts, now)
        tokens |= await _rearm(uow, met, decisions, facts, reservation, places, now)
    await save_changes(
        uow,
        [Change(r, decisions[r.id], Take(tokens[r.id]) if r.id in tokens else KEEP) for r in records],
        actor=ACTOR,
        now=now,
    )
    for record in records:
        follow_up = [e for e in decisions[record.id].effects if not isinstance(e, QueueSend)]
        await carry_out(uow, record=record, effects=follow_up, actor=ACTOR, now=now)
    return len(tokens)


def _decide(
    record: Record, versions: dict[int, CompiledVersion], facts: Mapping[int, Facts], now: datetime
) -> Decision:
    return decide(record.state, versions[record.state.version_id], Due(), facts[record.id], now)


def _key(record: Record, send: QueueSend) -> str:
    return idempotency_key(
        contact_id=record.contact_id,
        campaign_id=record.campaign_id,
        generation=record.state.generation,
        path=send.path,
        lap=send.lap,
        step=send.step,
    )


_INSERT_SENDS = """
INSERT INTO sends (idempotency_key, kind, contact_id, enrolment_id, campaign_id, version_id, generation, path, step,
    lap, channel, sender_id, template_key, status, status_at, not_before, created_at)
SELECT key, 'campaign', contact_id, enrolment_id, campaign_id, version_id, generation, path, step, lap, channel,
    :sender_id, template, 'queued', :now,
    CAST(:base AS timestamptz) + make_interval(secs => CAST(n AS double precision) / :rate), :now
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    key text, contact_id bigint, enrolment_id bigint, campaign_id bigint, version_id bigint, generation integer,
    path text, step text, lap integer, channel text, template text, n integer)
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, enrolment_id
"""


async def _insert_sends(
    uow: UnitOfWork,
    records: Sequence[Record],
    decisions: dict[int, Decision],
    reservation: _Reservation,
    places: Mapping[int, int],
    now: datetime,
) -> dict[int, str]:
    """Insert the sends of the decisions; return lock tokens by enrolment. A key that exists returns nothing.

    `places` numbers the enrolments of this batch: each has its own moment of the reservation.
    """
    rows: list[dict[str, Any]] = []
    for record in records:
        send = decisions[record.id].queued
        if send is None:
            continue
        rows.append(
            {
                "key": _key(record, send),
                "contact_id": record.contact_id,
                "enrolment_id": record.id,
                "campaign_id": record.campaign_id,
                "version_id": decisions[record.id].state.version_id,
                "generation": record.state.generation,
                "path": send.path,
                "step": send.step,
                "lap": send.lap,
                "channel": send.channel,
                "template": send.template,
                "n": places[record.id],
            }
        )
    if not rows:
        return {}
    inserted = await uow.execute(
        _INSERT_SENDS,
        {
            "rows": msgspec.json.encode(rows).decode(),
            "sender_id": reservation.sender_id,
            "now": now,
            "base": reservation.base,
            "rate": reservation.rate,
        },
    )
    return {row.enrolment_id: f"send:{row.id}" for row in inserted}


@dataclass(frozen=True, slots=True)
class _Existing:
    """The sends that an enrolment has: (id, status) by idempotency key, and the channels each has tried."""

    statuses: dict[str, tuple[int, str]] = field(default_factory=dict)
    tried: dict[str, tuple[str, ...]] = field(default_factory=dict)


async def _existing_sends(uow: UnitOfWork, enrolment_ids: Sequence[int]) -> dict[int, _Existing]:
    """Lock and return the sends these enrolments already have."""
    rows = await uow.execute(
        "SELECT id, enrolment_id, idempotency_key, status, tried FROM sends "
        "WHERE enrolment_id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE",
        {"ids": list(enrolment_ids)},
    )
    found: dict[int, _Existing] = {}
    for row in rows:
        sends = found.setdefault(row.enrolment_id, _Existing())
        sends.statuses[row.idempotency_key] = (row.id, row.status)
        sends.tried[row.idempotency_key] = tuple(row.tried)
    return found


_REARM = """
UPDATE sends s SET status = 'queued', status_at = :now, reason = NULL, sender_id = :sender_id,
    channel = r.channel,
    not_before = CAST(:base AS timestamptz) + make_interval(secs => CAST(r.n AS double precision) / :rate)
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(id bigint, n integer, channel text) WHERE s.id = r.id
"""


async def _rearm(
    uow: UnitOfWork,
    records: Sequence[Record],
    decisions: dict[int, Decision],
    facts: Mapping[int, Facts],
    reservation: _Reservation,
    places: Mapping[int, int],
    now: datetime,
) -> dict[int, str]:
    """Queue the unstarted row of a step again; leave what is in the air its lock."""
    tokens: dict[int, str] = {}
    again: list[dict[str, Any]] = []
    fresh: list[Record] = []
    for record in records:
        send = decisions[record.id].queued
        if send is None:
            in_the_air = [
                i for i, status in facts[record.id].sends.values() if status in ("sending", "unknown")
            ]
            if in_the_air and decisions[record.id].state.automation == "active":
                tokens[record.id] = f"send:{in_the_air[-1]}"
            continue
        known = facts[record.id].sends.get(_key(record, send))
        if known is None:
            fresh.append(record)  # the step after one that was done already
        else:
            again.append({"id": known[0], "n": places[record.id], "channel": send.channel})
            tokens[record.id] = f"send:{known[0]}"
    if again:
        await uow.execute(
            _REARM,
            {
                "rows": msgspec.json.encode(again).decode(),
                "now": now,
                "base": reservation.base,
                "rate": reservation.rate,
                "sender_id": reservation.sender_id,
            },
        )
    return tokens | await _insert_sends(uow, fresh, decisions, reservation, places, now)
