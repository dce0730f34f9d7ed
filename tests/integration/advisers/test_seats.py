"""Tests for who takes leads at all: an adviser from the command line, and nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.advisers.operations.assignment import assign_waiting
from app.cli import warmline
from tests.fixtures.desk import MORNING, Desk


@pytest.fixture
def environment(
    shared_database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let commands attach to the desk's database."""
    for name, value in {
        "DATABASE_URL": shared_database_url,
        "REDIS_URL": redis_url,
        "WARMLINE_HOME": str(tmp_path / "home"),
        "WARMLINE_DEMO": "1",
    }.items():
        monkeypatch.setenv(name, value)


async def add(*arguments: str) -> Result:
    command = ["user", "add", "lim@example.org", "--name", "Lim Demo", *arguments]
    return await asyncio.to_thread(CliRunner().invoke, warmline, command)


@pytest.mark.usefixtures("environment")
async def test_an_adviser_who_was_added_takes_the_next_lead(desk: Desk) -> None:
    handoff_id = await desk.handoff()
    added = await add("--role", "adviser", "--capacity", "3", "--language", "ms", "--language", "en")
    assert added.exit_code == 0, added.output
    [seat] = await desk.read("SELECT user_id, capacity, languages FROM adviser_profiles")
    assert (seat["capacity"], seat["languages"]) == (3, ["ms", "en"])
    async with desk.database.transaction() as uow:
        [made] = await assign_waiting(uow, now=MORNING)
    assert made.handoff_id == handoff_id
    assert await desk.read("SELECT owner_id FROM handoffs") == [{"owner_id": seat["user_id"]}]


@pytest.mark.usefixtures("environment")
async def test_others_get_no_seat_and_are_not_asked_for_one(desk: Desk) -> None:
    assert (await add("--role", "marketer", "--capacity", "3")).exit_code == 2
    assert await desk.read("SELECT 1 FROM users") == []
    assert (await add("--role", "marketer")).exit_code == 0
    assert await desk.read("SELECT 1 FROM adviser_profiles") == []
