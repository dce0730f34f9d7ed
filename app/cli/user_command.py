"""`warmline user add`."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import click

from app.accounts.operations import add_user
from app.accounts.passwords import Passwords
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
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@home_option
def add(
    email: str, name: str, role: str, time_zone: str | None, password_stdin: bool, home: Path | None
) -> None:
    """Add a person who can sign in. Without --password-stdin a password is made and printed once."""
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else secrets.token_urlsafe(15)

    async def work(database: Database, settings: Settings) -> None:
        async with database.transaction() as uow:
            await add_user(
                uow,
                passwords=Passwords(),
                email=email,
                name=name,
                role=Role(role),
                password=password,
                time_zone=time_zone or settings.default_time_zone,
            )

    try:
        with_database(work, home=home)
    except WarmlineError as error:
        raise click.ClickException(error.message) from None
    click.echo(f"{email} can sign in as {role}.", err=True)
    if not password_stdin:
        click.echo(password)
