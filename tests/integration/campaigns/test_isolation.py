"""One journey that cannot be decided holds up nobody but itself."""

from __future__ import annotations

from tests.fixtures.engine import World


async def test_a_journey_without_a_version_is_held_and_the_others_go_on(world: World) -> None:
    leads = await world.add_leads(4)
    await world.enrol(leads)
    broken = leads[1]
    await world.execute("UPDATE enrolments SET version_id = 999999 WHERE contact_id = :id", id=broken)
    world.breaks |= {"I4", "I6"}  # changed behind the ledger's back, as damage is
    await world.run()
    states = {
        r.contact_id: r.automation for r in await world.rows("SELECT contact_id, automation FROM enrolments")
    }
    assert states.pop(broken) == "held"
    assert set(states.values()) == {"active"}
    assert sum((await world.received()).values()) == 3
    [task] = await world.rows("SELECT subject FROM tasks WHERE contact_id = :id", id=broken)
    assert task.subject.endswith(":fault")
