"""`warmline faults`: random histories of everything that can go wrong, on servers of their own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
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
@click.option(
    "--processes",
    default=min(4, os.cpu_count() or 1),
    show_default=True,
    type=click.IntRange(min=1),
    help="Share the histories among so many processes, each with servers of its own.",
)
@click.option("--stop-at-first", is_flag=True, help="Stop where something was found.")
@click.option(
    "--json", "as_json", is_flag=True, help="End with one line of JSON: violations, duplicates, stuck."
)
def faults(histories: int, seed: int, processes: int, stop_at_first: bool, as_json: bool) -> None:
    """Run random histories and check what must be true after them. Exit code 1 when anything was found.

    One history alone replays with --histories 1 and its own --seed. Nothing of yours is touched: the servers are
    throw-aways.
    """
    found = Found(0, seed)
    shares = _shares(histories, seed, processes)
    with ProcessPoolExecutor(len(shares), mp_context=multiprocessing.get_context("spawn")) as pool:
        for part in pool.map(
            _explore_on_own_servers, *zip(*((*share, stop_at_first) for share in shares), strict=True)
        ):
            found.add(part)
    _say(found)
    if as_json:
        click.echo(json.dumps(found.as_json()))
    sys.exit(0 if found.is_clean else 1)


def _shares(histories: int, seed: int, processes: int) -> list[tuple[int, int]]:
    """Return how many histories each process runs, and from which seed on."""
    each, over = divmod(histories, min(histories, processes))
    counts = [each + (number < over) for number in range(min(histories, processes))]
    return [(count, seed + sum(counts[:number])) for number, count in enumerate(counts)]


def _explore_on_own_servers(histories: int, seed: int, stop_at_first: bool) -> Found:
    with tempfile.TemporaryDirectory(prefix="warmline-faults-") as folder:
        launch = LaunchSettings.from_env({"WARMLINE_HOME": str(Path(folder) / "home")})
        with servers(launch, say=lambda _: None, throwaway=True) as addresses:
            migrate(addresses.database_url)
            return asyncio.run(_explore(addresses.database_url, histories, seed, stop_at_first))


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
        click.echo(f"{done:,} histories done by one process", err=True)


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
