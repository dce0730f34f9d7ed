"""Tables that belong to no business noun: settings, leases of periodic jobs, the demo clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Double, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base


class Setting(Base):
    """One named setting of the organisation, as JSON; absent means the default of the slice that reads it."""

    __tablename__ = "settings"

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[dict[str, Any]]
    updated_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    updated_by: Mapped[int | None]


class JobLease(Base):
    """The right of one worker to run one periodic job for a while. Real time."""

    __tablename__ = "job_leases"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    token: Mapped[str]
    expires_at: Mapped[datetime]
    last_run_at: Mapped[datetime | None]


class DemoClockRow(Base):
    """The demo clock: one row, or none where business time is real time."""

    __tablename__ = "demo_clock"
    __table_args__ = (
        CheckConstraint("id = 1", name="one_row"),
        CheckConstraint("rate >= 0", name="rate_forward"),
    )

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, server_default=text("1"))
    real_base: Mapped[datetime]
    demo_base: Mapped[datetime]
    rate: Mapped[float] = mapped_column(Double)
