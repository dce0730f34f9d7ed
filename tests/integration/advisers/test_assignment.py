"""Routing on a real database: never above capacity, never a deadlock, nobody forgotten overnight."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

from app.advisers.events import HandoffAssigned
from app.advisers.invariants import I7, I8
from app.advisers.operations.assignment import AssignmentMade, assign_waiting
from app.advisers.operations.handoffs import close_open
from app.advisers.operations.ownership import take
from app.kernel.errors import Conflict
from tests.fixtures.desk import MORNING, Desk, lock_contact


async def route(desk: Desk, now: datetime = MORNING) -> list[AssignmentMade]:
    async with desk.database.transaction() as uow:
        return await assign_waiting(uow, now=now)


async def loads(desk: Desk) -> dict[int | None, int]:
    rows = await desk.read("SELECT owner_id FROM handoffs WHERE status <> 'closed'")
    return Counter(row["owner_id"] for row in rows)


async def test_100_concurrent_replies_fill_15_places_exactly(desk: Desk) -> None:
    advisers = [await desk.adviser(f"Adviser {n} Demo", capacity=5) for n in range(3)]
    leads = [await desk.lead(language="ms") for _ in range(100)]

    async def reply(contact_id: int) -> None:
        await desk.handoff(contact_id)
        await route(desk)

    await asyncio.gather(*(reply(contact_id) for contact_id in leads))
    seen = await loads(desk)
    assert [seen[user_id] for user_id in advisers] == [5, 5, 5]
    assert seen[None] == 85
    assert await desk.read(I7.sql) == []
    assert await desk.read(I8.sql) == []
    [stored] = await desk.read(
        "SELECT count(*) AS n, count(DISTINCT handoff_id) AS handoffs FROM assignments"
    )
    assert stored == {"n": 15, "handoffs": 15}


async def test_routing_taking_and_closing_at_once_neither_deadlock_nor_overfill(desk: Desk) -> None:
    advisers = [await desk.adviser(f"Adviser {n} Demo", capacity=4) for n in range(3)]
    leads = [await desk.lead(owner_id=advisers[0]) for _ in range(30)]
    highest = 0

    async def watch() -> None:
        nonlocal highest
        seen = await loads(desk)
        highest = max([highest, *(seen[user_id] for user_id in advisers)])

    async def live(n: int, contact_id: int) -> None:
        handoff_id = await desk.handoff(contact_id)
        try:
            async with desk.database.transaction() as uow:
                await take(uow, handoff_id=handoff_id, user_id=advisers[n % 3], now=MORNING)
        except Conflict:
            await route(desk)
        await watch()
        if n % 2:
            async with desk.database.transaction() as uow:
                await lock_contact(uow, contact_id)
                await close_open(uow, contact_id=contact_id, outcome="won", actor="user:1", now=MORNING)
            await route(desk)
            await watch()

    await asyncio.gather(*(live(n, contact_id) for n, contact_id in enumerate(leads)))
    await route(desk)
    assert highest == 4
    seen = await loads(desk)
    assert [seen[user_id] for user_id in advisers] == [4, 4, 4]
    assert seen[None] == 3
    assert await desk.read(I8.sql) == []


async def test_a_lead_somebody_is_at_work_on_is_skipped_and_routed_next_time(desk: Desk) -> None:
    await desk.adviser()
    busy, other = await desk.lead(), await desk.lead()
    await desk.handoff(busy)
    await desk.handoff(other)
    async with desk.database.transaction() as uow:
        await lock_contact(uow, busy)
        made = await asyncio.wait_for(route(desk), 5)
        assert [one.contact_id for one in made] == [other]
    assert [one.contact_id for one in await route(desk)] == [busy]


async def test_an_assignment_keeps_everybody_considered_and_why(desk: Desk) -> None:
    aina = await desk.adviser("Aina Demo", languages=["en", "ms"])
    ben = await desk.adviser("Ben Demo", languages=["ms"], state="away")
    contact_id = await desk.lead(language="ms", owner_id=ben)
    handoff_id = await desk.handoff(contact_id)
    async with desk.database.transaction() as uow:
        [made] = await assign_waiting(uow, now=MORNING)
        assert uow.events == [HandoffAssigned(contact_id, handoff_id, aina, None)]
    assert (made.owner_id, made.reason) == (aina, "speaks their language, lowest load")
    [stored] = await desk.read("SELECT * FROM assignments")
    assert [(c["user_id"], c["verdict"], c["is_sticky"]) for c in stored["candidates"]] == [
        (aina, "chosen", False),
        (ben, "not_ready", True),
    ]
    assert await desk.read("SELECT owner_id FROM contacts") == [{"owner_id": aina}]
    assert (await desk.ledger(contact_id))[-1][0] == "assigned"
    [profile] = await desk.read("SELECT last_assigned_at FROM adviser_profiles WHERE user_id = :id", id=aina)
    assert profile["last_assigned_at"] == MORNING


async def test_a_returning_lead_goes_back_to_whom_they_know(desk: Desk) -> None:
    await desk.adviser("Aina Demo", languages=["en"])
    ben = await desk.adviser("Ben Demo")
    await desk.handoff(await desk.lead(owner_id=ben))
    assert [(made.owner_id, made.reason) for made in await route(desk)] == [(ben, "knows this lead")]


async def test_overnight_leads_wait_in_the_pool_and_are_routed_at_opening_oldest_first(
    desk: Desk,
) -> None:
    evening = datetime(2026, 11, 29, 14, 0, tzinfo=UTC)  # Sunday 22:00 in Kuala Lumpur
    night = [await desk.handoff(now=evening + timedelta(minutes=10 - n)) for n in range(5)]
    aina = await desk.adviser(capacity=3)
    assert await route(desk, evening + timedelta(hours=1)) == []
    opening = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
    assert await route(desk, opening - timedelta(microseconds=1)) == []
    made = await route(desk, opening)
    assert [(one.handoff_id, one.owner_id) for one in made] == [(n, aina) for n in reversed(night[2:])]
    assert {row["due_at"] for row in await desk.read("SELECT due_at FROM handoffs")} == {
        opening + timedelta(minutes=15)
    }


async def test_the_pool_drains_when_somebody_closes(desk: Desk) -> None:
    aina = await desk.adviser(capacity=1)
    first, second = await desk.lead(), await desk.lead()
    await desk.handoff(first)
    await desk.handoff(second, now=MORNING + timedelta(seconds=1))
    assert [made.contact_id for made in await route(desk)] == [first]
    assert await route(desk) == []
    async with desk.database.transaction() as uow:
        await lock_contact(uow, first)
        await close_open(uow, contact_id=first, outcome="won", actor=f"user:{aina}", now=MORNING)
    assert [made.contact_id for made in await route(desk)] == [second]


async def test_teams_do_not_get_each_others_leads(desk: Desk) -> None:
    await desk.adviser()
    await desk.handoff()
    await desk.write("UPDATE handoffs SET team = 'other'")
    assert await route(desk) == []
    await desk.write("UPDATE adviser_profiles SET team = 'other'")
    async with desk.database.transaction() as uow:
        assert len(await assign_waiting(uow, team="other", now=MORNING)) == 1
