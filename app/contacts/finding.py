"""Finding the person behind an address, or making one; the contact comes back locked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.db.session import UnitOfWork

MOST_MERGES = 16


@dataclass(frozen=True, slots=True)
class FoundContact:
    """A locked contact. `created` says that nobody knew this address before."""

    id: int
    name: str | None
    language: str
    time_zone: str | None
    created: bool


async def find_or_create(
    uow: UnitOfWork, *, kind: str, value: str, name: str | None, language: str, source: str, now: datetime
) -> FoundContact:
    """Return the contact of an identity, locked, after following merges; make one if nobody has it.

    Two first messages of one stranger at the same moment make one contact: the address is locked for the
    transaction while it is looked up.
    """
    known = await _holder(uow, kind, value)
    if known is None:
        await uow.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(:address, 7001))", {"address": f"{kind}:{value}"}
        )
        known = await _holder(uow, kind, value)
    if known is not None:
        return await lock_contact(uow, known)
    created = (
        await uow.execute(
            "INSERT INTO contacts (name, language, source, created_at, updated_at) "
            "VALUES (:name, :language, :source, :now, :now) RETURNING id",
            {"name": name, "language": language, "source": source, "now": now},
        )
    ).one()
    await add_identity(uow, contact_id=created.id, kind=kind, value=value, now=now)
    return FoundContact(created.id, name, language, None, created=True)


async def lock_contact(uow: UnitOfWork, contact_id: int) -> FoundContact:
    """Lock a contact and return it; one that was merged away leads to its survivor."""
    for _ in range(MOST_MERGES):
        row = (
            await uow.execute(
                "SELECT id, name, language, time_zone, merged_into FROM contacts WHERE id = :id FOR NO KEY UPDATE",
                {"id": contact_id},
            )
        ).one()
        if row.merged_into is None:
            return FoundContact(row.id, row.name, row.language, row.time_zone, created=False)
        contact_id = row.merged_into
    raise RuntimeError(f"contact {contact_id} was merged in a circle")


async def add_identity(uow: UnitOfWork, *, contact_id: int, kind: str, value: str, now: datetime) -> None:
    """Add a way to recognise a contact; one that somebody has already stays with them."""
    await uow.execute(
        "INSERT INTO contact_identities (contact_id, kind, value, created_at) "
        "VALUES (:contact_id, :kind, :value, :now) ON CONFLICT (kind, value) DO NOTHING",
        {"contact_id": contact_id, "kind": kind, "value": value, "now": now},
    )


async def _holder(uow: UnitOfWork, kind: str, value: str) -> int | None:
    row = (
        await uow.execute(
            "SELECT contact_id FROM contact_identities WHERE kind = :kind AND value = :value",
            {"kind": kind, "value": value},
        )
    ).one_or_none()
    return row.contact_id if row else None
