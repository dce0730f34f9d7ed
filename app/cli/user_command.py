"""`warmline user add`."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import click

from app.accounts.operations import add_user
from app.accounts.passwords import Passwords
from app.advisers.operations.seats import USUAL_CAPACITY, give_seat
from app.cli.attached import home_option
from app.cli.database_access import with_database
from app.config import Settings
from app.db.session import Database
from app.kernel.errors import WarmlineError
from app.kernel.roles import Role


@click.group()
def user() -> None:
    """People who sign in."""


@user.command()
@click.argument("email")
@click.option("--name", required=True, help="As it stands on screens.")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--time-zone", help="An IANA name (default: the installation's).")
@click.option("--capacity", type=click.IntRange(0), help="An adviser's most open leads (default: 40).")
@click.option(
    "--language", "languages", multiple=True, help="One that an adviser speaks, as in ms; may repeat."
)
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@home_option
def add(
    email: str,
    name: str,
    role: str,
    time_zone: str | None,
    capacity: int | None,
    languages: tuple[str, ...],
    password_stdin: bool,
    home: Path | None,
) -> None:
    """Add a person who can sign in; an adviser takes leads from then on.

    Without --password-stdin a password is made and printed once.
    """
    is_adviser = Role(role) is Role.ADVISER
    if not is_adviser and (languages or capacity is not None):
        raise click.UsageError("Only an adviser has a capacity and languages.")
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else secrets.token_urlsafe(15)

    async def work(database: Database, settings: Settings) -> None:
        async with database.transaction() as uow:
            user_id = await add_user(
                uow,
                passwords=Passwords(),
                email=email,
                name=name,
                role=Role(role),
                password=password,
                time_zone=time_zone or settings.default_time_zone,
            )
            if is_adviser:
                most = USUAL_CAPACITY if capacity is None else capacity
                await give_seat(uow, user_id=user_id, capacity=most, languages=languages)

    try:
        with_database(work, home=home)
    except WarmlineError as error:
        raise click.ClickException(error.message) from None
    click.echo(f"{email} can sign in as {role}.", err=True)
    if not password_stdin:
        click.echo(password)
