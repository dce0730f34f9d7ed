"""Writing and lifting cool-downs."""

from __future__ import annotations

from datetime import datetime

from app.contacts.cooldowns.domain import rest_ends
from app.contacts.cooldowns.settings import load_lengths
from app.db.session import UnitOfWork
from app.kernel.errors import Invalid
from app.ledger.repository import append_contact_event


async def begin_cooldown(
    uow: UnitOfWork,
    *,
    contact_id: int,
    reason: str,
    enrolment_id: int | None,
    until: datetime | None = None,
    actor: str,
    now: datetime,
) -> datetime | None:
    """Let a person rest from `now` on, as long as the reason says, inside the transaction of what ended.

    Return when the rest ends, None where there is none. The same end of the same enrolment writes one.
    """
    lengths = await load_lengths(uow)
    ends_at = rest_ends(lengths, reason=reason, begins_at=now, until=until, zone=uow.zone)
    if ends_at is None:
        return None
    await uow.execute(
        "INSERT INTO cooldowns (contact_id, reason, enrolment_id, starts_at, ends_at, created_by) "
        "SELECT :contact_id, :reason, CAST(:enrolment_id AS bigint), :now, :ends_at, :actor "
        "WHERE NOT EXISTS (SELECT 1 FROM cooldowns d WHERE d.enrolment_id = :enrolment_id AND d.reason = :reason)",
        {
            "contact_id": contact_id,
            "reason": reason,
            "enrolment_id": enrolment_id,
            "now": now,
            "ends_at": ends_at,
            "actor": actor,
        },
    )
    return ends_at


async def lift_cooldown(
    uow: UnitOfWork, *, contact_id: int, reason: str, actor: str, now: datetime
) -> datetime | None:
    """End the rest of a person at once, and say so in the ledger; the caller holds the contact's lock.

    Return until when it would have lasted, None where nobody rests. Raises `Invalid` without a written reason.
    """
    if not reason.strip():
        raise Invalid("Say why the rest ends before its time.", field="reason")
    rows = await uow.execute(
        "UPDATE cooldowns SET lifted_at = :now, lifted_by = :actor, lift_reason = :reason "
        "WHERE contact_id = :contact_id AND lifted_at IS NULL AND starts_at <= :now AND ends_at > :now "
        "RETURNING id, ends_at",
        {"contact_id": contact_id, "now": now, "actor": actor, "reason": reason.strip()},
    )
    lifted = rows.all()
    if not lifted:
        return None
    until: datetime = max(row.ends_at for row in lifted)
    await append_contact_event(
        uow,
        contact_id=contact_id,
        type="released",
        at=now,
        actor=actor,
        cause=reason.strip(),
        what="rest",
        until=until.isoformat(),
        cooldowns=sorted(row.id for row in lifted),
    )
    return until
