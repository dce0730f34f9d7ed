"""One running application for each module, emptied before each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.config import Settings
from app.launch.attach import Addresses
from tests.fixtures.site import Site, running_site


@pytest.fixture(scope="module")
def module_settings(
    module_database_url: str, test_servers: Addresses, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """Give the settings of a demo on servers of this run."""
    home: Path = tmp_path_factory.mktemp("web-home")
    return Settings.from_env(
        {
            "DATABASE_URL": module_database_url,
            "REDIS_URL": test_servers.redis_url,
            "WARMLINE_HOME": str(home),
            "WARMLINE_DEMO": "1",
            "WARMLINE_SECRET_KEY": "a secret of the tests",
        }
    )


@pytest.fixture(scope="module")
async def module_site(module_settings: Settings) -> AsyncIterator[Site]:
    """Give the application that the tests of a module share."""
    async with running_site(module_settings) as site:
        yield site


@pytest.fixture
async def site(module_site: Site) -> Site:
    """Give the running application without any people."""
    await module_site.reset()
    return module_site
