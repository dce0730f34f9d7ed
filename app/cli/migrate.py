"""`warmline migrate`."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.attached import home_option, say
from app.config import LaunchSettings
from app.launch.attach import servers
from app.launch.database import migrate as bring_up_to_date


@click.command()
@home_option
def migrate(home: Path | None) -> None:
    """Bring the database to the newest schema."""
    launch = LaunchSettings.load(home=home)
    with servers(launch, say=say) as addresses:
        bring_up_to_date(addresses.database_url)
    say("The database is up to date")
