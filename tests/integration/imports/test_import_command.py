"""`warmline import`: says what would happen, does it, and says what happened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from app.cli.import_command import import_leads
from app.db.session import Database, make_engine
from tests.integration.imports.conftest import CAMPAIGN, begin_with_nobody

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def address(module_database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give a database with a campaign, which the command attaches to."""
    for name, value in {
        "DATABASE_URL": module_database_url,
        "REDIS_URL": redis_url,
        "WARMLINE_HOME": str(tmp_path / "home"),
        "WARMLINE_DEMO": "1",
    }.items():
        monkeypatch.setenv(name, value)
    asyncio.run(_seed(module_database_url))
    return module_database_url


async def _seed(address: str) -> None:
    engine = make_engine(address, pool_size=1)
    async with Database(engine).transaction() as uow:
        await begin_with_nobody(uow)
    await engine.dispose()


def count(address: str, table: str) -> int:
    async def ask() -> int:
        connection = await asyncpg.connect(address)
        try:
            return int(await connection.fetchval(f"SELECT count(*) FROM {table}"))
        finally:
            await connection.close()

    return asyncio.run(ask())


def command(*arguments: str) -> Result:
    return CliRunner().invoke(import_leads, arguments)


def test_a_dry_run_says_a_reason_per_row_and_changes_nothing(address: str) -> None:
    result = command(str(DATA / "leads-messy.csv"), "--campaign", CAMPAIGN, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "row 21: Needs review. The phone belongs to one person" in result.output
    assert "row 22: Left out. The row has another number of cells than the header." in result.output
    assert "17  New lead" in result.output
    assert count(address, "contacts") == count(address, "runs") == 0


def test_a_file_is_imported_to_its_end_and_the_second_time_changes_nothing(address: str) -> None:
    first = command(str(DATA / "leads-open-day.csv"), "--campaign", CAMPAIGN)
    assert first.exit_code == 0, first.output
    assert "1,178  New lead" in first.output
    assert "960  Enrolled" in first.output
    second = command(str(DATA / "leads-open-day.csv"), "--campaign", CAMPAIGN)
    assert second.exit_code == 0, second.output
    assert "1,200  Imported before, nothing changed" in second.output
    assert (count(address, "contacts"), count(address, "enrolments")) == (1178, 960)


def test_o09_clashing_columns_are_named_and_can_be_told_apart(address: str, tmp_path: Path) -> None:
    file = tmp_path / "leads.csv"
    file.write_text("phone,name,phone\n0123456789,Ana,0123456780\n", encoding="utf-8")
    refused = command(str(file), "--campaign", CAMPAIGN)
    assert refused.exit_code == 1
    assert "Columns 1 and 3 have the same header" in refused.output
    told = command(str(file), "--campaign", CAMPAIGN, "--column", "3=ignore")
    assert told.exit_code == 0, told.output
    assert count(address, "contacts") == 1


@pytest.mark.parametrize("column", ["3", "9=phone", "1=nickname", "x=phone"])
def test_a_column_that_is_not_there_is_refused(address: str, column: str) -> None:
    result = command(str(DATA / "leads-messy.csv"), "--campaign", CAMPAIGN, "--column", column)
    assert result.exit_code == 2


def test_an_unknown_campaign_names_those_there_are(address: str) -> None:
    result = command(str(DATA / "leads-messy.csv"), "--campaign", "nothing")
    assert result.exit_code == 1
    assert CAMPAIGN in result.output
