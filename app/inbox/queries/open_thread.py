"""What a page needs to know about the thread it opens: whose it is, its clock, how it may be answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.domain.answering import Author, Standing, Way, is_visible, way_to
from app.inbox.domain.thread_key import ThreadKey, key_for
from app.inbox.domain.words import language_words, stage_words
from app.inbox.queries.clocks import CLOCK_COLUMNS, clock_of
from app.inbox.queries.listing import display_name
from app.inbox.repository import find_contact, read_standing
from app.inbox.views import ConversationHead
from app.kernel.errors import NotFound
from app.kernel.roles import Role
from app.messaging.domain.composing import Lead
from app.messaging.domain.window import window_open
from app.web.views import ReplyClock


@dataclass(frozen=True, slots=True)
class OpenThread:
    """A contact's thread as one person opens it. `owner_id` is the open handoff's, else who had the lead last.

    `people` are the contact and all who were merged into it: what was said to them stands here.
    """

    key: ThreadKey
    conversation_id: int | None
    contact_id: int
    people: tuple[int, ...]
    name: str
    version: int
    unread: int
    language: str
    attributes: dict[str, Any]
    stored_name: str | None
    stage: str | None
    handoff_id: int | None
    owner_id: int | None
    owner_name: str | None
    clock: ReplyClock | None
    standing: Standing
    way: Way

    @property
    def topics(self) -> tuple[str, ...]:
        """Return what tells a page to fetch the thread again."""
        return (f"conversation:{self.key}", f"lead:{self.contact_id}")

    def is_window_open(self, now: datetime) -> bool:
        """Say whether free text may go out on WhatsApp."""
        return window_open(self.standing.whatsapp_inbound_at, now)

    def lead(self, organisation: str) -> Lead:
        """Return what a template's values come from."""
        return Lead(self.stored_name, self.attributes, organisation)

    def head(self, author: Author) -> ConversationHead:
        """Return the line above the thread, with what this person may do."""
        is_owner = self.handoff_id is not None and self.owner_id == author.user_id
        is_manager = author.role.is_one_of(Role.MANAGER)
        may_act = is_owner or is_manager
        return ConversationHead(
            conversation_id=str(self.key),
            contact_id=self.contact_id,
            name=self.name,
            about=self._about(),
            clock=self.clock,
            owner_name=self.owner_name,
            handoff_id=self.handoff_id if may_act or self.standing.is_in_pool else None,
            can_take=self.standing.is_in_pool and author.role is Role.ADVISER,
            can_assign=self.handoff_id is not None and is_manager,
        )

    def _about(self) -> str:
        owner = "In the pool" if self.standing.is_in_pool else self.owner_name or "Nobody's lead"
        return " · ".join([stage_words(self.stage), owner, language_words(self.language)])


_OPEN = f"""
WITH RECURSIVE people AS (
    SELECT CAST(:contact_id AS bigint) AS id
    UNION SELECT m.id FROM contacts m JOIN people p ON m.merged_into = p.id)
SELECT c.id, ARRAY(SELECT id FROM people) AS people, c.name, c.language, c.attributes, c.owner_id AS last_owner_id,
    last_owner.name AS last_owner,
    t.id AS conversation_id, coalesce(t.version, 0) AS version, coalesce(t.unread, 0) AS unread,
    h.id AS handoff_id, h.owner_id, owner.name AS owner_name, {CLOCK_COLUMNS},
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone'
        ORDER BY i.id LIMIT 1) AS phone,
    (SELECT e.stage FROM enrolments e WHERE e.contact_id = c.id
        ORDER BY (e.automation = 'completed'), e.id DESC LIMIT 1) AS stage
FROM contacts c
LEFT JOIN conversations t ON t.contact_id = c.id
LEFT JOIN handoffs h ON h.contact_id = c.id AND h.status <> 'closed'
LEFT JOIN users owner ON owner.id = h.owner_id
LEFT JOIN users last_owner ON last_owner.id = c.owner_id
WHERE c.id = :contact_id
"""


async def open_thread(
    uow: UnitOfWork, *, key: ThreadKey, author: Author | None = None, now: datetime
) -> OpenThread:
    """Return a thread. Raises `NotFound` where there is none, or where it is not this person's to see."""
    contact_id = await find_contact(uow, key)
    row = (await uow.execute(_OPEN, {"contact_id": contact_id})).one()
    owner_id = row.owner_id if row.handoff_id is not None else row.last_owner_id
    if author is not None and not is_visible(owner_id, author):
        raise NotFound("This lead belongs to a colleague.")
    standing = await read_standing(uow, contact_id=contact_id)
    return _opened(row, key, owner_id, standing, now)


def _opened(
    row: Row[Any], key: ThreadKey, owner_id: int | None, standing: Standing, now: datetime
) -> OpenThread:
    # A page opened by contact keeps its name, so that what it watches and refetches stays the same.
    kept = key if key.is_by_contact else key_for(conversation_id=row.conversation_id, contact_id=row.id)
    return OpenThread(
        key=kept,
        conversation_id=row.conversation_id,
        contact_id=row.id,
        people=tuple(row.people),
        name=display_name(row.name, row.phone),
        version=row.version,
        unread=row.unread,
        language=row.language,
        attributes=row.attributes,
        stored_name=row.name,
        stage=row.stage,
        handoff_id=row.handoff_id,
        owner_id=owner_id,
        owner_name=row.owner_name if row.handoff_id is not None else row.last_owner,
        clock=clock_of(row, now),
        standing=standing,
        way=way_to(standing, now),
    )
