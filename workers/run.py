"""One worker process: its lanes, their listeners, and a clean end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Collection

import structlog
from redis.exceptions import RedisError

from app.config import Settings
from app.kernel.hints import Lane as LaneName
from workers.context import Context, open_context
from workers.jobs.importing import make_import_lane
from workers.jobs.planning import make_plan_lane
from workers.jobs.sending import SendPipeline, make_send_lane
from workers.jobs.sweeping import Sweeper, make_sweep_lane
from workers.lane import Lane
from workers.queue import make_listener

log = structlog.get_logger(__name__)

LISTENER_RETRY_SECONDS = 1.0
SWEEP_END_SECONDS = 2.0


async def run_worker(settings: Settings, roles: Collection[LaneName], stop: asyncio.Event) -> None:
    """Run the given lanes until `stop` is set; then finish what is in the air and close."""
    async with open_context(settings) as context:
        pipeline = SendPipeline(context)
        sweeper = Sweeper(context)
        lanes = _lanes(context, pipeline, sweeper, roles)
        background = [
            asyncio.create_task(pipeline.settle_for_ever()),
            asyncio.create_task(_wake_when_clock_moves(context, lanes)),
            *(asyncio.create_task(_listen(context, name, lane)) for name, lane in lanes.items()),
        ]
        every = [*lanes.values(), *([make_import_lane(context)] if "sweep" in roles else [])]
        running = [asyncio.create_task(lane.run()) for lane in every]
        log.info("worker.started", roles=sorted(lanes), holder=context.holder)
        await stop.wait()
        for lane in every:
            lane.stop()
        await asyncio.wait(running, timeout=settings.worker_drain_timeout_seconds)
        await pipeline.finish(seconds=settings.worker_drain_timeout_seconds)
        await sweeper.finish(seconds=SWEEP_END_SECONDS)
        for task in [*background, *running]:
            task.cancel()
        await asyncio.gather(*background, *running, return_exceptions=True)
        log.info("worker.stopped", holder=context.holder)


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set `stop` on SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)


def _lanes(
    context: Context, pipeline: SendPipeline, sweeper: Sweeper, roles: Collection[LaneName]
) -> dict[LaneName, Lane]:
    lanes: dict[LaneName, Lane] = {}
    if "send" in roles:
        lanes["send"] = make_send_lane(pipeline)
    if "plan" in roles:
        lanes["plan"] = make_plan_lane(context, wake_send=lanes.get("send"))
    if "sweep" in roles:
        lanes["sweep"] = make_sweep_lane(sweeper)
    return lanes


async def _wake_when_clock_moves(context: Context, lanes: dict[LaneName, Lane]) -> None:
    """A demo clock that jumps makes timers due at once."""
    while True:
        await context.clock_moved.wait()
        context.clock_moved.clear()
        for lane in lanes.values():
            lane.wake()


async def _listen(context: Context, name: LaneName, lane: Lane) -> None:
    """Listen for hints; without Redis the lanes find their work by themselves, and this tries again."""
    while True:
        try:
            await make_listener(context.redis, name=name, lane=lane).main()
        except (RedisError, OSError) as error:
            log.warning("hints.lost", lane=name, error=type(error).__name__)
        except Exception:  # the queue is only a faster way in
            log.exception("hints.fault", lane=name)
        await asyncio.sleep(LISTENER_RETRY_SECONDS)
