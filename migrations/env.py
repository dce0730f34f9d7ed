"""Alembic's entry: runs migrations on the address it is handed, one transaction for each migration."""

from __future__ import annotations

import asyncio

from alembic import context
from sqlalchemy import Connection, pool
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.ext.asyncio import create_async_engine

from app.db.registry import metadata
from app.ledger.models import Xid8

PARTITION_PREFIX = "ledger_p"

ischema_names["xid8"] = Xid8  # SQLAlchemy does not know the type when it reads a table back


def _include(object_: object, name: str | None, type_: str, reflected: bool, compare_to: object) -> bool:
    """Leave the ledger's partitions to the migration that made them."""
    return not (type_ == "table" and name is not None and name.startswith(PARTITION_PREFIX))


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_object=_include,
        compare_type=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def _run_async(url: str) -> None:
    engine = create_async_engine(url, poolclass=pool.NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(_run)
        await connection.commit()
    await engine.dispose()


def _main() -> None:
    given = context.config.attributes.get("connection")
    if given is not None:
        _run(given)
        return
    url = context.config.get_main_option("sqlalchemy.url") or context.get_x_argument(as_dictionary=True).get(
        "url"
    )
    if not url:
        raise SystemExit(
            "No database address: use `warmline migrate`, or `alembic -x url=postgresql+asyncpg://…`."
        )
    asyncio.run(_run_async(url))


_main()
