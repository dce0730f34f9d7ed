"""The append-only event table. Its partitions and its refusals are made by the migration."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Identity, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import UserDefinedType

from app.db.base import Base

LEDGER_PARTITIONS = 8


class Xid8(UserDefinedType[int]):
    """PostgreSQL's 64-bit transaction id."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return the column type's name."""
        return "xid8"


class LedgerEvent(Base):
    """One event of a contact; `seq` orders the events of one enrolment, `set` holds the covered columns it changed."""

    __tablename__ = "ledger"
    __table_args__ = (
        UniqueConstraint("contact_id", "enrolment_id", "seq"),
        Index("ix_ledger_xid_id", "xid", "id"),
        Index("ix_ledger_enrolment_id", "enrolment_id", "seq"),
        {"postgresql_partition_by": "HASH (contact_id)"},
    )

    contact_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    xid: Mapped[int] = mapped_column(Xid8(), server_default=text("pg_current_xact_id()"))
    enrolment_id: Mapped[int | None]
    seq: Mapped[int | None]
    type: Mapped[str]
    at: Mapped[datetime]
    recorded_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    actor: Mapped[str]
    cause: Mapped[str | None]
    data: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    set: Mapped[dict[str, Any]] = mapped_column("set", server_default=text("'{}'"))


class LedgerFact(Base):
    """A personal value that an event refers to; erasure empties this table, the fold stays whole."""

    __tablename__ = "ledger_facts"

    contact_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ledger_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[str]
