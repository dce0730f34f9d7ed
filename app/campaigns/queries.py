"""What other slices may ask about enrolments."""

from __future__ import annotations

from app.db.session import UnitOfWork


async def has_live_enrolment(uow: UnitOfWork, *, contact_id: int) -> bool:
    """Say whether a contact has a live enrolment."""
    rows = await uow.execute(
        "SELECT 1 FROM enrolments WHERE contact_id = :id AND automation <> 'completed'", {"id": contact_id}
    )
    return rows.one_or_none() is not None
