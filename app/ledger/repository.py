"""Appending to the ledger: one statement for any number of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from app.db.session import UnitOfWork


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One event to append. Events of a contact alone have neither `enrolment_id` nor `seq`."""

    contact_id: int
    type: str
    at: datetime
    actor: str
    cause: str | None = None
    enrolment_id: int | None = None
    seq: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)


_APPEND = """
INSERT INTO ledger (contact_id, enrolment_id, seq, type, at, actor, cause, data, set)
SELECT contact_id, enrolment_id, seq, type, at, actor, cause, data, set
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    contact_id bigint, enrolment_id bigint, seq integer, type text, at timestamptz, actor text, cause text,
    data jsonb, set jsonb, n integer)
ORDER BY n
"""


async def append_events(uow: UnitOfWork, rows: Sequence[LedgerRow]) -> None:
    """Append events in the order given, inside the caller's transaction."""
    if not rows:
        return
    encoded = [{**_as_json(row), "n": n} for n, row in enumerate(rows)]
    await uow.execute(_APPEND, {"rows": msgspec.json.encode(encoded).decode()})


async def append_contact_event(
    uow: UnitOfWork,
    *,
    contact_id: int,
    type: str,
    at: datetime,
    actor: str,
    cause: str | None = None,
    **data: Any,
) -> None:
    """Append one event that concerns the contact alone (handoffs, assignments, an adviser's messages)."""
    kept = {name: value for name, value in data.items() if value is not None}
    await append_events(uow, [LedgerRow(contact_id, type, at, actor, cause, data=kept)])


async def append_note(
    uow: UnitOfWork, *, contact_id: int, text: str, at: datetime, actor: str, cause: str | None = None
) -> None:
    """Append what a person wrote about a contact. The words are a fact beside the event, so that erasure can empty
    them and leave the history whole.
    """
    await uow.execute(
        "WITH event AS (INSERT INTO ledger (contact_id, type, at, actor, cause) "
        "VALUES (:contact_id, 'noted', :at, :actor, :cause) RETURNING contact_id, id) "
        "INSERT INTO ledger_facts (contact_id, ledger_id, name, value) SELECT contact_id, id, 'text', :text FROM event",
        {"contact_id": contact_id, "at": at, "actor": actor, "cause": cause, "text": text},
    )


def _as_json(row: LedgerRow) -> dict[str, Any]:
    return {
        "contact_id": row.contact_id,
        "enrolment_id": row.enrolment_id,
        "seq": row.seq,
        "type": row.type,
        "at": row.at,
        "actor": row.actor,
        "cause": row.cause,
        "data": row.data,
        "set": row.set,
    }
