"""An adviser's answer on its way: the engine's real send lane and the real client against the simulator."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.config import DEMO_ORGANISATION, Settings
from app.inbox.domain.answering import Author
from app.inbox.domain.content import FreeText
from app.inbox.operations import Outlets, SentMessage, send_message
from app.kernel.hints import NullHints
from app.kernel.roles import Role
from app.realtime.push import NullPusher
from tests.fixtures.engine import World, open_world


async def answer(world: World, contact_id: int, *, seen: int) -> SentMessage:
    """Send the same message as a composer would."""
    async with world.database.transaction() as uow:
        return await send_message(
            uow,
            contact_id=contact_id,
            author=Author(await world.value("SELECT id FROM users"), Role.ADVISER),
            client_id="0f8fad5b-d9cb-469f-a165-70867728950e",
            seen_version=seen,
            draft=FreeText("Yes, Saturday at ten."),
            organisation=DEMO_ORGANISATION,
            outlets=Outlets(NullHints(), NullPusher()),
            now=world.now,
        )


async def test_A07_a_double_click_and_a_late_retry_are_one_message_on_the_phone(
    settings: Settings, tmp_path: Path
) -> None:
    async with open_world(settings, tmp_path) as world:
        contact_id = await world.add_lead("+60120000001")
        await world.reply(contact_id, "Is Saturday possible?")
        await asyncio.gather(*(answer(world, contact_id, seen=1) for _ in range(2)))
        await world.run()
        late = await answer(world, contact_id, seen=1)
        await world.run()
        assert not late.is_new
        assert sum((await world.received()).values()) == 1
        status = await world.value("SELECT status FROM sends WHERE id = :id", id=late.send_id)
        assert status in ("accepted", "sent", "delivered", "read")
        assert await world.value("SELECT count(*) FROM messages WHERE direction = 'out'") == 1
        types = [
            row.type
            for row in await world.rows(
                "SELECT type FROM ledger WHERE contact_id = :id ORDER BY id", id=contact_id
            )
        ]
        assert types.index("send_queued") < types.index("answered") < types.index("send_accepted")
