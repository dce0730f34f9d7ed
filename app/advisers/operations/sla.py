"""The sweep over reply clocks: each warns once and breaches once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.advisers.events import SlaBreached, SlaWarned
from app.db.session import UnitOfWork
from app.ledger.repository import LedgerRow, append_events

ACTOR = "system"


@dataclass(frozen=True, slots=True)
class SlaChange:
    """A clock that has just warned or breached."""

    handoff_id: int
    contact_id: int
    owner_id: int | None
    kind: Literal["warned", "breached"]
    due_at: datetime


# A clock found past its due time breaches without a warning: it would say less, later. `due_at` and `warn_at`
# are null while it is the lead's turn.
_TICK = """
WITH found AS (
    SELECT id, due_at <= :now AS is_breach
    FROM handoffs
    WHERE status <> 'closed'
      AND ((due_at <= :now AND breached_at IS NULL) OR (warn_at <= :now AND warned_at IS NULL))
    ORDER BY due_at, id
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE handoffs h
SET warned_at = coalesce(h.warned_at, :now),
    breached_at = CASE WHEN found.is_breach THEN :now ELSE h.breached_at END
FROM found WHERE h.id = found.id
RETURNING h.id AS handoff_id, h.contact_id, h.owner_id,
    CASE WHEN found.is_breach THEN 'breached' ELSE 'warned' END AS kind, h.due_at
"""


async def sla_tick(uow: UnitOfWork, *, now: datetime, limit: int = 200) -> list[SlaChange]:
    """Mark clocks past their warning or due time, at most `limit`, and return them, the earliest due first.

    Locks handoffs alone and waits for nobody: what is being worked on is looked at next time.
    """
    rows = await uow.execute(_TICK, {"now": now, "limit": limit})
    changes = sorted(
        (SlaChange(**row) for row in rows.mappings()), key=lambda change: (change.due_at, change.handoff_id)
    )
    await append_events(uow, [_event(change, now) for change in changes])
    for change in changes:
        kind = SlaBreached if change.kind == "breached" else SlaWarned
        uow.emit(kind(change.contact_id, change.handoff_id, change.owner_id, change.due_at))
    return changes


def _event(change: SlaChange, now: datetime) -> LedgerRow:
    data = {"handoff_id": change.handoff_id, "owner_id": change.owner_id, "due_at": change.due_at}
    return LedgerRow(change.contact_id, f"sla_{change.kind}", now, ACTOR, data=data)
