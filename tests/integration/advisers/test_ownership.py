"""Accepting, taking and assigning by hand: nobody takes over silently, nobody gets too much unseen."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from app.advisers.events import CapacityFreed, HandoffAssigned
from app.advisers.invariants import I8
from app.advisers.operations.assignment import assign_waiting
from app.advisers.operations.availability import set_availability
from app.advisers.operations.handoffs import record_answer
from app.advisers.operations.ownership import accept, assign_to, take
from app.advisers.queries import adviser_load, advisers_for_assignment
from app.kernel.errors import Conflict, Forbidden, Invalid, NotFound
from tests.fixtures.desk import MORNING, Desk


async def take_it(desk: Desk, handoff_id: int, user_id: int) -> None:
    async with desk.database.transaction() as uow:
        await take(uow, handoff_id=handoff_id, user_id=user_id, now=MORNING)


async def assign(desk: Desk, handoff_id: int, owner_id: int | None, reason: str | None = None) -> None:
    async with desk.database.transaction() as uow:
        await assign_to(
            uow, handoff_id=handoff_id, owner_id=owner_id, actor="user:9", override_reason=reason, now=MORNING
        )


async def accept_it(desk: Desk, handoff_id: int, user_id: int) -> None:
    async with desk.database.transaction() as uow:
        await accept(uow, handoff_id=handoff_id, user_id=user_id, now=MORNING)


async def test_taking_from_the_pool_is_an_assignment_and_an_acceptance(desk: Desk) -> None:
    aina = await desk.adviser(capacity=3)
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await take_it(desk, handoff_id, aina)
    await take_it(desk, handoff_id, aina)
    row = await desk.row(handoff_id)
    assert (row["owner_id"], row["status"], row["accepted_at"]) == (aina, "accepted", MORNING)
    assert [kind for kind, _ in await desk.ledger(contact_id)] == ["handoff_opened", "assigned", "accepted"]
    [stored] = await desk.read("SELECT load_seen, capacity_seen, actor FROM assignments")
    assert stored == {"load_seen": 0, "capacity_seen": 3, "actor": f"user:{aina}"}


async def test_who_comes_second_is_told_who_was_faster(desk: Desk) -> None:
    aina, ben = await desk.adviser("Aina Demo"), await desk.adviser("Ben Demo")
    handoff_id = await desk.handoff()
    outcomes = await asyncio.gather(
        take_it(desk, handoff_id, aina), take_it(desk, handoff_id, ben), return_exceptions=True
    )
    [refusal] = [outcome for outcome in outcomes if outcome is not None]
    assert isinstance(refusal, Conflict)
    owner = (await desk.row(handoff_id))["owner_id"]
    assert refusal.facts["owner_id"] == owner
    assert refusal.message.startswith("Aina" if owner == aina else "Ben")


async def test_nobody_takes_above_their_capacity_however_fast_they_click(desk: Desk) -> None:
    aina = await desk.adviser(capacity=2)
    handoffs = [await desk.handoff() for _ in range(6)]
    outcomes = await asyncio.gather(
        *(take_it(desk, handoff_id, aina) for handoff_id in handoffs), return_exceptions=True
    )
    assert sum(outcome is None for outcome in outcomes) == 2
    assert all(outcome is None or isinstance(outcome, Conflict) for outcome in outcomes)
    assert await desk.read(I8.sql) == []


async def test_people_without_a_seat_take_nothing(desk: Desk) -> None:
    handoff_id = await desk.handoff()
    with pytest.raises(Forbidden):
        await take_it(desk, handoff_id, await desk.user("Mei Demo"))
    with pytest.raises(Forbidden):
        await take_it(desk, handoff_id, await desk.adviser(state="left"))
    with pytest.raises(NotFound):
        await take_it(desk, 999, await desk.adviser())


async def test_only_the_owner_accepts_and_only_once(desk: Desk) -> None:
    aina, ben = await desk.adviser("Aina Demo"), await desk.adviser("Ben Demo")
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    with pytest.raises(Conflict, match="pool"):
        await accept_it(desk, handoff_id, aina)
    await assign(desk, handoff_id, aina)
    with pytest.raises(Conflict, match="Aina"):
        await accept_it(desk, handoff_id, ben)
    await accept_it(desk, handoff_id, aina)
    await accept_it(desk, handoff_id, aina)
    assert [kind for kind, _ in await desk.ledger(contact_id)].count("accepted") == 1


async def test_a_new_owner_has_not_accepted_yet(desk: Desk) -> None:
    aina, ben = await desk.adviser("Aina Demo"), await desk.adviser("Ben Demo")
    handoff_id = await desk.handoff()
    await take_it(desk, handoff_id, aina)
    due_at = (await desk.row(handoff_id))["due_at"]
    await assign(desk, handoff_id, ben)
    row = await desk.row(handoff_id)
    assert (row["owner_id"], row["status"], row["accepted_at"], row["due_at"]) == (ben, "open", None, due_at)


async def test_above_capacity_only_with_a_reason_which_is_stored(desk: Desk) -> None:
    ben = await desk.adviser("Ben Demo", capacity=1)
    await take_it(desk, await desk.handoff(), ben)
    handoff_id = await desk.handoff()
    with pytest.raises(Conflict, match="1 of 1"):
        await assign(desk, handoff_id, ben)
    with pytest.raises(Conflict, match="1 of 1"):
        await assign(desk, handoff_id, ben, "  ")
    await assign(desk, handoff_id, ben, "Knows the family")
    [stored] = await desk.read(
        "SELECT override_by, override_reason, load_seen FROM assignments WHERE handoff_id = :id",
        id=handoff_id,
    )
    assert stored == {"override_by": "user:9", "override_reason": "Knows the family", "load_seen": 1}
    assert await desk.read(I8.sql) == []
    await desk.write("UPDATE assignments SET override_reason = ' '")
    assert [row["detail"] for row in await desk.read(I8.sql)] == [
        f"assignment 2 of handoff {handoff_id}: load 1 of 1"
    ]


async def test_nothing_is_assigned_to_somebody_who_is_away(desk: Desk) -> None:
    handoff_id = await desk.handoff()
    with pytest.raises(Invalid, match="Ben"):
        await assign(desk, handoff_id, await desk.adviser("Ben Demo", state="away"))


async def test_a_lead_given_back_goes_to_somebody_else(desk: Desk) -> None:
    aina, ben = await desk.adviser("Aina Demo"), await desk.adviser("Ben Demo")
    await take_it(desk, await desk.handoff(), ben)
    contact_id = await desk.lead()
    handoff_id = await desk.handoff(contact_id)
    await take_it(desk, handoff_id, aina)
    async with desk.database.transaction() as uow:
        await assign_to(uow, handoff_id=handoff_id, owner_id=None, actor="user:9", now=MORNING)
        assert uow.events == [HandoffAssigned(contact_id, handoff_id, None, aina), CapacityFreed("main")]
    assert (await desk.row(handoff_id))["owner_id"] is None
    async with desk.database.transaction() as uow:
        [made] = await assign_waiting(uow, now=MORNING)
    assert (made.handoff_id, made.owner_id) == (handoff_id, ben)


async def test_the_load_shown_is_the_load_that_routing_uses(desk: Desk) -> None:
    aina = await desk.adviser("Aina Demo", capacity=5)
    ben = await desk.adviser("Ben Demo", capacity=5, state="away")
    contact_id = await desk.lead()
    await desk.handoff(contact_id)
    await take_it(desk, await desk.handoff(), aina)
    async with desk.database.transaction() as uow:
        await record_answer(uow, contact_id=contact_id, user_id=aina, now=MORNING + timedelta(minutes=1))
    await desk.handoff()
    async with desk.database.reading() as uow:
        load = await adviser_load(uow, user_id=aina)
        assert load is not None
        assert (load.load, load.capacity, load.is_taking) == (2, 5, True)
        assert await adviser_load(uow, user_id=999) is None
        options = await advisers_for_assignment(uow)
        assert [(option.user_id, option.load, option.is_ready) for option in options] == [
            (aina, 2, True),
            (ben, 0, False),
        ]
    async with desk.database.transaction() as uow:
        [made] = await assign_waiting(uow, now=MORNING)
    [stored] = await desk.read("SELECT load_seen FROM assignments WHERE handoff_id = :id", id=made.handoff_id)
    assert stored["load_seen"] == load.load


async def test_an_adviser_who_takes_leads_again_frees_capacity(desk: Desk) -> None:
    aina = await desk.adviser()
    async with desk.database.transaction() as uow:
        await set_availability(uow, user_id=aina, taking_leads=False, now=MORNING)
        assert CapacityFreed("main") not in uow.events
    await desk.handoff()
    async with desk.database.transaction() as uow:
        assert await assign_waiting(uow, now=MORNING) == []
        await set_availability(uow, user_id=aina, taking_leads=True, now=MORNING)
        assert CapacityFreed("main") in uow.events
    async with desk.database.transaction() as uow:
        assert [made.owner_id for made in await assign_waiting(uow, now=MORNING)] == [aina]
    with pytest.raises(Forbidden):
        async with desk.database.transaction() as uow:
            await set_availability(uow, user_id=999, taking_leads=True, now=MORNING)
