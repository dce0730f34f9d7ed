"""Threads for writing: rows locked in the contract's order, sends and bubbles of advisers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from app.db.session import UnitOfWork
from app.inbox.domain.answering import Standing, Suppressed
from app.inbox.domain.delivery import SendFacts
from app.inbox.domain.thread_key import ThreadKey
from app.kernel.errors import NotFound
from app.kernel.row_ids import is_row_id
from app.messaging.domain.composing import Lead, TemplateText
from app.messaging.domain.rendering import cut

LONGEST_LAST_TEXT = 500


async def find_contact(uow: UnitOfWork, key: ThreadKey) -> int:
    """Return the contact a thread belongs to, followed through merges, without a lock. Raises `NotFound`."""
    rows = await uow.execute(
        "WITH RECURSIVE chain AS (SELECT c.id, c.merged_into FROM contacts c WHERE c.id = CASE "
        "    WHEN :by_contact THEN :id ELSE (SELECT contact_id FROM conversations WHERE id = :id) END "
        "  UNION SELECT c.id, c.merged_into FROM contacts c JOIN chain ON c.id = chain.merged_into) "
        "SELECT id FROM chain WHERE merged_into IS NULL",
        {"id": key.id, "by_contact": key.is_by_contact},
    )
    found = rows.scalar()
    if found is None:
        raise NotFound("There is no such conversation.")
    return int(found)


@dataclass(frozen=True, slots=True)
class LockedContact:
    """The contact of a thread, locked, after merges."""

    id: int
    language: str
    lead: Lead


async def lock_contact(uow: UnitOfWork, *, contact_id: int, organisation: str) -> LockedContact:
    """Lock a contact, or the one it was merged into. Raises `NotFound`."""
    wanted: int | None = contact_id
    while wanted is not None:
        rows = await uow.execute(
            "SELECT id, name, language, attributes, merged_into FROM contacts WHERE id = :id FOR NO KEY UPDATE",
            {"id": wanted},
        )
        row = rows.one_or_none()
        if row is None:
            break
        if row.merged_into is None:
            return LockedContact(row.id, row.language, Lead(row.name, row.attributes, organisation))
        wanted = row.merged_into
    raise NotFound("There is no such lead.")


@dataclass(frozen=True, slots=True)
class LockedConversation:
    """A thread's row, locked."""

    id: int
    version: int


async def lock_conversation(uow: UnitOfWork, *, contact_id: int, now: datetime) -> LockedConversation:
    """Lock the conversation of a contact whose lock the caller holds; begin it where there is none."""
    await uow.execute(
        "INSERT INTO conversations (contact_id, created_at) VALUES (:contact_id, :now) "
        "ON CONFLICT (contact_id) DO NOTHING",
        {"contact_id": contact_id, "now": now},
    )
    rows = await uow.execute(
        "SELECT id, version FROM conversations WHERE contact_id = :contact_id FOR NO KEY UPDATE",
        {"contact_id": contact_id},
    )
    row = rows.one()
    return LockedConversation(row.id, row.version)


async def lock_journey(uow: UnitOfWork, *, contact_id: int) -> None:
    """Lock the contact's live enrolment before send and handoff: what reacts to the message will pause it."""
    await uow.execute(
        "SELECT id FROM enrolments WHERE contact_id = :contact_id AND automation <> 'completed' "
        "ORDER BY id FOR NO KEY UPDATE",
        {"contact_id": contact_id},
    )


@dataclass(frozen=True, slots=True)
class ExistingSend:
    """A message that was written before under the same key."""

    id: int
    contact_id: int
    author_id: int | None
    template_key: str | None
    text: str


async def find_send(uow: UnitOfWork, *, idempotency_key: str) -> ExistingSend | None:
    """Return the send with this key."""
    rows = await uow.execute(
        "SELECT id, contact_id, author_id, template_key, content ->> 'text' AS text FROM sends "
        "WHERE idempotency_key = :key",
        {"key": idempotency_key},
    )
    row = rows.one_or_none()
    return (
        ExistingSend(row.id, row.contact_id, row.author_id, row.template_key, row.text or "") if row else None
    )


async def own_since(uow: UnitOfWork, *, contact_id: int, author_id: int, seen_version: int) -> int:
    """Count the messages the author wrote into the thread since they saw it at `seen_version`."""
    rows = await uow.execute(
        "SELECT count(*) FROM sends WHERE contact_id = :contact_id AND kind = 'adviser' "
        "AND author_id = :author_id AND conversation_version >= :seen_version",
        {"contact_id": contact_id, "author_id": author_id, "seen_version": seen_version},
    )
    return int(rows.scalar_one())


_STANDING = """
SELECT c.name, talk.whatsapp_inbound_at,
    EXISTS (SELECT 1 FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone') AS has_phone,
    EXISTS (SELECT 1 FROM contact_identities i WHERE i.contact_id = c.id AND i.kind IN ('phone', 'whatsapp_user'))
        AS has_whatsapp,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(s.channel, s.reason) ORDER BY s.id), '[]')
        FROM suppressions s WHERE s.contact_id = c.id AND s.lifted_at IS NULL) AS suppressed,
    (SELECT m.channel FROM messages m WHERE m.contact_id = c.id AND m.direction = 'in'
        ORDER BY m.at DESC, m.id DESC LIMIT 1) AS last_inbound_channel,
    (SELECT n.id FROM senders n LEFT JOIN enrolments e ON e.sender_id = n.id AND e.contact_id = c.id
        AND e.automation <> 'completed'
        WHERE n.channel = 'whatsapp' AND (n.status = 'active' OR n.id = talk.whatsapp_sender_id)
        ORDER BY (n.id = talk.whatsapp_sender_id) IS TRUE DESC, (e.id IS NOT NULL) DESC, n.id LIMIT 1)
        AS whatsapp_sender_id,
    (SELECT n.id FROM senders n WHERE n.channel = 'sms' AND n.status = 'active' ORDER BY n.id LIMIT 1)
        AS sms_sender_id,
    h.id AS handoff_id, h.owner_id, u.name AS owner_name
FROM contacts c
LEFT JOIN conversations talk ON talk.contact_id = c.id
LEFT JOIN handoffs h ON h.contact_id = c.id AND h.status <> 'closed'
LEFT JOIN users u ON u.id = h.owner_id
WHERE c.id = :contact_id
"""


async def read_standing(uow: UnitOfWork, *, contact_id: int) -> Standing:
    """Return what decides how a contact may be written to now. Raises `NotFound`."""
    row = (await uow.execute(_STANDING, {"contact_id": contact_id})).one_or_none()
    if row is None:
        raise NotFound("There is no such lead.")
    return Standing(
        name=row.name or "This person",
        has_phone=row.has_phone,
        has_whatsapp=row.has_whatsapp,
        suppressed=[Suppressed(channel, reason) for channel, reason in row.suppressed],
        whatsapp_inbound_at=row.whatsapp_inbound_at,
        last_inbound_channel=row.last_inbound_channel,
        whatsapp_sender_id=row.whatsapp_sender_id,
        sms_sender_id=row.sms_sender_id,
        owner_id=row.owner_id,
        owner_name=row.owner_name,
        is_in_pool=row.handoff_id is not None and row.owner_id is None,
    )


async def read_template(uow: UnitOfWork, *, template_id: int) -> TemplateText:
    """Return one WhatsApp template as stored. Raises `NotFound`."""
    rows = await uow.execute(
        "SELECT key, language, body, approval, content_sid, variables, buttons FROM templates "
        "WHERE id = :id AND channel = 'whatsapp'",
        {"id": template_id},
    )
    row = rows.mappings().one_or_none()
    if row is None:
        raise NotFound("There is no such template.")
    return TemplateText(**row)


@dataclass(frozen=True, slots=True)
class NewSend:
    """An adviser's message to write."""

    idempotency_key: str
    contact_id: int
    author_id: int
    channel: str
    sender_id: int | None
    template_key: str | None
    content: dict[str, Any]
    conversation_version: int


async def insert_message(uow: UnitOfWork, new: NewSend, *, now: datetime) -> int:
    """Write the queued send and its bubble; return the send's id."""
    rows = await uow.execute(
        "WITH s AS (INSERT INTO sends (idempotency_key, kind, contact_id, channel, sender_id, template_key, "
        "    content, status, status_at, not_before, author_id, conversation_version, created_at) "
        "  VALUES (:key, 'adviser', :contact_id, :channel, :sender_id, :template_key, CAST(:content AS jsonb), "
        "    'queued', :now, clock_timestamp(), :author_id, :version, :now) RETURNING id), "
        "b AS (INSERT INTO messages (contact_id, direction, channel, kind, text, send_id, at) "
        "  SELECT :contact_id, 'out', :channel, 'text', :text, id, :now FROM s) "
        "SELECT id FROM s",
        {
            "key": new.idempotency_key,
            "contact_id": new.contact_id,
            "channel": new.channel,
            "sender_id": new.sender_id,
            "template_key": new.template_key,
            "content": msgspec.json.encode(new.content).decode(),
            "now": now,
            "author_id": new.author_id,
            "version": new.conversation_version,
            "text": new.content["text"],
        },
    )
    return int(rows.scalar_one())


async def add_to_conversation(uow: UnitOfWork, *, conversation_id: int, text: str, now: datetime) -> None:
    """Note our message in the thread's row: what came before it was read."""
    await uow.execute(
        "UPDATE conversations SET version = version + 1, unread = 0, last_direction = 'out', last_kind = 'text', "
        "last_message_at = greatest(last_message_at, :now), last_text = :text WHERE id = :id",
        {"id": conversation_id, "text": cut(text, longest=LONGEST_LAST_TEXT), "now": now},
    )


@dataclass(frozen=True, slots=True)
class LockedSend:
    """One of our messages, its send locked, with its attempts."""

    id: int
    facts: SendFacts
    channel: str
    template_key: str | None


async def lock_send_of(uow: UnitOfWork, *, contact_id: int, message_id: int) -> LockedSend:
    """Lock the send behind a bubble of this contact's thread. Raises `NotFound`."""
    if not is_row_id(message_id):
        raise NotFound("There is no such message.")
    rows = await uow.execute(
        "SELECT s.id, s.kind, s.status, s.reason, s.channel, s.template_key FROM messages m "
        "JOIN sends s ON s.id = m.send_id WHERE m.id = :message_id AND m.contact_id = :contact_id "
        "FOR NO KEY UPDATE OF s",
        {"message_id": message_id, "contact_id": contact_id},
    )
    row = rows.one_or_none()
    if row is None:
        raise NotFound("There is no such message.")
    attempts = (
        await uow.execute(
            "SELECT outcome, error_code FROM send_attempts WHERE send_id = :id ORDER BY n", {"id": row.id}
        )
    ).all()
    facts = SendFacts(
        kind=row.kind,
        status=row.status,
        reason=row.reason,
        code=attempts[-1].error_code if attempts else None,
        outcomes=tuple(attempt.outcome for attempt in attempts),
    )
    return LockedSend(row.id, facts, row.channel, row.template_key)


async def queue_again(uow: UnitOfWork, *, send_id: int, now: datetime) -> None:
    """Put the same send back into the queue for its next attempt; the database refuses it after any doubt."""
    await uow.execute(
        "UPDATE sends SET status = 'queued', status_at = :now, reason = NULL, "
        "attempts = CASE WHEN attempts >= 8 THEN 0 ELSE attempts END, "
        "not_before = clock_timestamp() "
        "WHERE id = :id",
        {"id": send_id, "now": now},
    )


async def clear_unread(uow: UnitOfWork, *, contact_id: int, seen_version: int) -> int | None:
    """Set unread to 0 if nothing came since; return the conversation's id, None where nothing changed."""
    rows = await uow.execute(
        "UPDATE conversations SET unread = 0 WHERE contact_id = :contact_id AND unread > 0 "
        "AND version = :seen_version RETURNING id",
        {"contact_id": contact_id, "seen_version": seen_version},
    )
    found = rows.scalar()
    return int(found) if found is not None else None
