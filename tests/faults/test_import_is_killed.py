"""The import command is killed and started again: it goes on where it stopped, and enrols nobody twice."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from app.db.session import Database
from app.demo.organisation import CAMPAIGN
from tests.faults.planting import made_up_leads, plant_database
from tests.faults.processes import Player
from tests.faults.stage import environment_for, own_engine

LEADS = 1_100  # three batches of each part
RUN = "SELECT status, params ->> 'phase' AS phase, position FROM runs"


async def test_the_import_command_is_killed_in_both_parts_and_goes_on(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    database = Database(own_engine(database_url))
    file = tmp_path / "long.csv"
    file.write_bytes(made_up_leads(range(LEADS)))
    command = Player(
        "import",
        module=["app.cli", "import", str(file), "--campaign", CAMPAIGN],
        environment=environment_for(database_url=database_url, redis_url=redis_url, folder=tmp_path),
        folder=tmp_path,
    )
    try:
        await plant_database(database, rate=1)
        for phase in ("people", "enrolling"):
            command.start()
            await _wait_until_inside(database, phase)
            command.kill()
            async with database.transaction() as uow:  # the minute of the lease passes
                await uow.execute("UPDATE runs SET lease_expires_at = clock_timestamp()")
        command.start()
        assert await command.ended(within=30) == 0, command.last_words()
        await _check(database)
    finally:
        command.stop()
        await database.engine.dispose()


async def _wait_until_inside(database: Database, phase: str) -> None:
    """Return when some rows of the part are done, and not all of them."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        async with database.reading() as uow:
            run = (await uow.execute(RUN)).one_or_none()
        if run is not None and run.phase == phase and run.position > 0:
            assert run.position < LEADS, "the import was too quick to be killed inside this part"
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"the import never came to {phase}")


async def _check(database: Database) -> None:
    async with database.reading() as uow:
        runs = (await uow.execute("SELECT status, position, counts FROM runs")).all()
        counts = (
            await uow.execute(
                "SELECT (SELECT count(*) FROM contacts) AS contacts, (SELECT count(*) FROM enrolments) AS enrolments, "
                "(SELECT count(*) FROM ledger WHERE type = 'enrolled') AS told, "
                "(SELECT count(*) FROM ledger WHERE type = 'touched') AS touched"
            )
        ).one()
    assert [(run.status, run.position) for run in runs] == [("done", LEADS)]
    assert tuple(counts) == (LEADS, LEADS, LEADS, 0)
    assert runs[0].counts["enrolled"] == LEADS
