"""Bringing a database up to date, and never into somebody else's tables."""

from __future__ import annotations

import asyncio
from typing import Literal

import asyncpg
from alembic import command
from alembic.config import Config

from app.config import PROJECT_ROOT, sqlalchemy_url
from app.launch.errors import LaunchError

DatabaseContent = Literal["empty", "warmline", "foreign"]

_CONNECT_TIMEOUT_SECONDS = 10.0
_CONTENT = """
    SELECT CASE
        WHEN to_regclass('alembic_version') IS NOT NULL AND to_regclass('enrolments') IS NOT NULL
            THEN 'warmline'
        WHEN EXISTS (SELECT FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema'))
            THEN 'foreign'
        ELSE 'empty'
    END
"""


def content_of(database_url: str) -> DatabaseContent:
    """Tell whose tables a database holds. Raises `LaunchError` if it cannot be reached."""
    return asyncio.run(_content_of(database_url))


def migrate(database_url: str) -> None:
    """Bring a database to the newest schema. Raises `LaunchError` if it holds others' tables."""
    if content_of(database_url) == "foreign":
        raise LaunchError(
            "The database holds tables that are not Warmline's: give it an empty one (DATABASE_URL)."
        )
    command.upgrade(alembic_config(database_url), "head")


def empty(database_url: str) -> None:
    """Drop everything in a database of our own. The caller has made sure that it is one."""
    asyncio.run(_empty(database_url))


def alembic_config(database_url: str) -> Config:
    """Return Alembic's settings for a database."""
    config = Config(PROJECT_ROOT / "alembic.ini")
    config.set_main_option("sqlalchemy.url", sqlalchemy_url(database_url).replace("%", "%%"))
    return config


async def _empty(database_url: str) -> None:
    connection = await asyncpg.connect(database_url, timeout=_CONNECT_TIMEOUT_SECONDS)
    try:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    finally:
        await connection.close()


async def _content_of(database_url: str) -> DatabaseContent:
    try:
        connection = await asyncpg.connect(database_url, timeout=_CONNECT_TIMEOUT_SECONDS)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        raise LaunchError(f"The database cannot be reached: {error or 'no answer'}.") from error
    try:
        content: DatabaseContent = await connection.fetchval(_CONTENT)
        return content
    finally:
        await connection.close()
