"""Set-based writes of people. Locks are taken in the order run → contacts by ascending id."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.contacts.imports.domain.details import Details
from app.contacts.imports.domain.outcomes import Identity
from app.db.session import UnitOfWork


class BatchRacedError(Exception):
    """Somebody else changed the same people in between; nothing was written, the batch is tried again."""


@dataclass(frozen=True, slots=True)
class StandingConsent:
    """What a batch says in the end about one person and channel."""

    contact_id: int
    channel: str
    granted: bool


_DETAILS_TABLE: Final = (
    "(SELECT id, name, language, time_zone, source, CAST(attributes AS jsonb) AS attributes "
    "FROM unnest(CAST(:ids AS bigint[]), CAST(:names AS text[]), CAST(:languages AS text[]), "
    "CAST(:zones AS text[]), CAST(:sources AS text[]), CAST(:attributes AS text[])) "
    "AS u(id, name, language, time_zone, source, attributes)) AS d"
)


async def find_identities(uow: UnitOfWork, *, identities: Sequence[Identity]) -> dict[Identity, int]:
    """Return the contact of each identity that is known."""
    if not identities:
        return {}
    rows = await uow.execute(
        "SELECT i.kind, i.value, i.contact_id FROM contact_identities i "
        "JOIN unnest(CAST(:kinds AS text[]), CAST(:values AS text[])) AS w(kind, value) "
        "ON i.kind = w.kind AND i.value = w.value",
        {"kinds": [i.kind for i in identities], "values": [i.value for i in identities]},
    )
    return {Identity(row.kind, row.value): row.contact_id for row in rows}


async def lock_contacts(uow: UnitOfWork, *, contact_ids: Iterable[int]) -> None:
    """Lock contacts by ascending id; raise BatchRacedError when one was merged away meanwhile."""
    ids = sorted(set(contact_ids))
    if not ids:
        return
    rows = await uow.execute(
        "SELECT id, merged_into FROM contacts WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE",
        {"ids": ids},
    )
    if any(row.merged_into is not None for row in rows):
        raise BatchRacedError("merged")


async def reserve_contact_ids(uow: UnitOfWork, *, count: int) -> list[int]:
    """Return ids for new contacts, ascending."""
    rows = await uow.execute(
        "SELECT nextval(pg_get_serial_sequence('contacts', 'id')) AS id FROM generate_series(1, :n)",
        {"n": count},
    )
    return sorted(row.id for row in rows)


async def insert_contacts(
    uow: UnitOfWork, *, people: Mapping[int, Details], default_language: str, now: datetime
) -> None:
    """Insert new contacts under their reserved ids."""
    await uow.execute(
        "INSERT INTO contacts "
        "(id, name, language, time_zone, source, attributes, created_at, updated_at) "
        "SELECT id, name, coalesce(language, :default), time_zone, source, attributes, :now, :now "
        f"FROM {_DETAILS_TABLE}",
        {**_details_columns(people), "default": default_language, "now": now},
    )


async def fill_blanks(uow: UnitOfWork, *, people: Mapping[int, Details], now: datetime) -> None:
    """Add to known contacts what they lack; nothing they already say is replaced."""
    await uow.execute(
        "UPDATE contacts c SET name = coalesce(c.name, d.name), "
        "time_zone = coalesce(c.time_zone, d.time_zone), "
        "source = coalesce(c.source, d.source), attributes = d.attributes || c.attributes, updated_at = :now "
        f"FROM {_DETAILS_TABLE} WHERE c.id = d.id AND ("
        "(c.name IS NULL AND d.name IS NOT NULL) OR (c.time_zone IS NULL AND d.time_zone IS NOT NULL) "
        "OR (c.source IS NULL AND d.source IS NOT NULL) "
        "OR d.attributes || c.attributes <> c.attributes)",
        {**_details_columns(people), "now": now},
    )


async def insert_identities(
    uow: UnitOfWork, *, owners: Sequence[tuple[Identity, int]], now: datetime
) -> None:
    """Insert identities; raise BatchRacedError when another transaction has just taken one of them.

    The order is that of the rows: a person's first phone stays the first.
    """
    if not owners:
        return
    rows = await uow.execute(
        "INSERT INTO contact_identities (contact_id, kind, value, created_at) "
        "SELECT contact_id, kind, value, :now "
        "FROM unnest(CAST(:contacts AS bigint[]), CAST(:kinds AS text[]), "
        "CAST(:values AS text[])) WITH ORDINALITY AS i(contact_id, kind, value, place) ORDER BY place "
        "ON CONFLICT (kind, value) DO NOTHING RETURNING id",
        {
            "contacts": [contact_id for _, contact_id in owners],
            "kinds": [identity.kind for identity, _ in owners],
            "values": [identity.value for identity, _ in owners],
            "now": now,
        },
    )
    if len(rows.all()) != len(owners):
        raise BatchRacedError("identity taken")


async def save_consents(
    uow: UnitOfWork, *, consents: Sequence[StandingConsent], source: str, at: datetime
) -> None:
    """Write consents: a `no` always counts, a `yes` never lifts a `no` of the same file or of the person.

    A `no` that another file brought is lifted by the `yes` of a file uploaded after it, whichever is worked on last;
    one the person gave is not.
    """
    if not consents:
        return
    await uow.execute(
        "INSERT INTO consents (contact_id, channel, granted, source, at) "
        "SELECT contact_id, channel, granted, :source, :at FROM unnest(CAST(:contacts AS bigint[]), "
        "CAST(:channels AS text[]), CAST(:granted AS boolean[])) AS c(contact_id, channel, granted) "
        "ORDER BY contact_id, channel "
        "ON CONFLICT (contact_id, channel) DO UPDATE "
        "SET granted = EXCLUDED.granted, source = EXCLUDED.source, at = greatest(EXCLUDED.at, consents.at) "
        "WHERE CASE WHEN EXCLUDED.granted THEN NOT consents.granted AND consents.source LIKE 'import:%' "
        "AND consents.source <> EXCLUDED.source AND consents.at <= EXCLUDED.at ELSE consents.granted END",
        {
            "contacts": [consent.contact_id for consent in consents],
            "channels": [consent.channel for consent in consents],
            "granted": [consent.granted for consent in consents],
            "source": source,
            "at": at,
        },
    )


def _details_columns(people: Mapping[int, Details]) -> dict[str, list[Any]]:
    details = list(people.values())
    return {
        "ids": list(people),
        "names": [one.name for one in details],
        "languages": [one.language for one in details],
        "zones": [one.time_zone for one in details],
        "sources": [one.source for one in details],
        "attributes": [json.dumps(one.attributes) for one in details],
    }
