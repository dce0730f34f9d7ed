"""Ending a person's rest before its time: a decision of somebody who may, with a written reason."""

from __future__ import annotations

from datetime import datetime

from app.campaigns.waiting.operations import give_turns
from app.contacts.cooldowns.operations import lift_cooldown
from app.contacts.finding import lock_contact
from app.db.session import UnitOfWork
from app.kernel.errors import CommandRefused


async def lift_rest(uow: UnitOfWork, *, contact_id: int, reason: str, actor: str, now: datetime) -> datetime:
    """Lift every cool-down of a person that runs, and return until when they would have rested.

    What waits for the end of the rest has its turn. Whoever calls has checked the right. Raises `Invalid` without a
    reason, `CommandRefused` where nobody rests.
    """
    contact = await lock_contact(uow, contact_id)
    until = await lift_cooldown(uow, contact_id=contact.id, reason=reason, actor=actor, now=now)
    if until is None:
        raise CommandRefused("This lead does not rest.")
    await give_turns(uow, contact_ids=[contact.id], now=now)
    return until
