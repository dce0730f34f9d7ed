"""`warmline stuck`: what does not move by itself and should."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.attached import home_option
from app.cli.check_command import print_finding
from app.cli.database_access import with_database
from app.db.session import Database
from app.integrity.runner import Finding, find_stuck


@click.command()
@home_option
def stuck(home: Path | None) -> None:
    """List what is stuck: sends nobody can tell of, journeys nobody cares for, runs that stand still."""
    findings = with_database(lambda database, _: _look(database), home=home)
    found = [finding for finding in findings if finding.count]
    for finding in found:
        print_finding(finding, width=max(len(one.key) for one in found))
    if not found:
        click.echo("Nothing is stuck.")


async def _look(database: Database) -> tuple[Finding, ...]:
    async with database.reading() as uow:
        return await find_stuck(uow)
