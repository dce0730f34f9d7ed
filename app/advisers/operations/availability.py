"""An adviser's own switch: taking leads or not."""

from __future__ import annotations

from datetime import datetime

from app.advisers.events import AvailabilityChanged, CapacityFreed
from app.db.session import UnitOfWork
from app.kernel.errors import Forbidden


async def set_availability(uow: UnitOfWork, *, user_id: int, taking_leads: bool, now: datetime) -> None:
    """Begin or stop taking leads; what the adviser owns stays theirs.

    Raises `Forbidden` for people without a seat.
    """
    rows = await uow.execute(
        "UPDATE adviser_profiles SET taking_leads = :taking "
        "WHERE user_id = :id AND state <> 'left' RETURNING team",
        {"taking": taking_leads, "id": user_id},
    )
    team = rows.scalar()
    if team is None:
        raise Forbidden("Only advisers take leads.")
    uow.emit(AvailabilityChanged(user_id, team, taking_leads))
    if taking_leads:
        uow.emit(CapacityFreed(team))
