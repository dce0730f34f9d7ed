"""Writing to a lead: send, try again, mark as read.

A human answer stops the lead's clock in the moment in which it is queued: the adviser has done their part, and
a worker's delay must not count against them. If the message fails after all, messaging emits `AdviserSendFailed`
and the clock is to run again; the thread shows the failure in words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.advisers.operations.handoffs import record_answer
from app.db.session import UnitOfWork
from app.inbox import repository
from app.inbox.domain.answering import (
    Author,
    Way,
    check_colleague,
    check_free_text,
    check_fresh,
    check_template,
    way_to,
)
from app.inbox.domain.content import Draft, FreeText, TemplatePick, as_stored, check_text, fill
from app.inbox.domain.delivery import UNCERTAIN, SendFacts, delivery_of, is_certain
from app.inbox.events import AdviserMessageSent
from app.inbox.repository import ExistingSend, LockedContact, LockedConversation, NewSend
from app.kernel.errors import Conflict, Invalid
from app.kernel.hints import HintPort
from app.ledger.repository import append_contact_event
from app.messaging.domain.composing import Content
from app.messaging.domain.window import window_open
from app.realtime.push import Pushes

_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9_-]{8,100}")
_UNDER_WAY: Final = ("queued", "sending", "accepted", "sent", "delivered", "read")


@dataclass(frozen=True, slots=True)
class Outlets:
    """What hears of a message once it is committed: the queue and the open pages. Safe to lose."""

    hints: HintPort
    pushes: Pushes

    def thread_changed(self, uow: UnitOfWork, *, conversation_id: int, contact_id: int) -> None:
        """Let pages refetch the thread and the list after the commit."""
        for topic in (f"conversation:{conversation_id}", f"lead:{contact_id}", "inbox"):
            self.pushes.later(uow, topic)

    def send_queued(self, uow: UnitOfWork) -> None:
        """Let a worker look at the queue after the commit."""
        uow.after_commit("hint:send", lambda: self.hints.hint("send"))


@dataclass(frozen=True, slots=True)
class SentMessage:
    """The message as it stands; `is_new` is False where the same one was written before."""

    send_id: int
    contact_id: int
    is_new: bool


async def send_message(
    uow: UnitOfWork,
    *,
    contact_id: int,
    author: Author,
    client_id: str,
    seen_version: int,
    draft: Draft,
    organisation: str,
    outlets: Outlets,
    now: datetime,
) -> SentMessage:
    """Queue an adviser's message to a contact, begin the thread if need be, and stop the lead's clock.

    The same `client_id` again returns the first message and changes nothing. `seen_version` is the thread's
    version the author saw. Raises `Stale` and other `Conflict`s where somebody else wrote or owns the lead,
    `Invalid` with words where this cannot go out (window, length, values, address), `NotFound`.
    """
    key = _key_of(client_id)
    contact = await repository.lock_contact(uow, contact_id=contact_id, organisation=organisation)
    earlier = await repository.find_send(uow, idempotency_key=key)
    if earlier is not None:
        _check_same(earlier, contact_id=contact.id, author=author, draft=draft)
        return SentMessage(earlier.id, contact.id, is_new=False)
    conversation = await repository.lock_conversation(uow, contact_id=contact.id, now=now)
    await _check_fresh(uow, contact, conversation, author, seen_version)
    standing = await repository.read_standing(uow, contact_id=contact.id)
    check_colleague(standing, author)
    way = way_to(standing, now)
    content, template_key = await _content(uow, draft, way, contact)
    await repository.lock_journey(uow, contact_id=contact.id)
    new = NewSend(
        idempotency_key=key,
        contact_id=contact.id,
        author_id=author.user_id,
        channel=way.channel,
        sender_id=way.sender_id,
        template_key=template_key,
        content=content.as_json(),
        conversation_version=conversation.version,
    )
    send_id = await repository.insert_message(uow, new, now=now)
    await repository.add_to_conversation(uow, conversation_id=conversation.id, text=content.text, now=now)
    await _tell(uow, contact.id, send_id, conversation.id, author=author, outlets=outlets, now=now)
    return SentMessage(send_id, contact.id, is_new=True)


async def retry_message(
    uow: UnitOfWork, *, contact_id: int, message_id: int, author: Author, outlets: Outlets, now: datetime
) -> SentMessage:
    """Queue the next attempt of an adviser's message that certainly reached nobody. It stays one message.

    Again is nothing new while it is under way. Raises `Conflict` in words where nobody knows yet whether it
    arrived, `Invalid` where it cannot go out (window closed, nothing to gain), `NotFound`.
    """
    contact = await repository.lock_contact(uow, contact_id=contact_id, organisation="")
    conversation = await repository.lock_conversation(uow, contact_id=contact.id, now=now)
    standing = await repository.read_standing(uow, contact_id=contact.id)
    check_colleague(standing, author)
    await repository.lock_journey(uow, contact_id=contact.id)
    send = await repository.lock_send_of(uow, contact_id=contact.id, message_id=message_id)
    if send.facts.kind == "adviser" and send.facts.status in _UNDER_WAY:
        return SentMessage(send.id, contact.id, is_new=False)
    _check_retry(send.facts, is_window_open=window_open(standing.whatsapp_inbound_at, now))
    if send.channel == "whatsapp" and send.template_key is None:
        check_free_text(way_to(standing, now))
    await repository.queue_again(uow, send_id=send.id, now=now)
    await _tell(
        uow, contact.id, send.id, conversation.id, author=author, outlets=outlets, now=now, cause="retry"
    )
    return SentMessage(send.id, contact.id, is_new=True)


async def mark_read(uow: UnitOfWork, *, contact_id: int, seen_version: int, outlets: Outlets) -> None:
    """Mark a thread as read up to the version somebody saw; a message that came after it stays unread."""
    conversation_id = await repository.clear_unread(uow, contact_id=contact_id, seen_version=seen_version)
    if conversation_id is not None:
        outlets.pushes.later(uow, "inbox")


def _key_of(client_id: str) -> str:
    if not _CLIENT_ID.fullmatch(client_id):
        raise Invalid("This form is not complete. Reload the page and send again.", field="client_id")
    return f"adviser:{client_id}"


def _check_same(earlier: ExistingSend, *, contact_id: int, author: Author, draft: Draft) -> None:
    """Raise `Conflict` if the key was used for another message: what is new must never pass for what was sent."""
    is_same = (earlier.contact_id, earlier.author_id) == (contact_id, author.user_id)
    match draft:
        case FreeText(text=text):
            is_same = is_same and earlier.template_key is None and as_stored(text) == earlier.text
        case TemplatePick():
            is_same = is_same and earlier.template_key is not None
    if not is_same:
        raise Conflict("This form was used before. Reload the page and send again: your text is kept.")


async def _check_fresh(
    uow: UnitOfWork,
    contact: LockedContact,
    conversation: LockedConversation,
    author: Author,
    seen_version: int,
) -> None:
    if conversation.version <= seen_version:
        return
    own = await repository.own_since(
        uow, contact_id=contact.id, author_id=author.user_id, seen_version=seen_version
    )
    check_fresh(seen_version=seen_version, version=conversation.version, own_since=own)


async def _content(
    uow: UnitOfWork, draft: Draft, way: Way, contact: LockedContact
) -> tuple[Content, str | None]:
    match draft:
        case FreeText(text=text):
            check_free_text(way)
            return Content(None, {}, check_text(text, channel=way.channel), ""), None
        case TemplatePick(template_id=template_id, values=values):
            check_template(way)
            template = await repository.read_template(uow, template_id=template_id)
            return fill(template, given=values, lead=contact.lead), template.key


def _check_retry(facts: SendFacts, *, is_window_open: bool) -> None:
    if facts.kind != "adviser":
        raise Invalid("The campaign sends its own messages again where that helps.")
    if facts.status == "unknown" or not is_certain(facts.outcomes):
        raise Conflict(UNCERTAIN)
    delivery = delivery_of(facts, is_window_open=is_window_open)
    if not delivery.can_retry:
        raise Invalid(f"Trying again cannot help. {delivery.failure}")


async def _tell(
    uow: UnitOfWork,
    contact_id: int,
    send_id: int,
    conversation_id: int,
    *,
    author: Author,
    outlets: Outlets,
    now: datetime,
    cause: str | None = None,
) -> None:
    """Ledger, clock, reactions, and what goes out after the commit."""
    await append_contact_event(
        uow,
        contact_id=contact_id,
        type="send_queued",
        at=now,
        actor=f"user:{author.user_id}",
        cause=cause,
        send_id=send_id,
        kind="adviser",
    )
    await record_answer(uow, contact_id=contact_id, user_id=author.user_id, now=now)
    uow.emit(AdviserMessageSent(contact_id, author.user_id, send_id))
    outlets.thread_changed(uow, conversation_id=conversation_id, contact_id=contact_id)
    outlets.send_queued(uow)
