"""The facts a decision may need besides the record itself."""

from __future__ import annotations

from app.campaigns.domain.stimuli import Facts
from app.campaigns.repository import Record
from app.db.session import UnitOfWork


async def load_facts(uow: UnitOfWork, record: Record) -> Facts:
    """Return what is known of a locked enrolment's contact: zone, and whether a person has the lead."""
    row = (
        await uow.execute(
            "SELECT owner_id FROM handoffs WHERE contact_id = :id AND status <> 'closed'",
            {"id": record.contact_id},
        )
    ).one_or_none()
    return Facts(
        record.contact_id,
        record.zone,
        handoff_open=row is not None,
        owned=row is not None and row.owner_id is not None,
    )
