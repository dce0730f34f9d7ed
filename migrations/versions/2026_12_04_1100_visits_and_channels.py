"""Visits that the engine waits for, and the channels that a send has tried."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261204_1100"
down_revision = "20261204_1000"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bookings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("program_id", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'booked'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('booked', 'cancelled', 'attended', 'no_show')", name=op.f("ck_bookings_status")
        ),
        sa.CheckConstraint("starts_at < ends_at", name=op.f("ck_bookings_times")),
        sa.ForeignKeyConstraint(
            ["contact_id"], ["contacts.id"], name=op.f("fk_bookings_contact_id_contacts")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bookings")),
    )
    op.create_index("ix_bookings_contact_id", "bookings", ["contact_id"], unique=False)
    op.create_index(
        "uq_bookings_one_live",
        "bookings",
        ["contact_id", "program_id"],
        unique=True,
        postgresql_where=sa.text("status = 'booked'"),
    )
    op.create_index(
        "ix_enrolments_visit_due",
        "enrolments",
        ["next_run_at"],
        unique=False,
        postgresql_where=sa.text("automation = 'paused' AND stage = 'booked' AND lock_token IS NULL"),
    )
    op.add_column(
        "sends", sa.Column("tried", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False)
    )
