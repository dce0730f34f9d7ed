"""What every test may ask for: real servers of this run, and a database of its own, built by the migrations.

PostgreSQL and Valkey are embedded throw-aways, started once and deleted at the end. With
WARMLINE_TEST_DATABASE_URL (a role that may create databases) that PostgreSQL is used instead.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import redis
from sqlalchemy.ext.asyncio import AsyncEngine

from app.config import PROJECT_ROOT, LaunchSettings, Settings
from app.db.session import Database, make_engine
from app.launch.attach import Addresses, servers
from app.launch.database import migrate
from tests.fixtures.emptying import count_anew, empty_within

RUN = f"warmline_test_{os.getpid()}"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def test_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Give the servers of this run."""
    environment = {"WARMLINE_HOME": str(tmp_path_factory.mktemp("home") / "warmline")}
    given = os.environ.get("WARMLINE_TEST_DATABASE_URL")
    if given:
        environment["DATABASE_URL"] = given
    with servers(LaunchSettings.from_env(environment), say=lambda _: None, throwaway=True) as addresses:
        yield addresses


@pytest.fixture(scope="session")
def template_database(test_servers: Addresses) -> Iterator[str]:
    """Give the name of a database that the migrations built; nobody may connect to it, it is only copied."""
    name = f"{RUN}_template"
    _administer(test_servers.database_url, f'CREATE DATABASE "{name}"')
    migrate(address_of(test_servers.database_url, database=name))
    yield name
    _administer(test_servers.database_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def new_database(test_servers: Addresses, template_database: str) -> Iterator[Callable[[], str]]:
    """Give a function that makes a fresh, migrated database and returns its `postgresql://` address."""
    made: list[str] = []

    def make() -> str:
        name = f"{RUN}_{next(_numbers)}"
        _administer(test_servers.database_url, f'CREATE DATABASE "{name}" TEMPLATE "{template_database}"')
        made.append(name)
        return address_of(test_servers.database_url, database=name)

    yield make
    for name in made:
        _administer(test_servers.database_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture
def database_url(new_database: Callable[[], str]) -> str:
    """Give a fresh, migrated database to this test alone."""
    return new_database()


@pytest.fixture(scope="module")
def module_database_url(new_database: Callable[[], str]) -> str:
    """Give a fresh, migrated database that the tests of a module share."""
    return new_database()


@pytest.fixture(scope="session")
def shared_database_url(new_database: Callable[[], str]) -> str:
    """Make the database that tests of any module share; they ask for `clean_database`."""
    return new_database()


@pytest.fixture(scope="session")
async def shared_engine(shared_database_url: str) -> AsyncIterator[AsyncEngine]:
    """Open the connections to it once."""
    engine = make_engine(shared_database_url, pool_size=20)
    yield engine
    await engine.dispose()


@pytest.fixture
async def clean_database(shared_engine: AsyncEngine) -> Database:
    """Give the shared database as if it were fresh. A new one, and new connections, would take some 40 times longer."""
    database = Database(shared_engine)
    async with database.transaction() as uow:
        await empty_within(uow)
        await count_anew(uow)
    return database


@pytest.fixture
def redis_url(test_servers: Addresses) -> str:
    """Give the Valkey of this run, emptied."""
    with redis.Redis.from_url(test_servers.redis_url) as connection:
        connection.flushall()
    return test_servers.redis_url


@pytest.fixture
def settings(database_url: str, redis_url: str, tmp_path: Path) -> Settings:
    """Give the settings of a demo on servers of this test."""
    return Settings.from_env(
        {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "WARMLINE_HOME": str(tmp_path / "home"),
            "WARMLINE_DEMO": "1",
            "WARMLINE_SECRET_KEY": "a secret of the tests",
        }
    )


@pytest.fixture(scope="module")
def module_settings(
    module_database_url: str, test_servers: Addresses, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """Give the settings of a demo that the tests of a module share."""
    return Settings.from_env(
        {
            "DATABASE_URL": module_database_url,
            "REDIS_URL": test_servers.redis_url,
            "WARMLINE_HOME": str(tmp_path_factory.mktemp("module-home")),
            "WARMLINE_DEMO": "1",
            "WARMLINE_SECRET_KEY": "a secret of the tests",
        }
    )


@pytest.fixture(scope="session")
def chromium() -> str:
    """Give the path of the Chromium that `make test` found or installed."""
    found = os.environ.get("WARMLINE_CHROMIUM")
    if not found:
        answer = subprocess.run(
            [PROJECT_ROOT / "bin" / "browser"], capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        found = answer.stdout.strip()
    return found


def pytest_exception_interact(call: pytest.CallInfo[object]) -> None:
    """Where a test was stopped by the time limit, say what every task of the event loop waits for."""
    if call.excinfo is not None and "pytest-timeout" in str(call.excinfo.value):
        for task in [each for each in gc.get_objects() if isinstance(each, asyncio.Task) and not each.done()]:
            task.print_stack(limit=8, file=sys.stderr)


def address_of(server_url: str, *, database: str) -> str:
    """Return the address of another database on the same server."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{database}"))


def _administer(server_url: str, statement: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(server_url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(execute())
