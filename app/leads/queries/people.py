"""Finding one person by whatever is known of them: an id, a phone number, an e-mail, an external id."""

from __future__ import annotations

from app.db.session import UnitOfWork
from app.kernel.emails import normalise_email
from app.kernel.errors import Invalid, NotFound
from app.kernel.phones import normalise_phone

_FIND = """
WITH RECURSIVE found AS (
    SELECT id, merged_into FROM contacts WHERE id = ANY(CAST(:ids AS bigint[]))
    UNION SELECT c.id, c.merged_into FROM contacts c JOIN contact_identities i ON i.contact_id = c.id
        WHERE (i.kind = 'phone' AND i.value = :phone) OR (i.kind = 'email' AND i.value = :email)
           OR (i.kind = 'external' AND i.value = :external)
    UNION SELECT c.id, c.merged_into FROM contacts c JOIN found ON c.id = found.merged_into)
SELECT id FROM found WHERE merged_into IS NULL ORDER BY id
"""
_PEOPLE = """
WITH RECURSIVE people AS (
    SELECT CAST(:id AS bigint) AS id UNION SELECT m.id FROM contacts m JOIN people p ON m.merged_into = p.id)
SELECT id FROM people ORDER BY id
"""


async def find_person(uow: UnitOfWork, *, text: str, default_country: str) -> int:
    """Return the contact, followed through merges. A number of up to 6 digits is an id before anything else.

    Raises `NotFound`, and `Invalid` where several people fit.
    """
    given = text.strip()
    ids = [int(given)] if given.isascii() and given.isdecimal() and len(given) <= 18 else []
    is_id = bool(ids) and len(given) <= 6
    values = {
        "ids": ids,
        "phone": None if is_id else normalise_phone(given, default_country=default_country).e164,
        "email": normalise_email(given).identity if "@" in given else None,
        "external": given,
    }
    found = [row.id for row in await uow.execute(_FIND, values)]
    if not found:
        raise NotFound(f"Nobody is known as {given}.")
    if len(found) > 1:
        raise Invalid(f"Several contacts fit: {', '.join(str(one) for one in found)}. Name one by its id.")
    return int(found[0])


async def everybody_merged_into(uow: UnitOfWork, *, contact_id: int) -> tuple[int, ...]:
    """Return a contact and all who were merged into it."""
    return tuple(row.id for row in await uow.execute(_PEOPLE, {"id": contact_id}))
