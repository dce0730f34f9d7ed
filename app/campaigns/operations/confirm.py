"""The one short answer to STOP, where the provider has not given it already."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from app.contacts.finding import FoundContact
from app.db.session import UnitOfWork
from app.messaging.domain.inbound import InboundMessage

# Said once, in the person's language; every word of it is promised by the engine.
CONFIRMATIONS = {
    "en": "You will get no more messages from us. Write START if you change your mind.",
    "ms": "Anda tidak akan menerima mesej lagi daripada kami. Tulis MULA jika anda berubah fikiran.",
    "zh": "您不会再收到我们的消息。如改变主意，请回复「开始」。",
}


async def queue_stop_confirmation(
    uow: UnitOfWork, *, contact: FoundContact, message: InboundMessage, cause: str, now: datetime
) -> None:
    """Queue the confirmation on the channel the word came by; the same word confirms once."""
    sender = (
        await uow.execute(
            "SELECT id FROM senders WHERE channel = :channel ORDER BY (address = :address) DESC, id LIMIT 1",
            {"channel": str(message.from_address.channel), "address": message.to_address.value},
        )
    ).one_or_none()
    if sender is None:
        return
    language = contact.language if contact.language in CONFIRMATIONS else "en"
    content: dict[str, Any] = {
        "content_sid": None,
        "variables": {},
        "text": CONFIRMATIONS[language],
        "language": language,
    }
    await uow.execute(
        "INSERT INTO sends (idempotency_key, kind, contact_id, channel, sender_id, content, status, status_at, "
        "created_at) VALUES (:key, 'system', :contact_id, :channel, :sender_id, CAST(:content AS jsonb), 'queued', "
        ":now, :now) ON CONFLICT (idempotency_key) DO NOTHING",
        {
            "key": f"system:stop:{cause}",
            "contact_id": contact.id,
            "channel": str(message.from_address.channel),
            "sender_id": sender.id,
            "content": msgspec.json.encode(content).decode(),
            "now": now,
        },
    )
