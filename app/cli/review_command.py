"""`warmline review TASK sent|again|skip`: answer what only a person can, from the command line."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from app.campaigns.operations.operate import VERDICTS, resolve_review
from app.cli.attached import home_option
from app.cli.database_access import with_database
from app.db.demo_clock import make_clock
from app.db.session import Database
from app.kernel.errors import WarmlineError


@click.command()
@click.argument("task", type=click.IntRange(min=1, max=2**63 - 1))
@click.argument("verdict", type=click.Choice(VERDICTS))
@click.option("--message-id", help="With `sent`: the message's id at the provider, where it is known.")
@home_option
def review(task: int, verdict: str, message_id: str | None, home: Path | None) -> None:
    """Answer the review TASK: the message was `sent`, send it `again` (it may arrive twice), or `skip` it."""
    if message_id is not None and verdict != "sent":
        raise click.BadParameter("Only a message that was sent has an id.", param_hint="--message-id")
    try:
        with_database(lambda database, _: _resolve(database, task, verdict, message_id), home=home)
    except WarmlineError as error:
        raise click.ClickException(error.message) from None
    click.echo(f"Review {task} is done: {verdict}.")


async def _resolve(database: Database, task_id: int, verdict: str, message_id: str | None) -> None:
    now = (await make_clock(database)).now()
    async with database.transaction() as uow:
        await resolve_review(
            uow,
            task_id=task_id,
            verdict=verdict,
            provider_message_id=message_id,
            actor=f"cli:{getpass.getuser()}",
            now=now,
        )
