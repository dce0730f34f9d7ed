"""One visit that a lead has booked."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base

BOOKING_STATUSES = ("booked", "cancelled", "attended", "no_show")


class Booking(Base):
    """A visit of a contact in a program; there is one live booking for each. Times are business time, in UTC."""

    __tablename__ = "bookings"
    __table_args__ = (
        CheckConstraint(f"status IN {BOOKING_STATUSES}", name="status"),
        CheckConstraint("starts_at < ends_at", name="times"),
        Index(
            "uq_bookings_one_live",
            "contact_id",
            "program_id",
            unique=True,
            postgresql_where=text("status = 'booked'"),
        ),
        Index("ix_bookings_contact_id", "contact_id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    program_id: Mapped[int]
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    status: Mapped[str] = mapped_column(server_default=text("'booked'"))
    created_at: Mapped[datetime]
    created_by: Mapped[str]
    updated_at: Mapped[datetime]
