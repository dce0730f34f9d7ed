"""`warmline worker`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from app.cli.attached import attached, home_option
from app.config import PROJECT_ROOT, LaunchSettings
from app.launch.processes import run_beside


@click.command()
@click.option(
    "--roles", default="plan,send,sweep", show_default=True, help="What it does: plan, send, sweep."
)
@home_option
def worker(roles: str, home: Path | None) -> None:
    """Run one worker until it is told to stop."""
    command = [sys.executable, "-m", "workers", "--roles", roles]
    with attached(home=home) as settings:
        environment = LaunchSettings.load(home=home).child_environment(
            database_url=settings.database_url, redis_url=settings.redis_url
        )
        sys.exit(run_beside(command, environment=environment, folder=PROJECT_ROOT))
