"""Planning: at the senders' pace, under their caps, and nothing touched that cannot go."""

from __future__ import annotations

import asyncio
import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.campaigns.domain.vocabulary import Stim
from app.campaigns.operations.plan import plan
from tests.fixtures.engine import World
from tests.integration.campaigns.steps import command, plan_and_start, start_now


async def enrol_many(world: World, count: int) -> list[int]:
    """Enrol leads."""
    leads = await world.add_leads(count)
    await world.enrol(leads)
    return leads


async def journeys(world: World) -> list[Any]:
    """Return what planning may change of the journeys."""
    return await world.rows(
        "SELECT id, step, next_run_at, lock_token, ledger_seq FROM enrolments ORDER BY id"
    )


async def moments(world: World) -> list[datetime]:
    """Return when queued sends may start, in order."""
    rows = await world.rows("SELECT not_before FROM sends WHERE status = 'queued' ORDER BY not_before")
    return [row.not_before for row in rows]


def spacing(times: list[datetime]) -> list[float]:
    """Return the seconds between moments."""
    return [round((b - a).total_seconds(), 3) for a, b in itertools.pairwise(times)]


async def test_sends_are_spread_at_the_senders_rate_and_the_rest_stays_due_untouched(world: World) -> None:
    await world.execute("UPDATE senders SET rate_per_second = 2")
    await enrol_many(world, 10)
    before = await journeys(world)
    first = await plan(world.database, now=world.now)
    assert first.queued == 6  # three seconds ahead of the wire
    assert spacing(await moments(world)) == [0.5] * 5
    second = await plan(world.database, now=world.now)
    assert second.queued <= 1
    untouched = [e for e in await journeys(world) if e.lock_token is None]
    assert len(untouched) >= 3
    assert all(e in before for e in untouched)


async def test_sends_that_are_queued_again_keep_the_pace_too(world: World) -> None:
    world.clock.advance(timedelta(hours=13))  # 22:00
    await enrol_many(world, 5)
    assert await plan_and_start(world) == []
    world.clock.advance(timedelta(hours=10))
    await world.execute("UPDATE senders SET rate_per_second = 2")
    assert (await plan(world.database, now=world.now)).queued == 5
    assert spacing(await moments(world)) == [0.5] * 4
    assert await world.value("SELECT count(*) FROM sends") == 5


async def test_over_the_daily_cap_journeys_stay_due_untouched_until_the_senders_next_day(
    world: World,
) -> None:
    await world.execute("UPDATE senders SET daily_cap = 3")
    await enrol_many(world, 5)
    await world.run()
    assert sum((await world.received()).values()) == 3
    left = [e for e in await journeys(world) if e.lock_token is None and e.step == "hello"]
    assert [(e.next_run_at, e.ledger_seq) for e in left] == [(world.now, 2)] * 2
    await world.advance(hours=13)
    assert sum((await world.received()).values()) == 3
    await world.advance(hours=11)  # Tuesday 09:00
    assert sum((await world.received()).values()) == 5


@pytest.mark.parametrize(
    "stop",
    [
        "INSERT INTO kill_switches VALUES ('global', 'test', 'test', now())",
        "INSERT INTO kill_switches VALUES ('channel:whatsapp', 'test', 'test', now())",
        "INSERT INTO kill_switches SELECT 'campaign:' || id, 'test', 'test', now() FROM campaigns",
        "INSERT INTO kill_switches SELECT 'sender:' || id, 'test', 'test', now() FROM senders",
        "UPDATE campaigns SET status = 'paused'",
        "UPDATE senders SET status = 'off'",
    ],
)
async def test_nothing_is_churned_while_a_switch_is_set(world: World, stop: str) -> None:
    await enrol_many(world, 3)
    before = await journeys(world)
    await world.execute(stop)
    for _ in range(3):
        assert (await plan(world.database, now=world.now)).queued == 0
    assert await journeys(world) == before
    assert await world.value("SELECT count(*) FROM sends") == 0
    await world.execute("DELETE FROM kill_switches")
    await world.execute("UPDATE campaigns SET status = 'active'")
    await world.execute("UPDATE senders SET status = 'active'")
    await world.run()
    assert sum((await world.received()).values()) == 3


async def test_a_switch_set_after_planning_stops_what_has_not_started(world: World) -> None:
    await enrol_many(world, 3)
    await plan(world.database, now=world.now)
    await world.execute("INSERT INTO kill_switches VALUES ('global', 'test', 'test', now())")
    assert await start_now(world) == []
    assert {r.reason for r in await world.rows("SELECT reason FROM sends")} == {"kill_switch:global"}
    await world.execute("DELETE FROM kill_switches")
    await world.run()
    assert sorted((await world.received()).values()) == [1, 1, 1]


async def test_a_paused_or_held_journey_is_not_planned(world: World) -> None:
    paused, held, going = await enrol_many(world, 3)
    await command(world, paused, Stim.OPERATOR_PAUSED)
    await command(world, held, Stim.OPERATOR_HELD)
    await world.run()
    assert [n for n, _ in await world.received()] == [f"whatsapp:{await world.phone_of(going)}"]


async def test_A05_two_planners_and_two_starters_at_once_make_one_call_for_each_lead(world: World) -> None:
    await enrol_many(world, 40)
    reports = await asyncio.gather(*(plan(world.database, now=world.now) for _ in range(4)))
    while (await plan(world.database, now=world.now)).queued:
        pass
    assert sum(r.queued for r in reports) <= 40
    await world.execute("UPDATE sends SET not_before = clock_timestamp() WHERE status = 'queued'")
    started = await asyncio.gather(*(start_now(world) for _ in range(4)))
    started.append(await start_now(world))
    calls = [call for batch in started for call in batch]
    assert len(calls) == 40
    assert len({call.send_id for call in calls}) == 40
    assert await world.value("SELECT count(*) FROM send_attempts") == 40
