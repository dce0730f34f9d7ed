"""Each clock warns once and breaches once; what is answered does neither."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from app.advisers.events import SlaBreached, SlaWarned
from app.advisers.operations.handoffs import record_answer
from app.advisers.operations.sla import SlaChange, sla_tick
from tests.fixtures.desk import MORNING, Desk


def after(minutes: int) -> datetime:
    return MORNING + timedelta(minutes=minutes)


async def tick(desk: Desk, now: datetime, limit: int = 200) -> list[SlaChange]:
    async with desk.database.transaction() as uow:
        return await sla_tick(uow, now=now, limit=limit)


async def test_a_clock_warns_once_and_breaches_once(desk: Desk) -> None:
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    assert await tick(desk, after(9)) == []
    async with desk.database.transaction() as uow:
        changes = await sla_tick(uow, now=after(10))
        assert uow.events == [SlaWarned(contact_id, handoff_id, None, after(15))]
    assert changes == [SlaChange(handoff_id, contact_id, None, "warned", after(15))]
    assert await tick(desk, after(11)) == []
    async with desk.database.transaction() as uow:
        changes = await sla_tick(uow, now=after(15))
        assert uow.events == [SlaBreached(contact_id, handoff_id, None, after(15))]
    assert [change.kind for change in changes] == ["breached"]
    assert await tick(desk, after(600)) == []
    assert [kind for kind, _ in await desk.ledger(contact_id)] == [
        "handoff_opened",
        "sla_warned",
        "sla_breached",
    ]


async def test_a_sweep_that_comes_late_breaches_without_warning_first(desk: Desk) -> None:
    contact_id = await desk.lead()
    await desk.handoff(contact_id)
    assert [change.kind for change in await tick(desk, after(20))] == ["breached"]
    assert await tick(desk, after(21)) == []


async def test_no_clock_runs_while_it_is_the_leads_turn_and_the_next_one_starts_fresh(desk: Desk) -> None:
    aina = await desk.adviser()
    contact_id = await desk.lead()
    await desk.handoff(contact_id)
    assert len(await tick(desk, after(20))) == 1
    async with desk.database.transaction() as uow:
        await record_answer(uow, contact_id=contact_id, user_id=aina, now=after(25))
    assert await tick(desk, after(300)) == []
    await desk.handoff(contact_id, now=after(310))
    assert await tick(desk, after(354)) == []
    assert [change.kind for change in await tick(desk, after(355))] == ["warned"]
    assert [change.kind for change in await tick(desk, after(370))] == ["breached"]


async def test_nobody_is_warned_at_night(desk: Desk) -> None:
    saturday = datetime(2026, 11, 28, 9, 55, tzinfo=UTC)  # 17:55 in Kuala Lumpur, five minutes before the end
    await desk.handoff(now=saturday)
    assert await tick(desk, datetime(2026, 11, 30, 0, 59, tzinfo=UTC)) == []
    assert [c.kind for c in await tick(desk, datetime(2026, 11, 30, 1, 5, tzinfo=UTC))] == ["warned"]


async def test_two_sweeps_at_once_and_a_small_limit_find_each_clock_once(desk: Desk) -> None:
    handoffs = [await desk.handoff(now=after(n)) for n in range(6)]
    assert [change.handoff_id for change in await tick(desk, after(60), limit=2)] == handoffs[:2]
    found = await asyncio.gather(tick(desk, after(60)), tick(desk, after(60)))
    assert sorted(change.handoff_id for changes in found for change in changes) == handoffs[2:]
