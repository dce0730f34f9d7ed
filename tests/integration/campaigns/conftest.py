"""A world for the engine's tests: one set of connections, emptied before each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from app.config import Settings
from app.integrity.runner import look
from app.launch.attach import Addresses
from tests.fixtures.engine import World, open_world


@pytest.fixture(scope="package")
def engine_database_url(new_database: Callable[[], str]) -> str:
    """Make the database that the engine's tests share."""
    return new_database()


@pytest.fixture(scope="package")
async def shared_world(
    engine_database_url: str, test_servers: Addresses, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """Open the connections once."""
    folder = tmp_path_factory.mktemp("engine")
    settings = Settings.from_env(
        {
            "DATABASE_URL": engine_database_url,
            "REDIS_URL": test_servers.redis_url,
            "WARMLINE_HOME": str(folder / "home"),
            "WARMLINE_DEMO": "1",
            "WARMLINE_SECRET_KEY": "a secret of the tests",
        }
    )
    async with open_world(settings, folder) as opened:
        yield opened


@pytest.fixture
async def world(shared_world: World) -> AsyncIterator[World]:
    """Give an organisation with a campaign of three steps, and an engine at rest; whatever the test did to it,
    every invariant holds at the end.
    """
    await shared_world.restart()
    yield shared_world
    report = await look(shared_world.database)
    broken = {f.key: f.offenders for f in report.invariants if f.count}
    assert set(broken) == shared_world.breaks, broken
