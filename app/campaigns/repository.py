"""Loading enrolments under their row lock, and writing decisions: enrolment and ledger in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Result, Row

from app.campaigns.domain.enrolment import COVERED, Decision, EnrolmentState, Event, to_json
from app.campaigns.domain.vocabulary import Automation, Stage
from app.campaigns.events import JourneyEnded
from app.db.session import UnitOfWork
from app.ledger.repository import LedgerRow, append_events


@dataclass(frozen=True, slots=True)
class Record:
    """One enrolment as locked: its state, its lock, and where its ledger stands."""

    id: int
    contact_id: int
    campaign_id: int
    state: EnrolmentState
    lock_token: str | None
    ledger_seq: int
    ledger_at: datetime
    zone: str


@dataclass(frozen=True, slots=True)
class Take:
    """Take the enrolment's lock for a send."""

    token: str


@dataclass(frozen=True, slots=True)
class Release:
    """Release the enrolment's lock. Only start, accept and reap do so."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the lock as it is."""


Lock = Take | Release | Keep
KEEP, RELEASE = Keep(), Release()


@dataclass(frozen=True, slots=True)
class Change:
    """One decision to write for one locked enrolment."""

    record: Record
    decision: Decision
    lock: Lock = KEEP


_TYPES = {
    "generation": "integer",
    "lap": "integer",
    "return_lap": "integer",
    **dict.fromkeys(
        ("wait_from", "next_run_at", "resume_at", "last_sent_at", "last_inbound_at"), "timestamptz"
    ),
    **dict.fromkeys(
        (
            "version_id",
            "sender_id",
            "booking_id",
            "first_reply_send_id",
            "first_booking_send_id",
            "adviser_id",
        ),
        "bigint",
    ),
}
_COLUMNS = ", ".join(COVERED)
_TYPED = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in COVERED)

_SELECT = f"""
SELECT e.id, e.contact_id, e.campaign_id, e.lock_token, e.ledger_seq, e.ledger_at,
       coalesce(c.time_zone, :organisation_zone) AS time_zone,
       {", ".join(f"e.{name}" for name in COVERED)}
FROM enrolments e JOIN contacts c ON c.id = e.contact_id
"""

_UPDATE = f"""
UPDATE enrolments e SET
    {", ".join(f"{name} = r.{name}" for name in COVERED)},
    lock_token = CASE r.lock WHEN 'take' THEN r.token WHEN 'release' THEN NULL ELSE e.lock_token END,
    ledger_seq = r.ledger_seq, ledger_at = r.ledger_at
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    id bigint, lock text, token text, ledger_seq integer, ledger_at timestamptz, {_TYPED})
WHERE e.id = r.id
"""

INSERT_COLUMNS = _COLUMNS
INSERT_TYPES = _TYPED


async def lock_enrolments(uow: UnitOfWork, ids: Iterable[int], *, skip_locked: bool = False) -> list[Record]:
    """Lock enrolments by ascending id and return them; with `skip_locked`, only those nobody else holds."""
    wanted = sorted(set(ids))
    if not wanted:
        return []
    skip = " SKIP LOCKED" if skip_locked else ""
    rows = await uow.execute(
        f"{_SELECT} WHERE e.id = ANY(CAST(:ids AS bigint[])) ORDER BY e.id FOR NO KEY UPDATE OF e{skip}",
        {"ids": wanted, "organisation_zone": uow.zone},
    )
    return [as_record(row) for row in rows]


async def lock_live_enrolment(uow: UnitOfWork, *, contact_id: int) -> Record | None:
    """Lock the live enrolment of a contact, if there is one. The caller holds the contact's lock."""
    rows = await uow.execute(
        f"{_SELECT} WHERE e.contact_id = :contact_id AND e.automation <> 'completed' FOR NO KEY UPDATE OF e",
        {"contact_id": contact_id, "organisation_zone": uow.zone},
    )
    row = rows.one_or_none()
    return as_record(row) if row else None


async def select_enrolments(uow: UnitOfWork, clauses: str, values: dict[str, Any]) -> Result[Any]:
    """Select enrolments with what a Record needs; `clauses` says which, in what order, and with what lock."""
    return await uow.execute(f"{_SELECT} {clauses}", {**values, "organisation_zone": uow.zone})


def as_record(row: Row[Any]) -> Record:
    """Return a row of `_SELECT` as a Record."""
    values = {name: getattr(row, name) for name in COVERED}
    values["stage"] = Stage(row.stage)
    values["automation"] = Automation(row.automation)
    values["return_stage"] = Stage(row.return_stage) if row.return_stage else None
    values["held_from"] = Automation(row.held_from) if row.held_from else None
    return Record(
        row.id,
        row.contact_id,
        row.campaign_id,
        EnrolmentState(**values),
        row.lock_token,
        row.ledger_seq,
        row.ledger_at,
        row.time_zone,
    )


async def save_changes(uow: UnitOfWork, changes: Sequence[Change], *, actor: str, now: datetime) -> None:
    """Write the decisions of locked enrolments and their ledger events. The ledger's time never runs back."""
    if not changes:
        return
    events: list[LedgerRow] = []
    rows: list[dict[str, Any]] = []
    for change in changes:
        record, at = change.record, max(now, change.record.ledger_at)
        decision = _with_owner(change, at)
        events.extend(ledger_rows(record, decision, actor=actor, at=at))
        rows.append(
            {
                "id": record.id,
                **_lock(change.lock),
                "ledger_seq": record.ledger_seq + len(decision.events),
                "ledger_at": at,
                **{name: getattr(decision.state, name) for name in COVERED},
            }
        )
    await uow.execute(_UPDATE, {"rows": msgspec.json.encode(rows).decode()})
    await append_events(uow, events)
    for change in changes:
        if _ends(change):
            uow.emit(JourneyEnded(change.record.contact_id, change.record.id))


def _ends(change: Change) -> bool:
    over = Automation.COMPLETED
    return change.record.state.automation is not over and change.decision.state.automation is over


def ledger_rows(record: Record, decision: Decision, *, actor: str, at: datetime) -> list[LedgerRow]:
    """Return the ledger rows of a decision, numbered after what the enrolment's ledger holds."""
    return [
        LedgerRow(
            record.contact_id,
            event.type,
            at,
            actor,
            event.cause,
            record.id,
            record.ledger_seq + n,
            event.data,
            event.set,
        )
        for n, event in enumerate(decision.events, start=1)
    ]


def _with_owner(change: Change, at: datetime) -> Decision:
    """Give an active enrolment that nothing locks and no timer wakes a timer: it always has one owner (I3)."""
    decision, lock = change.decision, change.lock
    locked = isinstance(lock, Take) or (isinstance(lock, Keep) and change.record.lock_token is not None)
    state = decision.state
    if locked or state.automation is not Automation.ACTIVE or state.next_run_at is not None:
        return decision
    last = decision.events[-1] if decision.events else Event("ignored", "timer set")
    event = replace(last, set={**last.set, "next_run_at": to_json(at)})
    return replace(decision, state=replace(state, next_run_at=at), events=(*decision.events[:-1], event))


def _lock(lock: Lock) -> dict[str, Any]:
    match lock:
        case Take(token):
            return {"lock": "take", "token": token}
        case Release():
            return {"lock": "release", "token": None}
        case _:
            return {"lock": "keep", "token": None}
