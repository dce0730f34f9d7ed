"""A person said `again`, and then the provider's word came after all: it counts, and nothing is sent twice."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from app.campaigns.operations.operate import resolve_review
from app.campaigns.operations.reap import LookUps, reap
from app.config import Settings
from app.integrity.runner import look
from tests.fixtures.engine import SENDER, World, open_world
from tests.fixtures.simulator import DieAfterAccept, Lose

AT_ONCE = LookUps(first_after=timedelta(0), second_after=timedelta(0))


async def test_word_of_an_attempt_that_was_ruled_not_sent_comes_late(
    settings: Settings, tmp_path: Path
) -> None:
    async with open_world(settings, tmp_path) as world:
        (contact,) = await world.add_leads(1)
        await world.simulator.add_fault(DieAfterAccept())
        await world.simulator.add_fault(Lose())
        await world.simulator.behave(list_delay_ms=60_000)  # the list does not show it yet
        await world.enrol([contact])
        await world.run()
        for _ in range(2):
            await reap(world.database, world.context.gateways, now=world.now, look_ups=AT_ONCE)
        assert await world.value("SELECT status FROM sends") == "needs_review"
        await _rule_again(world)
        attempt = await world.value("SELECT id FROM send_attempts")
        (message,) = [
            m for m in await world.simulator.messages(await world.phone_of(contact)) if m.is_outbound
        ]
        await world.receive_status(
            {
                "MessageSid": message.sid,
                "MessageStatus": "delivered",
                "To": message.to,
                "From": f"whatsapp:{SENDER}",
            },
            attempt=attempt,
        )
        await world.run()
        assert await world.value("SELECT processed_at IS NOT NULL FROM signals") is True
        assert await world.value("SELECT status FROM sends") == "delivered"
        assert await world.value("SELECT step FROM enrolments") == "wait_1"
        assert set((await world.received()).values()) == {1}
        assert (await look(world.database)).violations == 0


async def _rule_again(world: World) -> None:
    task = await world.value("SELECT id FROM tasks WHERE kind = 'review' AND done_at IS NULL")
    async with world.database.transaction() as uow:
        await resolve_review(
            uow, task_id=task, verdict="again", provider_message_id=None, actor="test", now=world.now
        )
