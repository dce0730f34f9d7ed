"""`warmline faults`: random histories of everything that can go wrong, on servers of their own."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import click

from app.config import LaunchSettings
from app.db.session import Database, make_engine
from app.faults.explorer import Found, explore
from app.launch.attach import servers
from app.launch.database import migrate

MOST_SHOWN = 20


@click.command()
@click.option("--histories", default=200, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--seed", default=1, show_default=True, help="The seed of the first; the next one has the next."
)
@click.option("--stop-at-first", is_flag=True, help="Stop where something was found.")
@click.option(
    "--json", "as_json", is_flag=True, help="End with one line of JSON: violations, duplicates, stuck."
)
def faults(histories: int, seed: int, stop_at_first: bool, as_json: bool) -> None:
    """Run random histories and check what must be true after them. Exit code 1 when anything was found.

    One history alone replays with --histories 1 and its own --seed. Nothing of yours is touched: the servers are
    throw-aways.
    """
    with tempfile.TemporaryDirectory(prefix="warmline-faults-") as folder:
        launch = LaunchSettings.from_env({"WARMLINE_HOME": str(Path(folder) / "home")})
        with servers(launch, say=lambda _: None, throwaway=True) as addresses:
            migrate(addresses.database_url)
            found = asyncio.run(_explore(addresses.database_url, histories, seed, stop_at_first))
    _say(found)
    if as_json:
        click.echo(json.dumps(found.as_json()))
    sys.exit(0 if found.is_clean else 1)


async def _explore(database_url: str, histories: int, seed: int, stop_at_first: bool) -> Found:
    engine = make_engine(database_url, pool_size=16, application_name="warmline-faults")
    try:
        return await explore(
            Database(engine), histories=histories, seed=seed, stop_at_first=stop_at_first, told=_progress
        )
    finally:
        await engine.dispose()


def _progress(done: int) -> None:
    if done % 100 == 0:
        click.echo(f"{done:,} histories", err=True)


def _say(found: Found) -> None:
    for title, what in (
        ("Violations", found.violations),
        ("Duplicates", found.duplicates),
        ("Stuck", found.stuck),
    ):
        click.echo(f"{title}: {len(what):,}")
        for line in what[:MOST_SHOWN]:
            click.echo(f"  {line}")
        if len(what) > MOST_SHOWN:
            click.echo(f"  and {len(what) - MOST_SHOWN:,} more")
