"""The trouble-makers: each does one harm at random moments of a seeded chance, a bounded number of times."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from redis.asyncio import Redis

from app.demo.organisation import CAMPAIGN
from app.simulator.faults import RequestFault
from tests.faults.audit import violations
from tests.faults.processes import Player
from tests.faults.stage import Stage
from tests.fixtures.simulator import (
    DieAfterAccept,
    Duplicate,
    ErrorAfterAccept,
    Lose,
    RefuseBefore,
    Reorder,
    TimeOut,
    TooManyRequests,
)


@dataclass(slots=True)
class Killer:
    """Kills workers with SIGKILL while sends are under way, and starts them again at once."""

    stage: Stage
    rng: random.Random
    shortest: float = 0.3
    longest: float = 2.5
    kills: int = 0
    with_open_attempts: int = 0
    last_at: float = 0.0
    found: list[str] = field(default_factory=list)
    looks: int = 0

    async def kill(self, times: int, *, within: float) -> None:
        """Kill so many times, only while something is being sent; stop early where nothing is any more."""
        end = time.monotonic() + within
        wanted = self.kills + times
        while self.kills < wanted and time.monotonic() < end:
            await asyncio.sleep(self.rng.uniform(self.shortest, self.longest))
            if not await self._something_moves():
                return
            worker = self.rng.choice(self.stage.workers)
            worker.kill()
            self.with_open_attempts += await self._has_open_attempts(worker)
            self.kills += 1
            worker.start()
            self.last_at = time.monotonic()
            if self.kills % 4 == 0:
                self.looks += 1
                self.found += await violations(self.stage)

    async def _something_moves(self) -> bool:
        return bool(
            await self.stage.value(
                "SELECT EXISTS (SELECT 1 FROM sends WHERE status IN ('queued', 'sending')) OR EXISTS "
                "(SELECT 1 FROM runs WHERE status IN ('waiting', 'running'))"
            )
        )

    async def _has_open_attempts(self, worker: Player) -> bool:
        """Tell whether the kill hit calls in the air: attempts of the last second without an outcome."""
        return bool(
            await self.stage.value(
                "SELECT EXISTS (SELECT 1 FROM send_attempts WHERE outcome IS NULL "
                "AND started_at > clock_timestamp() - interval '1 second')"
            )
        )


async def flush_valkey(stage: Stage) -> None:
    """Empty the queue's server: every hint and every epoch is gone."""
    redis: Redis = Redis.from_url(stage.redis_url)
    try:
        await redis.flushall()
    finally:
        await redis.aclose()


_CONNECTIONS = (
    "FROM pg_stat_activity WHERE datname = current_database() "
    "AND application_name IN ('warmline', 'warmline-web')"
)


async def cut_connections(stage: Stage) -> int:
    """End every database connection of the workers and of the web; return how many.

    Waits for two of them: connections come back one by one after an earlier cut.
    """
    end = time.monotonic() + 60
    while await stage.value(f"SELECT count(*) {_CONNECTIONS}") < 2:
        assert time.monotonic() < end, "no two connections within 60 s"
        await asyncio.sleep(0.05)
    (row,) = await stage.rows(f"SELECT count(pg_terminate_backend(pid)) AS cut {_CONNECTIONS}")
    number: int = row.cut
    return number


async def double_and_shuffle_callbacks(stage: Stage) -> None:
    """Let every status report arrive twice, and those of one message in another order."""
    await stage.simulator.add_fault(Duplicate(copies=2), times=None)
    await stage.simulator.add_fault(Reorder(), times=None)


def bad_endings(slow_seconds: float) -> tuple[RequestFault, ...]:
    """Return the ways in which a request may end badly."""
    return (
        DieAfterAccept(),
        DieAfterAccept(reset=True),
        ErrorAfterAccept(),
        RefuseBefore(),
        TooManyRequests(retry_after=1),
        TimeOut(seconds=slow_seconds, stored="before"),
    )


async def unreliable_provider(stage: Stage, *, share: float, slow_seconds: float) -> None:
    """Let a share of the requests end badly, each in one of six ways, and lose a share of the callbacks."""
    endings = bad_endings(slow_seconds)
    for fault in endings:
        await stage.simulator.add_fault(fault, times=None, probability=share / len(endings))
    await stage.simulator.add_fault(Lose(), times=None, probability=share)


async def bad_minute(stage: Stage, *, times: int, slow_seconds: float) -> None:
    """Let the next requests end badly, so many in each way, and lose as many messages' callbacks."""
    for fault in bad_endings(slow_seconds):
        await stage.simulator.add_fault(fault, times=times)
    await stage.simulator.add_fault(Lose(), times=times)


@dataclass(slots=True)
class Repliers:
    """Leads who write in the middle of everything, each once, from their own phones."""

    stage: Stage
    rng: random.Random
    sids: list[str] = field(default_factory=list)
    refused: int = 0

    async def reply(self, times: int, *, gap: float, copies: int = 1) -> None:
        """Let so many leads who are in the campaign write, one after another."""
        phones = await self._people(times)
        for phone in phones:
            handed = await self.stage.simulator.say(
                phone, self.rng.choice(("Yes, please", "Tell me more", "Saturday is fine")), copies=copies
            )
            self.refused += handed.status != 200
            self.sids.append(handed.sid)
            await asyncio.sleep(self.rng.uniform(0, gap))

    async def _people(self, times: int) -> Sequence[str]:
        rows = await self.stage.rows(
            "SELECT i.value FROM enrolments e JOIN campaigns c ON c.id = e.campaign_id "
            "JOIN contact_identities i ON i.contact_id = e.contact_id AND i.kind = 'phone' "
            "WHERE c.key = :campaign AND e.automation = 'active' ORDER BY i.value",
            campaign=CAMPAIGN,
        )
        return self.rng.sample([row.value for row in rows], times)
