"""For commands that need the database: attach to running servers, else start them for the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from app.config import LaunchSettings, Settings
from app.launch.attach import servers
from app.launch.database import migrate

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the data (default: .warmline in the project, or WARMLINE_HOME).",
)


@contextmanager
def attached(*, home: Path | None = None) -> Iterator[Settings]:
    """Give settings with working, migrated servers for the block. Progress goes to standard error.

    Raises `LaunchError` or `ConfigError` with a plain text, which the command line prints.
    """
    launch = LaunchSettings.load(home=home)
    with servers(launch, say=say) as addresses:
        if addresses.owns_database:
            migrate(addresses.database_url)
        yield Settings.from_env(
            launch.child_environment(database_url=addresses.database_url, redis_url=addresses.redis_url)
        )


def say(text: str) -> None:
    """Tell the person how far a command is, beside what it puts out."""
    click.echo(text, err=True)
