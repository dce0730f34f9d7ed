"""One stage for all small fault tests; each brings leads of its own and leaves it at rest."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from app.db.demo_clock import make_clock
from app.launch.attach import Addresses
from tests.faults.audit import audit
from tests.faults.planting import made_up_leads, start_run
from tests.faults.stage import Stage, open_stage
from tests.faults.waiting import Reviewer, wait_until_at_rest

_files = itertools.count(1)
_numbers = itertools.count(1)


@dataclass(slots=True)
class Hall:
    """The stage with what the tests ask of it."""

    stage: Stage

    async def bring_in(self, count: int, *, rate: float) -> None:
        """Import new leads, who are written to at this pace as soon as the workers come to it."""
        await self.stage.pace(rate)
        content = made_up_leads(list(itertools.islice(_numbers, count)))
        clock = await make_clock(self.stage.database)
        await start_run(self.stage.database, clock, name=f"leads-{next(_files)}.csv", content=content)

    async def check(self, *, people_before: int, people: int) -> Reviewer:
        """Wait for rest; then everybody has the first step once, and nothing is wrong anywhere."""
        reviewer = Reviewer()
        await wait_until_at_rest(self.stage, within=60.0, reviewer=reviewer)
        found = await audit(self.stage)
        assert found.problems == []
        assert (found.duplicates, found.unmatched, found.unexplained) == (0, 0, 0)
        assert found.people - people_before == people
        return reviewer

    async def people(self) -> int:
        """Return how many people got a message so far."""
        return (await audit(self.stage)).people


@pytest.fixture(scope="package")
def hall_database_url(new_database: Callable[[], str]) -> str:
    """Give the database of the stage."""
    return new_database()


@pytest_asyncio.fixture(scope="package")  # its workers would take the hints of later tests
async def hall(
    test_servers: Addresses,
    hall_database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Hall]:
    """Give the stage: simulator, web and two workers as processes."""
    async with open_stage(
        database_url=hall_database_url,
        redis_url=test_servers.redis_url,
        folder=tmp_path_factory.mktemp("stage"),
    ) as stage:
        yield Hall(stage)
