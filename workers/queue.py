"""arq in the worker: one small listener for each lane, whose only job is to drain it."""

from __future__ import annotations

from typing import Any

from arq.connections import ArqRedis
from arq.worker import Worker, func
from redis.asyncio import Redis

from app.kernel.hints import Lane as LaneName
from app.realtime.arq_hints import JOB, epoch_key, queue_name
from workers.lane import Lane

JOB_SECONDS = 30
POLL_SECONDS = 0.1


def make_listener(redis: Redis, *, name: LaneName, lane: Lane) -> Worker:
    """Return an arq worker for one lane. Hints may be lost or doubled: the lane finds its work in the database."""
    pool = ArqRedis(connection_pool=redis.connection_pool)

    async def drain(ctx: dict[Any, Any]) -> None:
        await pool.incr(epoch_key(name))  # first: a hint given from now on is a new job
        lane.wake()
        await lane.drain()

    return Worker(
        functions=[func(drain, name=JOB, keep_result=0, timeout=JOB_SECONDS, max_tries=1)],
        queue_name=queue_name(name),
        redis_pool=pool,
        max_jobs=1,
        poll_delay=POLL_SECONDS,
        handle_signals=False,
        health_check_interval=60,
        health_check_key=f"warmline:{name}:health",
        log_results=False,
        retry_jobs=False,
    )
