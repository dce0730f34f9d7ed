"""Socket.IO's manager over Redis: publishing never blocks for long, and the listener always comes back.

The library's own manager waits on its subscription without a time limit, so a connection that died
silently (a
half-open TCP) stays dead for ever. This one pings on the very connection it listens on and starts anew
when no answer comes; after a gap it tells the pages of this process to look for themselves.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError
from socketio.async_pubsub_manager import AsyncPubSubManager

log = structlog.get_logger(__name__)

CHANNEL = "warmline.realtime"
BEAT_SECONDS = 5.0
SILENCE_SECONDS = 12.0
MAX_RETRY_SECONDS = 5.0

_LOST = (RedisError, OSError, TimeoutError)


def make_redis(url: str, *, connect_seconds: float = 2.0, answer_seconds: float = 5.0) -> Redis:
    """Return a client whose every call ends in bounded time."""
    redis: Redis = Redis.from_url(url, socket_connect_timeout=connect_seconds, socket_timeout=answer_seconds)
    return redis


class RedisRooms(AsyncPubSubManager):  # type: ignore[misc]  # the library is untyped
    """Rooms that reach every web process. With `write_only` it only emits: for workers and scripts."""

    name = "warmline"

    def __init__(
        self,
        redis: Redis,
        *,
        channel: str = CHANNEL,
        write_only: bool = False,
        beat_seconds: float = BEAT_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(channel=channel, write_only=write_only, logger=None)
        self._redis = redis
        self._beat = beat_seconds
        self._silence = silence_seconds
        self._is_listening = False
        self._had_gap = False
        self.on_gap: Callable[[], Awaitable[None]] | None = None

    @property
    def is_listening(self) -> bool:
        """Whether events of other processes reach this one at present."""
        return self._is_listening

    async def check(self) -> None:
        """Make a round trip to Redis and look at the listener. Raises when events cannot pass."""
        await cast("Awaitable[bool]", self._redis.ping())
        if not self.write_only and not self._is_listening:
            raise ConnectionError("not listening")

    async def stop(self) -> None:
        """End the listener; the Redis client stays its owner's."""
        task: asyncio.Task[None] | None = getattr(self, "thread", None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _publish(self, data: dict[str, Any]) -> None:
        try:
            await self._redis.publish(self.channel, json.dumps(data))
        except _LOST as error:  # pages catch up by themselves; nothing that was committed depends on it
            log.warning("realtime.publish_lost", error=type(error).__name__)

    async def _listen(self) -> AsyncIterator[bytes]:
        retry_seconds = 0.2
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as subscription:
                    async for data in self._hear(subscription):
                        retry_seconds = 0.2
                        if data is not None:
                            yield data
            except _LOST as error:
                log.warning("realtime.listener_lost", error=type(error).__name__)
            self._is_listening, self._had_gap = False, True
            await asyncio.sleep(retry_seconds)
            retry_seconds = min(retry_seconds * 2, MAX_RETRY_SECONDS)

    async def _hear(self, subscription: PubSub) -> AsyncIterator[bytes | None]:
        """Yield what is published, and None for each sign of life. Raises when the connection is silent
        too long.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._silence):
            await subscription.subscribe(self.channel)
            await subscription.ping()
        heard_at, asked_at = loop.time(), loop.time()
        while True:
            message = await subscription.get_message(timeout=self._beat)
            if message is not None:
                heard_at = loop.time()
                await self._came_back()
                yield message["data"] if message["type"] == "message" else None
            if loop.time() - heard_at > self._silence:
                raise TimeoutError("silent")
            if loop.time() - asked_at >= self._beat:
                asked_at = loop.time()
                async with asyncio.timeout(self._silence):
                    await subscription.ping()

    async def _came_back(self) -> None:
        if self._is_listening:
            return
        self._is_listening = True
        if self._had_gap:
            self._had_gap = False
            log.info("realtime.listener_back")
            if self.on_gap is not None:
                await self.on_gap()
