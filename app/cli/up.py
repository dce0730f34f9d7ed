"""`warmline up`."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.attached import home_option
from app.config import LaunchSettings
from app.launch.up import UpOptions
from app.launch.up import up as run_up


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65534), help="Port of the web pages (default: 8000, or WARMLINE_PORT)."
)
@home_option
@click.option(
    "--workers", type=click.IntRange(1, 32), default=1, show_default=True, help="Number of workers."
)
@click.option(
    "--no-demo", is_flag=True, help="Without demo people, phone and demo clock; needs a Twilio account."
)
@click.option("--reload", is_flag=True, help="Start the processes again whenever their code changes.")
def up(port: int | None, home: Path | None, workers: int, no_demo: bool, reload: bool) -> None:
    """Start Warmline and keep it running until Ctrl-C.

    Without DATABASE_URL and REDIS_URL it brings servers of its own; their data stay in the home folder.
    """
    launch = LaunchSettings.load(port=port, home=home, demo=False if no_demo else None)
    run_up(launch, options=UpOptions(workers=workers, reload=reload), say=_say)


def _say(text: str) -> None:
    try:
        click.echo(text)
    except OSError:
        pass  # whoever read our words is gone; Warmline runs on
