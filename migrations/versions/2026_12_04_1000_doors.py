"""Doors: cool-downs that can be lifted and tell when they were written; enrolments that wait for their turn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261204_1000"
down_revision = "20261130_0810"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaigns", sa.Column("priority", sa.Integer(), server_default=sa.text("0"), nullable=False)
    )
    for column in (
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lifted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lifted_by", sa.Text(), nullable=True),
        sa.Column("lift_reason", sa.Text(), nullable=True),
    ):
        op.add_column("cooldowns", column)
    op.create_check_constraint(
        op.f("ck_cooldowns_lifted_with_a_reason"),
        "cooldowns",
        "lifted_at IS NULL OR (lifted_by IS NOT NULL AND btrim(coalesce(lift_reason, '')) <> '')",
    )
    op.create_index("ix_cooldowns_enrolment_id", "cooldowns", ["enrolment_id"], unique=False)
    op.create_table(
        "enrolment_requests",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'waiting'"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settled_by", sa.Text(), nullable=True),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "status IN ('waiting','admitted','refused','expired','withdrawn')",
            name=op.f("ck_enrolment_requests_status"),
        ),
        sa.CheckConstraint(
            "(status = 'waiting') = (settled_at IS NULL)", name=op.f("ck_enrolment_requests_settled")
        ),
        sa.CheckConstraint(
            "status <> 'admitted' OR enrolment_id IS NOT NULL", name=op.f("ck_enrolment_requests_admitted")
        ),
        sa.ForeignKeyConstraint(
            ["contact_id"], ["contacts.id"], name=op.f("fk_enrolment_requests_contact_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_enrolment_requests")),
        sa.UniqueConstraint("campaign_id", "ref", name=op.f("uq_enrolment_requests_campaign_id_ref")),
    )
    op.create_index(
        "uq_enrolment_requests_waiting",
        "enrolment_requests",
        ["contact_id", "campaign_id"],
        unique=True,
        postgresql_where=sa.text("status = 'waiting'"),
    )
    op.create_index(
        "ix_enrolment_requests_due",
        "enrolment_requests",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("status = 'waiting'"),
    )
    op.create_index(
        "ix_enrolment_requests_expiry",
        "enrolment_requests",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("status = 'waiting'"),
    )


def downgrade() -> None:
    op.drop_table("enrolment_requests")
    op.drop_index("ix_cooldowns_enrolment_id", table_name="cooldowns")
    op.drop_constraint(op.f("ck_cooldowns_lifted_with_a_reason"), "cooldowns", type_="check")
    for column in ("lift_reason", "lifted_by", "lifted_at", "written_at"):
        op.drop_column("cooldowns", column)
    op.drop_column("campaigns", "priority")
