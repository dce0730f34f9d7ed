"""The long run: real processes under every harm, with figures.

    python -m tests.faults.long_run [--leads 960] [--workers 2] [--kills 20] [--rate 200] [--only NAME] [--json]

Exit code 1 when anything is not as it has to be. With `--json` the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from app.config import LaunchSettings
from app.launch.attach import Addresses, servers
from app.launch.database import migrate
from tests.faults.scenarios import SCENARIOS, Figures, Plan, play

COLUMNS = (
    "people", "sends", "duplicates", "unmatched", "unexplained", "violations", "stuck", "kills", "kills_in_the_air",
    "flushes", "replies", "after_reply", "on_the_wire", "handoffs", "unknown", "reviewed_sent", "reviewed_again",
    "retried", "recovery_seconds", "seconds",
)  # fmt: skip
SUMS = (
    "duplicates",
    "unmatched",
    "unexplained",
    "violations",
    "stuck",
    "kills",
    "flushes",
    "sends",
    "replies",
)


def main() -> int:
    """Play the scenarios one after another, print the table, and say whether all is well."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.long_run")
    parser.add_argument("--leads", type=int, default=960)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rate", type=float, default=200.0, help="sends a second of the one sender")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(SCENARIOS), help="may be given several times")
    parser.add_argument("--keep", type=Path, help="keep the processes' logs in this folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    plan = Plan(options.leads, options.workers, options.kills, options.rate, options.seed)
    began = time.monotonic()
    figures = _play_all(options.only or list(SCENARIOS), plan, options.keep)
    seconds = time.monotonic() - began
    _print_table(figures)
    problems = [f"{one.name}: {problem}" for one in figures for problem in one.problems]
    for problem in problems[:40]:
        print(problem)
    if options.json:
        print(json.dumps(_summary(figures, seconds=seconds, problems=len(problems))))
    return 1 if problems else 0


def _play_all(names: Sequence[str], plan: Plan, keep: Path | None) -> list[Figures]:
    folder = Path(tempfile.mkdtemp(prefix="warmline-faults-"))
    folder.chmod(0o711)
    environment = {"PATH": os.environ.get("PATH", ""), "WARMLINE_HOME": str(folder / "home")}
    try:
        with servers(LaunchSettings.from_env(environment), say=_say, throwaway=True) as addresses:
            return [_play_one(name, plan, addresses, folder) for name in names]
    finally:
        if keep is not None:
            shutil.copytree(folder, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("home"))
        shutil.rmtree(folder, ignore_errors=True)


def _play_one(name: str, plan: Plan, addresses: Addresses, folder: Path) -> Figures:
    database_url = urlunsplit(urlsplit(addresses.database_url)._replace(path=f"/{name}"))
    asyncio.run(_create(addresses.database_url, name))
    migrate(database_url)
    own = folder / name
    own.mkdir(mode=0o700)
    figures = asyncio.run(
        play(name, plan=plan, database_url=database_url, redis_url=addresses.redis_url, folder=own, say=_say)
    )
    _say(f"{name}: {figures.seconds:.0f} s, {len(figures.problems)} problems")
    return figures


async def _create(server_url: str, name: str) -> None:
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f'CREATE DATABASE "{name}"')
    finally:
        await connection.close()


def _print_table(figures: Sequence[Figures]) -> None:
    width = max(len(column) for column in COLUMNS)
    print(f"{'':<{width}}" + "".join(f"{one.name:>12}" for one in figures))
    for column in COLUMNS:
        values = [getattr(one, column) for one in figures]
        cells = "".join(f"{v:>12.1f}" if isinstance(v, float) else f"{v:>12,}" for v in values)
        print(f"{column:<{width}}{cells}")


def _summary(figures: Sequence[Figures], *, seconds: float, problems: int) -> dict[str, object]:
    total: dict[str, object] = {name: sum(getattr(one, name) for one in figures) for name in SUMS}
    total |= {
        "recovery_seconds": round(max((one.recovery_seconds for one in figures), default=0.0), 1),
        "after_reply": sum(one.after_reply for one in figures),
        "seconds": round(seconds, 1),
        "problems": problems,
        "scenarios": {
            one.name: {k: v for k, v in asdict(one).items() if k not in ("name", "problems")}
            for one in figures
        },
    }
    return total


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
