"""Leads who wait again because an adviser's answer did not arrive after all."""

from __future__ import annotations

from datetime import datetime

from app.advisers.operations import handoffs
from app.contacts.finding import lock_contact
from app.db.session import UnitOfWork

_UNANSWERED = """
SELECT h.contact_id FROM handoffs h JOIN LATERAL (
    SELECT s.id, s.status FROM sends s WHERE s.contact_id = h.contact_id AND s.kind = 'adviser'
    ORDER BY s.id DESC LIMIT 1) AS last ON true
WHERE h.status <> 'closed' AND h.waiting_since IS NOT NULL
  AND last.status IN ('failed', 'undelivered', 'skipped', 'needs_review')
"""


async def find_unanswered(uow: UnitOfWork, *, most: int = 100) -> list[int]:
    """Return the contacts whose clock stands still although the last answer to them failed."""
    rows = await uow.execute(f"{_UNANSWERED} ORDER BY h.contact_id LIMIT :most", {"most": most})
    return [row.contact_id for row in rows]


async def reopen_unanswered(uow: UnitOfWork, *, contact_id: int, now: datetime) -> bool:
    """Let the clock of such a lead run again; True where it did. Nothing happens to anybody else."""
    contact = await lock_contact(uow, contact_id)
    rows = await uow.execute(f"{_UNANSWERED} AND h.contact_id = :id", {"id": contact.id})
    if rows.one_or_none() is None:
        return False
    await handoffs.open_or_touch(
        uow, contact_id=contact.id, enrolment_id=None, reason="answer_failed", actor="engine", now=now
    )
    return True
