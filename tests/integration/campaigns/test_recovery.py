"""Crashes, lost hints, long waits: the database knows what to do, and nobody gets a message twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.operations.plan import plan
from app.realtime.arq_hints import ArqHints, queue_name
from tests.fixtures.engine import World
from tests.fixtures.simulator import TimeOut
from tests.integration.campaigns.steps import (
    accepted_by_provider,
    changed_context,
    enrol_one,
    enrolment,
    look_up,
    plan_and_start,
    review,
    run_at_once,
    start_now,
    the_send,
)
from workers.jobs.sending import SendPipeline, make_send_lane
from workers.queue import make_listener


async def die_after(world: World, accepted: int) -> None:
    """Run a worker until the provider has taken this many messages, then let it die as by a kill."""
    pipeline = SendPipeline(world.context)
    settling = asyncio.create_task(pipeline.settle_for_ever())
    while sum((await accepted_by_provider(world)).values()) < accepted:
        await plan(world.database, now=world.now)
        await pipeline.start_some()
    for task in [settling, *pipeline.calls]:
        task.cancel()
    await asyncio.gather(settling, *pipeline.calls, return_exceptions=True)


@pytest.mark.parametrize(("leads", "deaths"), [(20, [3, 8, 15]), (150, [40])])
async def test_A01_S01_a_worker_that_dies_midway_is_followed_by_one_that_finishes_the_work_once(
    world: World, leads: int, deaths: list[int]
) -> None:
    await world.enrol(await world.add_leads(leads))
    for accepted in deaths:
        await die_after(world, accepted)
    await run_at_once(world)
    await look_up(world)
    await look_up(world)
    # What the dead worker never called is nowhere at the provider: a person says so, and it goes.
    for row in await world.rows("SELECT contact_id FROM tasks WHERE kind = 'review' AND done_at IS NULL"):
        await review(world, row.contact_id, "again")
    await run_at_once(world)
    assert sorted((await accepted_by_provider(world)).values()) == [1] * leads
    counted = await world.rows("SELECT status, count(*) FROM sends GROUP BY status")
    assert [tuple(row) for row in counted] == [("accepted", leads)]
    assert await world.value("SELECT count(*) FROM enrolments WHERE step = 'wait_1'") == leads


async def test_a_worker_that_stops_cleanly_leaves_nothing_in_doubt(world: World) -> None:
    await world.enrol(await world.add_leads(12))
    await plan_and_start_some(world)
    await world.pipeline.finish(seconds=5)
    assert await world.value("SELECT count(*) FROM send_attempts WHERE outcome IS NULL") == 0


async def plan_and_start_some(world: World) -> None:
    """Let the pipeline start what is due, and write outcomes in the background."""
    settling = asyncio.create_task(world.pipeline.settle_for_ever())
    await plan(world.database, now=world.now)
    await world.execute("UPDATE sends SET not_before = clock_timestamp()")
    await world.pipeline.start_some()
    await world.pipeline.finish(seconds=5)
    settling.cancel()
    await asyncio.gather(settling, return_exceptions=True)


async def test_A05_the_same_step_pressed_twice_at_a_slow_provider_is_called_once(world: World) -> None:
    await world.simulator.add_fault(TimeOut(seconds=0.5, stored="before"), times=None)
    await world.enrol(await world.add_leads(5))

    async def press() -> None:
        pipeline = SendPipeline(world.context)
        settling = asyncio.create_task(pipeline.settle_for_ever())
        await plan(world.database, now=world.now)
        await asyncio.sleep(0.05)
        await pipeline.start_some()
        await pipeline.finish(seconds=5)
        settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)

    await asyncio.gather(*(press() for _ in range(3)))
    assert sorted((await accepted_by_provider(world)).values()) == [1] * 5
    assert len(await world.simulator.requests()) == 5


async def test_a_call_whose_lease_would_run_out_is_not_made(world: World) -> None:
    lead = await enrol_one(world)
    async with changed_context(world, call_seconds=3600.0):
        await plan_and_start_some(world)
        assert await world.simulator.requests() == []
        send = await the_send(world, lead)
        assert (send.status, send.reason) == ("queued", "lease_too_short")
    await run_at_once(world)
    assert list((await world.received()).values()) == [1]


async def test_S03_a_hint_under_one_id_may_be_lost_doubled_and_flushed_and_the_work_still_happens(
    world: World,
) -> None:
    redis = world.context.redis
    hints = ArqHints(redis)
    lead = await enrol_one(world)
    await plan(world.database, now=world.now)
    await world.execute("UPDATE sends SET not_before = clock_timestamp()")
    await hints.hint("send")
    await hints.hint("send")  # the same id: one job
    assert await redis.zcard(queue_name("send")) == 1
    await redis.flushdb()
    lane = make_send_lane(world.pipeline)
    settling = asyncio.create_task(world.pipeline.settle_for_ever())
    await lane.drain(seconds=5)  # no hint is left: the lane looks by itself
    await world.pipeline.finish(seconds=5)
    assert list((await world.received()).values()) == [1]
    for _ in range(2):  # a hint during and after a run is a job again: no kept result holds its id
        await hints.hint("send")
        worker = make_listener(redis, name="send", lane=lane)
        worker.burst = True
        await worker.main()
        assert await redis.zcard(queue_name("send")) == 0
        assert worker.jobs_complete == 1
    settling.cancel()
    await asyncio.gather(settling, return_exceptions=True)
    assert list((await world.received()).values()) == [1]
    assert (await enrolment(world, lead)).step == "wait_1"


LENGTHS = {
    "5 s": timedelta(seconds=5),
    "64 s": timedelta(seconds=64),
    "66 s": timedelta(seconds=66),
    "5 min": timedelta(minutes=5),
    "1 day": timedelta(days=1),
    "40 days": timedelta(days=40),
}


@pytest.mark.parametrize("length", LENGTHS)
async def test_S05_waits_of_every_length_take_one_path_and_fire_once_after_a_restart(
    world: World, length: str
) -> None:
    wait = LENGTHS[length]
    steps: list[dict[str, Any]] = [
        {"key": "pause", "kind": "wait", "minutes": wait.total_seconds() / 60},
        {"key": "hello", "kind": "message", "template": "hello"},
        {"key": "end", "kind": "end"},
    ]
    await world.restart(definition={"paths": {"nurture": steps}})
    lead = await enrol_one(world)
    await world.run()
    assert (await enrolment(world, lead)).next_run_at == world.now + wait
    world.clock.advance(wait - timedelta(milliseconds=1))
    await world.run()
    assert await world.received() == {}
    world.pipeline = SendPipeline(replace(world.context))  # a restart: nothing was in memory
    world.clock.advance(timedelta(milliseconds=1))
    await world.run()
    await world.run()
    assert list((await world.received()).values()) == [1]
    assert (await enrolment(world, lead)).stage == "exhausted"


async def test_a_transaction_that_fails_midway_leaves_no_trace_of_its_step(world: World) -> None:
    lead = await enrol_one(world)
    await plan(world.database, now=world.now)
    before = await enrolment(world, lead)
    await world.execute("ALTER TABLE messages ADD CONSTRAINT broken CHECK (direction <> 'out') NOT VALID")
    try:
        with pytest.raises(Exception, match="broken"):
            await start_now(world)
    finally:
        await world.execute("ALTER TABLE messages DROP CONSTRAINT broken")
    assert await enrolment(world, lead) == before
    assert await world.value("SELECT count(*) FROM send_attempts") == 0
    assert len(await plan_and_start(world)) == 1
    await look_up(world)
