"""Receipts: a fact from outside is stored once, as it came, before anything is done about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from app.db.session import UnitOfWork
from app.messaging.domain.inbound import InboundMessage, Unprocessable
from app.messaging.domain.statuses import StatusEvent
from app.messaging.gateways.twilio.forms import FormFields
from app.messaging.gateways.twilio.webhooks import parse_inbound, parse_status

INBOUND = "twilio.inbound"
STATUS = "twilio.status"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was stored. `new` is false for a redelivery, which changes nothing."""

    signal_id: int
    new: bool


async def keep_inbound(uow: UnitOfWork, *, fields: FormFields, now: datetime) -> Receipt:
    """Store an inbound message; its message id alone decides whether it is new."""
    parsed = parse_inbound(fields)
    if isinstance(parsed, Unprocessable):
        return await _keep_unreadable(uow, INBOUND, fields, parsed, now)
    return await _keep(
        uow,
        source=INBOUND,
        external_id=parsed.provider_message_id,
        kind="inbound",
        address=parsed.from_address.wire,
        attempt_id=None,
        provider_message_id=parsed.provider_message_id,
        payload=to_payload(fields),
        now=now,
    )


async def keep_status(uow: UnitOfWork, *, fields: FormFields, raw_query: str, now: datetime) -> Receipt:
    """Store a status report; message, status and error code together decide whether it is new."""
    parsed = parse_status(fields, raw_query=raw_query)
    if isinstance(parsed, Unprocessable):
        return await _keep_unreadable(uow, STATUS, fields, parsed, now)
    return await _keep(
        uow,
        source=STATUS,
        external_id=f"{parsed.provider_message_id}:{parsed.status}:{parsed.error_code or ''}",
        kind="status",
        address=parsed.to_address.wire if parsed.to_address else None,
        attempt_id=parsed.attempt_id,
        provider_message_id=parsed.provider_message_id,
        payload={**to_payload(fields), "query": raw_query},
        now=now,
    )


def to_payload(fields: FormFields) -> dict[str, Any]:
    """Return the fields as JSON that keeps order, repeats and blanks; what cannot be text is cleaned and noted."""
    cleaned = FormFields(fields.pairs)
    pairs = [
        [name, value]
        for name, values in cleaned.raw().items()
        for value in (values if isinstance(values, list) else [values])
    ]
    return {"fields": pairs, "notes": list(fields.notes())}


def from_payload(payload: dict[str, Any]) -> FormFields:
    """Return the fields of a stored payload."""
    return FormFields(tuple((str(k).encode(), str(v).encode()) for k, v in payload["fields"]))


def read_inbound(payload: dict[str, Any]) -> InboundMessage | Unprocessable:
    """Return the inbound message of a stored payload."""
    return parse_inbound(from_payload(payload))


def read_status(payload: dict[str, Any]) -> StatusEvent | Unprocessable:
    """Return the status report of a stored payload."""
    return parse_status(from_payload(payload), raw_query=payload.get("query", ""))


async def _keep_unreadable(
    uow: UnitOfWork, source: str, fields: FormFields, parsed: Unprocessable, now: datetime
) -> Receipt:
    """Keep a genuine call that is no message, under a name made of its own content."""
    digest = hashlib.sha256(msgspec.json.encode(fields.raw())).hexdigest()[:32]
    receipt = await _keep(
        uow,
        source=source,
        external_id=f"unreadable:{digest}",
        kind="unreadable",
        address=None,
        attempt_id=None,
        provider_message_id=parsed.provider_message_id,
        payload=to_payload(fields),
        now=now,
    )
    await uow.execute(
        "UPDATE signals SET processed_at = clock_timestamp(), processed_xid = pg_current_xact_id(), "
        "outcome = :outcome WHERE id = :id AND processed_at IS NULL",
        {"outcome": f"ignored:{parsed.reason}", "id": receipt.signal_id},
    )
    return receipt


async def _keep(
    uow: UnitOfWork,
    *,
    source: str,
    external_id: str,
    kind: str,
    address: str | None,
    attempt_id: str | None,
    provider_message_id: str | None,
    payload: dict[str, Any],
    now: datetime,
) -> Receipt:
    values = {
        "source": source,
        "external_id": external_id,
        "kind": kind,
        "address": address,
        "attempt_id": attempt_id,
        "sid": provider_message_id,
        "payload": msgspec.json.encode(payload).decode(),
        "now": now,
    }
    inserted = (
        await uow.execute(
            "INSERT INTO signals (source, external_id, kind, address, attempt_id, provider_message_id, payload, at) "
            "VALUES (:source, :external_id, :kind, :address, :attempt_id, :sid, CAST(:payload AS jsonb), :now) "
            "ON CONFLICT (source, external_id) DO NOTHING RETURNING id",
            values,
        )
    ).one_or_none()
    if inserted is not None:
        return Receipt(inserted.id, new=True)
    known = await uow.execute(
        "SELECT id FROM signals WHERE source = :source AND external_id = :external_id",
        {"source": source, "external_id": external_id},
    )
    return Receipt(known.one().id, new=False)
