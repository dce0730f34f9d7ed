"""The enqueue port: hints as arq jobs. The only module of the application that knows arq.

A hint's job id is `{lane}:{epoch}`, so any number of hints for one lane are one job; the job's first act is to
raise the epoch, so that a hint given during a run queues one more.
"""

from __future__ import annotations

from arq.connections import ArqRedis
from redis.asyncio import Redis

from app.kernel.hints import Lane

LANES: tuple[Lane, ...] = ("plan", "send", "sweep")
JOB = "drain"
HINT_LIVES_SECONDS = 60


def queue_name(lane: Lane) -> str:
    """Return the queue a worker of this lane listens to."""
    return f"warmline:{lane}"


def epoch_key(lane: Lane) -> str:
    """Return the key that counts the runs of a lane. A lost key starts again at 0, which costs nothing."""
    return f"warmline:{lane}:epoch"


class ArqHints:
    """Leaves hints in Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = ArqRedis(connection_pool=redis.connection_pool)

    async def hint(self, lane: Lane) -> None:
        """Ask a worker to look at a lane. None back from arq means that somebody asked already: that is fine."""
        epoch = int(await self._redis.get(epoch_key(lane)) or 0)
        await self._redis.enqueue_job(
            JOB, _job_id=f"{lane}:{epoch}", _queue_name=queue_name(lane), _expires=HINT_LIVES_SECONDS
        )
