"""The thread of a contact: one locked row that counts its messages, and the bubbles."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from app.db.session import UnitOfWork
from app.messaging.domain.inbound import InboundMessage

# A receipt that was processed late must not make the thread, or the 24-hour window, older than it is.
_NEWER = "excluded.last_message_at >= coalesce(conversations.last_message_at, '-infinity')"


async def add_inbound(
    uow: UnitOfWork,
    *,
    contact_id: int,
    signal_id: int,
    message: InboundMessage,
    sender_id: int | None,
    now: datetime,
) -> int:
    """Add a bubble of the lead's, open the 24-hour window, raise the version; return the conversation's id.

    The caller holds the contact's lock. A signal makes one bubble, however often it is processed.
    """
    conversation = (
        await uow.execute(
            "INSERT INTO conversations (contact_id, version, unread, last_message_at, last_direction, last_text, "
            "last_kind, last_inbound_at, whatsapp_inbound_at, whatsapp_sender_id, created_at) "
            "VALUES (:contact_id, 1, 1, :now, 'in', :text, :kind, :now, :window, :sender_id, :now) "
            "ON CONFLICT (contact_id) DO UPDATE SET version = conversations.version + 1, "
            "unread = conversations.unread + 1, "
            f"last_direction = CASE WHEN {_NEWER} THEN 'in' ELSE conversations.last_direction END, "
            f"last_text = CASE WHEN {_NEWER} THEN excluded.last_text ELSE conversations.last_text END, "
            f"last_kind = CASE WHEN {_NEWER} THEN excluded.last_kind ELSE conversations.last_kind END, "
            "last_message_at = greatest(excluded.last_message_at, conversations.last_message_at), "
            "last_inbound_at = greatest(excluded.last_inbound_at, conversations.last_inbound_at), "
            "whatsapp_inbound_at = greatest(excluded.whatsapp_inbound_at, conversations.whatsapp_inbound_at), "
            "whatsapp_sender_id = coalesce(excluded.whatsapp_sender_id, conversations.whatsapp_sender_id) "
            "RETURNING id",
            {
                "contact_id": contact_id,
                "now": now,
                "text": message.text[:500],
                "kind": str(message.kind),
                "window": now if message.from_address.channel == "whatsapp" else None,
                "sender_id": sender_id if message.from_address.channel == "whatsapp" else None,
            },
        )
    ).one()
    await uow.execute(
        "INSERT INTO messages (contact_id, direction, channel, kind, text, media, extra, signal_id, replied_to, at) "
        "VALUES (:contact_id, 'in', :channel, :kind, :text, CAST(:media AS jsonb), CAST(:extra AS jsonb), :signal_id, "
        ":replied_to, :now) ON CONFLICT (signal_id) DO NOTHING",
        {
            "contact_id": contact_id,
            "channel": str(message.from_address.channel),
            "kind": str(message.kind),
            "text": message.text,
            "media": msgspec.json.encode(
                [{"url": m.url, "content_type": m.content_type} for m in message.media]
            ).decode(),
            "extra": msgspec.json.encode(_extra(message)).decode(),
            "signal_id": signal_id,
            "replied_to": message.replied_to_id,
            "now": now,
        },
    )
    conversation_id: int = conversation.id
    return conversation_id


def _extra(message: InboundMessage) -> dict[str, Any]:
    """Return what a bubble shows besides text and media."""
    extra: dict[str, Any] = {
        "button_payload": message.button_payload,
        "list_id": message.list_id,
        "forwarded": message.forwarded or None,
        "notes": list(message.notes) or None,
        "profile_name": message.profile_name or None,
    }
    if message.location is not None:
        extra["location"] = {
            "latitude": message.location.latitude,
            "longitude": message.location.longitude,
            "label": message.location.label,
            "address": message.location.address,
        }
    return {name: value for name, value in extra.items() if value is not None}
