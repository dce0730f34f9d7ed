"""A question that somebody answered by what they did: the journey runs again, or has ended."""

from __future__ import annotations

from datetime import datetime

from app.campaigns.backfill.finding import PAUSE_REASON
from app.db.session import UnitOfWork


async def close_answered(uow: UnitOfWork, *, enrolment_id: int, now: datetime) -> None:
    """Close the question whether a journey that began inside a rest may go on, where that is decided already."""
    await uow.execute(
        "UPDATE tasks t SET done_at = :now, done_by = 'engine', outcome = 'by_deed' FROM enrolments e "
        "WHERE t.kind = 'review' AND t.subject = :subject AND t.done_at IS NULL AND e.id = :id "
        "AND e.automation IN ('active', 'completed')",
        {"subject": f"enrolment:{enrolment_id}:{PAUSE_REASON}", "id": enrolment_id, "now": now},
    )
