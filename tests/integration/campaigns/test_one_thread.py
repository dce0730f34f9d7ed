"""The thread through the engine: a message goes out, a person answers, the machine stops."""

from __future__ import annotations

from tests.fixtures.engine import World


async def test_each_step_reaches_each_phone_exactly_once(world: World) -> None:
    leads = await world.add_leads(5)
    results = await world.enrol(leads)
    assert {r.outcome for r in results} == {"enrolled"}
    await world.run()
    assert sorted((await world.received()).values()) == [1] * 5
    await world.advance(days=2, hours=1)
    await world.advance(days=2, hours=1)
    counts = await world.received()
    assert len(counts) == 15
    assert set(counts.values()) == {1}
    assert {r.stage for r in await world.rows("SELECT stage FROM enrolments")} == {"exhausted"}


async def test_a_reply_stops_the_machine_in_the_same_transaction(world: World) -> None:
    [lead] = await world.add_leads(1)
    await world.enrol([lead])
    await world.run()
    await world.reply(lead, "Boleh saya tahu yuran?")
    [enrolment] = await world.rows("SELECT * FROM enrolments")
    assert (enrolment.stage, enrolment.automation, enrolment.next_run_at) == ("engaged", "paused", None)
    [handoff] = await world.rows("SELECT * FROM handoffs")
    assert (handoff.status, handoff.reason) == ("open", "replied")
    assert handoff.due_at is not None and handoff.owner_id is not None
    await world.advance(days=30)
    assert sum((await world.received()).values()) == 1
