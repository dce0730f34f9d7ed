"""A person's rest that does not hang on the end of a journey: after a conversation, and ended before its time."""

from __future__ import annotations

from datetime import datetime

from app.campaigns.waiting.operations import give_turns
from app.contacts.cooldowns.operations import begin_cooldown, lift_cooldown
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


# A journey that ended in this transaction has left its own rest, or has none by the settings.
_HOW_IT_ENDED = """
SELECT h.outcome, h.not_now_until, EXISTS (SELECT 1 FROM enrolments e WHERE e.contact_id = h.contact_id
    AND e.automation = 'completed' AND e.xmin = pg_current_xact_id()::xid) AS with_a_journey
FROM handoffs h WHERE h.id = :id
"""


async def rest_after_handoff(
    uow: UnitOfWork, *, contact_id: int, handoff_id: int, actor: str, now: datetime
) -> None:
    """Let somebody rest whom a person marked as won, lost or not now though no campaign runs for them."""
    row = (await uow.execute(_HOW_IT_ENDED, {"id": handoff_id})).one()
    if row.outcome not in ("won", "lost", "not_now") or row.with_a_journey:
        return
    await begin_cooldown(
        uow,
        contact_id=contact_id,
        reason=row.outcome,
        enrolment_id=None,
        until=row.not_now_until,
        actor=actor,
        now=now,
    )
