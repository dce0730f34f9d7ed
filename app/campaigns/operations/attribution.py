"""To which of our messages a person's act belongs: the last one of a campaign before it."""

from __future__ import annotations

from datetime import datetime

from app.db.session import UnitOfWork


async def last_campaign_send(
    uow: UnitOfWork, contact_id: int, enrolment_id: int | None, now: datetime
) -> int | None:
    """Return the last campaign send accepted by `now`: what a reply answers, what a reply or booking is credited to."""
    row = (
        await uow.execute(
            "SELECT id FROM sends WHERE contact_id = :id AND kind = 'campaign' AND accepted_at <= :now "
            "AND (enrolment_id = :enrolment_id OR CAST(:enrolment_id AS bigint) IS NULL) "
            "ORDER BY accepted_at DESC, id DESC LIMIT 1",
            {"id": contact_id, "enrolment_id": enrolment_id, "now": now},
        )
    ).one_or_none()
    return row.id if row else None
