"""One running application for each module, emptied before each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.config import Settings
from tests.fixtures.site import Site, running_site


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
