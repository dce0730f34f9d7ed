"""The stage: simulator, web and workers as processes of their own, over a database and a Valkey."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.config import PROJECT_ROOT, Settings, sqlalchemy_url
from app.db.demo_clock import make_clock, move_demo_clock
from app.db.session import Database
from app.simulator.settings import SimulatorSettings
from tests.faults.planting import plant
from tests.faults.processes import Player
from tests.fixtures.simulator import SimulatorClient, free_port

UP_WITHIN_SECONDS = 60.0
OWN_NAME = "fault-run"


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a provider may take, a lease stands, and a look-up waits (seconds)."""

    answer: float = 15.0
    lease: float = 40.0
    look_up: float = 60.0
    look_again: float = 300.0

    def environment(self) -> dict[str, str]:
        """Return these times as a process reads them."""
        return {
            "WARMLINE_PROVIDER_ANSWER_SECONDS": str(self.answer),
            "WARMLINE_SEND_LEASE_SECONDS": str(self.lease),
            "WARMLINE_LOOK_UP_AFTER_SECONDS": str(self.look_up),
            "WARMLINE_LOOK_UP_AGAIN_SECONDS": str(self.look_again),
        }


QUICK = Timing(answer=3.0, lease=8.0, look_up=8.0, look_again=9.0)
"""Quick to wait for, and long enough that a busy machine alone leaves no outcome unknown."""


@dataclass(slots=True)
class Stage:
    """Everything a fault run holds in its hands."""

    folder: Path
    database: Database
    redis_url: str
    simulator: SimulatorClient
    web: Player
    workers: list[Player]

    async def rows(self, sql: str, **values: Any) -> list[Any]:
        """Read rows of plain SQL."""
        async with self.database.reading() as uow:
            return list((await uow.execute(sql, values)).all())

    async def value(self, sql: str, **values: Any) -> Any:
        """Read one value."""
        return (await self.rows(sql, **values))[0][0]

    async def execute(self, sql: str, **values: Any) -> None:
        """Change something by plain SQL, in a transaction of its own."""
        async with self.database.transaction() as uow:
            await uow.execute(sql, values)

    async def pace(self, rate: float) -> None:
        """Let the sender send so many a second."""
        await self.execute(
            "UPDATE senders SET rate_per_second = :rate, next_free_at = clock_timestamp()", rate=rate
        )

    async def advance(self, by: timedelta) -> None:
        """Move the demo clock of every process and phone."""
        async with self.database.transaction() as uow:
            await move_demo_clock(uow, by=by)
        await self.simulator.set_clock((await make_clock(self.database)).now())


@asynccontextmanager
async def open_stage(
    *,
    database_url: str,
    redis_url: str,
    folder: Path,
    workers: int = 2,
    rate: float = 200.0,
    timing: Timing = QUICK,
) -> AsyncIterator[Stage]:
    """Plant the organisation and run everything; at the end every process has ended."""
    environment = environment_for(
        database_url=database_url, redis_url=redis_url, folder=folder, timing=timing
    )
    settings = Settings.from_env(environment)
    database = Database(own_engine(database_url))
    backstage = Player("simulator", module=["app.simulator"], environment=environment, folder=folder)
    web = Player("web", module=_web(settings), environment=environment, folder=folder)
    crew = [
        Player(f"worker-{n}", module=["workers"], environment=environment, folder=folder)
        for n in range(1, workers + 1)
    ]
    players = [backstage, web, *crew]
    try:
        async with aiohttp.ClientSession() as session:
            backstage.start()
            await _wait_until_up(session, f"{settings.simulator_url}/healthz", backstage)
            simulator = SimulatorClient(SimulatorSettings.from_env(environment), session)
            await plant(database, simulator, rate=rate)
            for player in players[1:]:
                player.start()
            await _wait_until_up(session, f"{settings.public_base_url}/healthz", web)
            yield Stage(folder, database, redis_url, simulator, web, crew)
    finally:
        for player in reversed(players):
            await asyncio.to_thread(player.stop)
        await database.engine.dispose()


def own_engine(database_url: str) -> AsyncEngine:
    """Return connections that can be told from those of the processes."""
    return create_async_engine(
        sqlalchemy_url(database_url),
        pool_size=4,
        pool_pre_ping=True,
        connect_args={"server_settings": {"timezone": "UTC", "application_name": OWN_NAME}},
    )


def environment_for(
    *, database_url: str, redis_url: str, folder: Path, timing: Timing = QUICK
) -> dict[str, str]:
    """Return what a process of the stage is told: its servers, its ports, and nothing of the person's own."""
    port, simulator_port = free_port(), free_port()
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **inherited,
        **timing.environment(),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "WARMLINE_HOME": str(folder / "home"),
        "WARMLINE_PORT": str(port),
        "WARMLINE_PUBLIC_BASE_URL": f"http://127.0.0.1:{port}",
        "WARMLINE_SIMULATOR_PORT": str(simulator_port),
        "WARMLINE_SIMULATOR_DB": str(folder / "simulator.sqlite3"),
        "WARMLINE_DEMO": "1",
        "WARMLINE_SECRET_KEY": "a secret of the fault run",
        "PYTHONPATH": str(PROJECT_ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def _web(settings: Settings) -> list[str]:
    return [
        "uvicorn",
        "app.main:create_app",
        "--factory",
        *("--host", "127.0.0.1", "--port", str(settings.port)),
        *("--no-access-log", "--no-server-header", "--no-proxy-headers"),
        *("--timeout-graceful-shutdown", "2"),
    ]


async def _wait_until_up(session: aiohttp.ClientSession, address: str, player: Player) -> None:
    end = time.monotonic() + UP_WITHIN_SECONDS
    while time.monotonic() < end:
        assert player.running, f"{player.name} ended:\n{player.last_words()}"
        try:
            async with session.get(address, timeout=aiohttp.ClientTimeout(total=5)) as answer:
                if answer.status == 200:
                    return
        except (aiohttp.ClientError, TimeoutError):
            pass
        await asyncio.sleep(0.1)
    raise TimeoutError(f"{player.name} did not come up:\n{player.last_words()}")
