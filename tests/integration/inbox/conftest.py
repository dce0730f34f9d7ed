"""A small organisation and a lead who answered the campaign, ready to be written to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.config import DEMO_ORGANISATION
from app.db.session import Database, UnitOfWork
from app.inbox.domain.answering import Author
from app.inbox.domain.content import Draft, FreeText
from app.inbox.operations import Outlets, SentMessage, retry_message, send_message
from app.kernel.roles import Role
from app.realtime.push import Fact
from app.web.viewer import Viewer
from tests.factories.journeys import MONDAY, Lead, add_lead, found_organisation, say, send_due

AINA, FARID, MEI = Author(1, Role.ADVISER), Author(2, Role.ADVISER), Author(3, Role.MANAGER)
ORGANISATION = DEMO_ORGANISATION


class Listener:
    """Remembers hints and pushes instead of sending them."""

    def __init__(self) -> None:
        self.hinted: list[str] = []
        self.pushed: list[str] = []

    async def hint(self, lane: Any) -> None:
        """Remember a hint."""
        self.hinted.append(lane)

    def later(self, uow: UnitOfWork, topic: str, **_: Fact) -> None:
        """Remember a push once the transaction has committed."""

        async def pushed() -> None:
            self.pushed.append(topic)

        uow.after_commit(f"push:{topic}", pushed)


@dataclass(slots=True)
class Desk:
    """The inbox of the organisation."""

    database: Database
    events: list[object]
    listener: Listener = field(default_factory=Listener)
    now: datetime = MONDAY + timedelta(minutes=30)

    @property
    def outlets(self) -> Outlets:
        """Return what hears of messages."""
        return Outlets(self.listener, self.listener)

    async def rows(self, sql: str, **values: Any) -> list[Mapping[str, Any]]:
        """Read rows of plain SQL."""
        async with self.database.reading() as uow:
            return [dict(row) for row in (await uow.execute(sql, values)).mappings()]

    async def value(self, sql: str, **values: Any) -> Any:
        """Read one value."""
        return next(iter((await self.rows(sql, **values))[0].values()))

    async def execute(self, sql: str, **values: Any) -> None:
        """Change something by plain SQL."""
        async with self.database.transaction() as uow:
            await uow.execute(sql, values)

    async def lead(self, phone: str = "+60121110001", *, name: str = "Siti Aminah") -> Lead:
        """Make a lead who got the first message and has not answered."""
        lead = await add_lead(self.database, phone=phone, name=name)
        await send_due(self.database, now=MONDAY + timedelta(minutes=1))
        return lead

    async def answering_lead(
        self, phone: str = "+60121110001", *, name: str = "Siti Aminah", text: str = "Is Saturday possible?"
    ) -> Lead:
        """Make a lead who got the first message and wrote back; they wait in the pool."""
        lead = await self.lead(phone, name=name)
        await say(self.database, phone=phone, text=text, now=self.now - timedelta(minutes=10))
        return lead

    async def version(self, lead: Lead) -> int:
        """Return the version of a lead's thread."""
        found = await self.rows(
            "SELECT version FROM conversations WHERE contact_id = :id", id=lead.contact_id
        )
        return found[0]["version"] if found else 0

    async def send(
        self,
        lead: Lead,
        draft: Draft | str,
        *,
        author: Author = AINA,
        client_id: str = "0f8fad5b-d9cb-469f-a165-70867728950e",
        seen: int | None = None,
    ) -> SentMessage:
        """Send a message as the composer does."""
        version = await self.version(lead) if seen is None else seen
        async with self.database.transaction() as uow:
            return await send_message(
                uow,
                contact_id=lead.contact_id,
                author=author,
                client_id=client_id,
                seen_version=version,
                draft=FreeText(draft) if isinstance(draft, str) else draft,
                organisation=ORGANISATION,
                outlets=self.outlets,
                now=self.now,
            )

    async def retry(self, lead: Lead, send_id: int, *, author: Author = AINA) -> SentMessage:
        """Press Retry at a bubble."""
        message_id = await self.value("SELECT id FROM messages WHERE send_id = :id", id=send_id)
        async with self.database.transaction() as uow:
            return await retry_message(
                uow,
                contact_id=lead.contact_id,
                message_id=message_id,
                author=author,
                outlets=self.outlets,
                now=self.now,
            )


@pytest.fixture
async def desk(clean_database: Database) -> Desk:
    """Give the inbox of a new organisation."""
    events: list[object] = []
    clean_database.react_to({kind: [remember(events)] for kind in watched()})
    await found_organisation(clean_database)
    return Desk(clean_database, events)


def watched() -> tuple[type, ...]:
    """Return the events that tests look at."""
    from app.advisers.events import HandoffAnswered
    from app.inbox.events import AdviserMessageSent

    return (AdviserMessageSent, HandoffAnswered)


def remember(events: list[object]) -> Any:
    """Return a reaction that keeps its event."""

    async def react(_: UnitOfWork, event: object) -> None:
        events.append(event)

    return react


def viewer(author: Author, *, zone: str = "Asia/Kuala_Lumpur") -> Viewer:
    """Return a signed-in person."""
    return Viewer(author.user_id, "Somebody", author.role, zone, "token", "hash")
