"""What every lane of a worker shares: settings, database, clock, gateways, pushes."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from redis.asyncio import Redis

from app.campaigns.domain.gates import GatePolicy
from app.campaigns.operations.reap import LookUps
from app.campaigns.operations.start import LEASE_SECONDS
from app.clock import Clock, DemoClock
from app.config import Settings
from app.db.demo_clock import ClockFollower, make_clock
from app.db.session import Database, make_engine
from app.kernel.hints import HintPort
from app.messaging.gateways.base import Gateway
from app.messaging.gateways.twilio.gateway import TwilioGateway
from app.messaging.gateways.twilio.settings import TwilioSettings
from app.reactions import Wiring, reactions
from app.realtime.arq_hints import ArqHints
from app.realtime.push import Pusher
from app.realtime.redis_rooms import RedisRooms, make_redis


@dataclass(frozen=True, slots=True)
class Context:
    """The wires of one worker process."""

    settings: Settings
    database: Database
    clock: Clock
    clock_moved: asyncio.Event
    redis: Redis
    hints: HintPort
    pusher: Pusher
    gateways: Mapping[str, Gateway]
    policy: GatePolicy
    organisation: str
    holder: str
    call_slots: int = 48
    call_seconds: float = 15.0
    lease_seconds: float = LEASE_SECONDS
    look_ups: LookUps = field(default_factory=LookUps)

    def now(self) -> datetime:
        """Return the present business time."""
        return self.clock.now()


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncIterator[Context]:
    """Open a worker's connections, follow the demo clock, and close everything at the end."""
    database = Database(make_engine(settings, pool_size=12, application_name="warmline-worker"))
    clock = await make_clock(database)
    redis = make_redis(settings.redis_url)
    hints = ArqHints(redis)
    pusher = Pusher.over(RedisRooms(redis, write_only=True))
    database.react_to(reactions(Wiring(database=database, clock=clock, pusher=pusher)))
    gateway = TwilioGateway(twilio_settings(settings))
    moved = asyncio.Event()
    follower = (
        asyncio.create_task(ClockFollower(database, clock, moved).run())
        if isinstance(clock, DemoClock)
        else None
    )
    try:
        yield Context(
            settings=settings,
            database=database,
            clock=clock,
            clock_moved=moved,
            redis=redis,
            hints=hints,
            pusher=pusher,
            gateways={"twilio": gateway},
            policy=GatePolicy(),
            organisation=settings.organisation,
            holder=f"{socket.gethostname()}:{os.getpid()}",
            call_seconds=settings.provider_answer_timeout_seconds,
            lease_seconds=settings.send_lease_seconds,
            look_ups=LookUps(
                first_after=timedelta(seconds=settings.look_up_after_seconds),
                second_after=timedelta(seconds=settings.look_up_again_seconds),
            ),
        )
    finally:
        if follower is not None:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
        await pusher.close()
        await gateway.aclose()
        await redis.aclose()
        await database.engine.dispose()


def twilio_settings(settings: Settings) -> TwilioSettings:
    """Return how the gateway reaches Twilio, or the simulator in its place."""
    return TwilioSettings(
        account_sid=settings.twilio_account_sid,
        auth_token=settings.twilio_auth_tokens[0],
        public_base_url=settings.public_base_url,
        api_key_sid=settings.twilio_api_key,
        api_key_secret=settings.twilio_api_secret,
        base_url=settings.twilio_api_base_url,
        connect_seconds=settings.provider_connect_timeout_seconds,
    )
