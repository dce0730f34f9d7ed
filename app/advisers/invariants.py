"""Invariants of handoffs and assignments."""

from __future__ import annotations

from typing import Final

from app.db.invariants import Invariant

I7: Final = Invariant(
    id="I7",
    title="Every open handoff has an owner or the pool, and a due time or a “waiting on the lead since”",
    sql="""
SELECT h.contact_id, 'handoff ' || h.id || ': ' || concat_ws(', ',
    CASE WHEN h.due_at IS NULL AND h.waiting_since IS NULL THEN 'no clock' END,
    CASE WHEN h.due_at IS NOT NULL AND h.waiting_since IS NOT NULL THEN 'two clocks' END,
    CASE WHEN h.owner_id IS NOT NULL AND u.id IS NULL THEN 'owner does not exist' END) AS detail
FROM handoffs h
LEFT JOIN users u ON u.id = h.owner_id
WHERE h.status <> 'closed'
  AND (((h.due_at IS NULL) = (h.waiting_since IS NULL)) OR (h.owner_id IS NOT NULL AND u.id IS NULL))
""",
)

# `load_seen` is the load before the assignment, so the one that fills the last place saw capacity - 1.
I8: Final = Invariant(
    id="I8",
    title="No assignment above the capacity seen at that moment, without a recorded override",
    sql="""
SELECT a.contact_id, 'assignment ' || a.id || ' of handoff ' || a.handoff_id || ': load '
    || coalesce(a.load_seen::text, 'unknown') || ' of '
    || coalesce(a.capacity_seen::text, 'unknown') AS detail
FROM assignments a
WHERE a.owner_id IS NOT NULL
  AND (a.load_seen IS NULL OR a.capacity_seen IS NULL OR a.load_seen >= a.capacity_seen)
  AND (a.override_by IS NULL OR coalesce(btrim(a.override_reason), '') = '')
""",
)

INVARIANTS: Final[tuple[Invariant, ...]] = (I7, I8)
