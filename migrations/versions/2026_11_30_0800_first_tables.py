"""Every table of the first thread: people, campaigns, sends, signals, handoffs, accounts, ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import UserDefinedType

revision = "20261130_0800"
down_revision = None
branch_labels = None
depends_on = None


class Xid8(UserDefinedType[int]):
    """PostgreSQL's 64-bit transaction id."""

    def get_col_spec(self, **_: object) -> str:
        return "xid8"


def upgrade() -> None:
    op.create_table(
        "assignments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("handoff_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=True),
        sa.Column("load_seen", sa.Integer(), nullable=True),
        sa.Column("capacity_seen", sa.Integer(), nullable=True),
        sa.Column("override_by", sa.Text(), nullable=True),
        sa.Column("override_reason", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column(
            "candidates",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
    )
    op.create_index(op.f("ix_assignments_handoff_id"), "assignments", ["handoff_id"], unique=False)
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=True),
        sa.Column("subject_id", sa.Text(), nullable=True),
        sa.Column("refused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "data", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_table(
        "contacts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column(
            "attributes",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("owner_id", sa.BigInteger(), nullable=True),
        sa.Column("merged_into", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["merged_into"], ["contacts.id"], name=op.f("fk_contacts_merged_into")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contacts")),
    )
    op.create_index(
        "ix_contacts_merged_into",
        "contacts",
        ["merged_into"],
        unique=False,
        postgresql_where=sa.text("merged_into IS NOT NULL"),
    )
    op.create_table(
        "demo_clock",
        sa.Column("id", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("real_base", sa.DateTime(timezone=True), nullable=False),
        sa.Column("demo_base", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rate", sa.Double(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_demo_clock_one_row")),
        sa.CheckConstraint("rate >= 0", name=op.f("ck_demo_clock_rate_forward")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_demo_clock")),
    )
    op.create_table(
        "handoffs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=True),
        sa.Column("team", sa.Text(), server_default=sa.text("'main'"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("trigger_send_id", sa.BigInteger(), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("clock_started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("warn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("warned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("breached_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("waiting_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("not_now_until", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'closed') = (closed_at IS NOT NULL)", name=op.f("ck_handoffs_closed_at")
        ),
        sa.CheckConstraint(
            "outcome IN ('booked', 'won', 'lost', 'not_now', 'resumed', 'opted_out', 'merged', 'no_action')",
            name=op.f("ck_handoffs_outcome"),
        ),
        sa.CheckConstraint(
            "status = 'closed' OR due_at IS NOT NULL OR waiting_since IS NOT NULL",
            name=op.f("ck_handoffs_clock"),
        ),
        sa.CheckConstraint(
            "status IN ('open','accepted','answered','closed')", name=op.f("ck_handoffs_status")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_handoffs")),
    )
    op.create_index("ix_handoffs_contact_id", "handoffs", ["contact_id", "id"], unique=False)
    op.create_index(
        "ix_handoffs_due",
        "handoffs",
        ["due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status <> 'closed'"),
    )
    op.create_index(
        "ix_handoffs_owner",
        "handoffs",
        ["owner_id", "due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status <> 'closed'"),
    )
    op.create_index(
        "uq_handoffs_one_open",
        "handoffs",
        ["contact_id"],
        unique=True,
        postgresql_where=sa.text("status <> 'closed'"),
    )
    op.create_table(
        "job_leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_run_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_job_leases")),
    )
    op.create_table(
        "kill_switches",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_kill_switches")),
    )
    op.create_table(
        "ledger",
        sa.Column("contact_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("xid", Xid8(), server_default=sa.text("pg_current_xact_id()"), nullable=False),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "recorded_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column(
            "data", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column(
            "set", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.PrimaryKeyConstraint("contact_id", "id", name=op.f("pk_ledger")),
        sa.UniqueConstraint(
            "contact_id", "enrolment_id", "seq", name=op.f("uq_ledger_contact_id_enrolment_id_seq")
        ),
        postgresql_partition_by="HASH (contact_id)",
    )
    op.create_index("ix_ledger_enrolment_id", "ledger", ["enrolment_id", "seq"], unique=False)
    op.create_index("ix_ledger_xid_id", "ledger", ["xid", "id"], unique=False)
    op.create_table(
        "ledger_facts",
        sa.Column("contact_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ledger_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("contact_id", "ledger_id", "name", name=op.f("pk_ledger_facts")),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column(
            "media", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False
        ),
        sa.Column(
            "extra", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("send_id", sa.BigInteger(), nullable=True),
        sa.Column("signal_id", sa.BigInteger(), nullable=True),
        sa.Column("replied_to", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("send_id", name=op.f("uq_messages_send_id")),
        sa.UniqueConstraint("signal_id", name=op.f("uq_messages_signal_id")),
    )
    op.create_index("ix_messages_contact_id_at", "messages", ["contact_id", "at", "id"], unique=False)
    op.create_table(
        "programs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_programs")),
        sa.UniqueConstraint("key", name=op.f("uq_programs_key")),
    )
    op.create_table(
        "run_files",
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("content_hash", name=op.f("pk_run_files")),
    )
    op.create_table(
        "send_attempts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("send_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("lease_token", sa.Text(), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("provider_message_id", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_text", sa.Text(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("looks", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "outcome IN ('accepted', 'rejected', 'not_sent', 'unknown', 'failed', 'ruled_not_sent')",
            name=op.f("ck_send_attempts_outcome"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_send_attempts")),
        sa.UniqueConstraint("lease_token", name=op.f("uq_send_attempts_lease_token")),
        sa.UniqueConstraint(
            "provider", "provider_message_id", name=op.f("uq_send_attempts_provider_provider_message_id")
        ),
        sa.UniqueConstraint("send_id", "n", name=op.f("uq_send_attempts_send_id_n")),
    )
    op.create_index("ix_send_attempts_address", "send_attempts", ["address"], unique=False)
    op.create_index(
        "ix_send_attempts_open",
        "send_attempts",
        ["lease_expires_at"],
        unique=False,
        postgresql_where=sa.text("outcome IS NULL"),
    )
    op.create_table(
        "senders",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("messaging_service_sid", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'active'"), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("rate_per_second", sa.Double(), server_default=sa.text("20"), nullable=False),
        sa.Column("daily_cap", sa.Integer(), server_default=sa.text("10000"), nullable=False),
        sa.Column("time_zone", sa.Text(), server_default=sa.text("'Asia/Kuala_Lumpur'"), nullable=False),
        sa.Column(
            "next_free_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_senders")),
        sa.UniqueConstraint("key", name=op.f("uq_senders_key")),
    )
    op.create_table(
        "sends",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.Column("campaign_id", sa.BigInteger(), nullable=True),
        sa.Column("version_id", sa.BigInteger(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=True),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("lap", sa.BigInteger(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.BigInteger(), nullable=True),
        sa.Column("template_key", sa.Text(), nullable=True),
        sa.Column(
            "content", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column(
            "not_before",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("verdict", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("author_id", sa.BigInteger(), nullable=True),
        sa.Column("conversation_version", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('campaign','adviser','system')", name=op.f("ck_sends_kind")),
        sa.CheckConstraint(
            "status IN ('waiting', 'queued', 'sending', 'accepted', 'sent', 'delivered', 'read', 'failed', 'undelivered', 'skipped', 'superseded', 'unknown', 'needs_review')",
            name=op.f("ck_sends_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sends")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_sends_idempotency_key")),
    )
    op.create_index("ix_sends_contact_id", "sends", ["contact_id"], unique=False)
    op.create_index("ix_sends_enrolment_id", "sends", ["enrolment_id"], unique=False)
    op.create_index(
        "ix_sends_open",
        "sends",
        ["enrolment_id"],
        unique=False,
        postgresql_where=sa.text("status IN ('waiting','queued','sending')"),
    )
    op.create_index(
        "ix_sends_queued",
        "sends",
        ["not_before", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'queued'"),
    )
    op.create_index(
        "ix_sends_unresolved",
        "sends",
        ["status_at"],
        unique=False,
        postgresql_where=sa.text("status IN ('sending','unknown','needs_review')"),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("updated_by", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_settings")),
    )
    op.create_table(
        "sign_in_failures",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_failures")),
    )
    op.create_index("ix_sign_in_failures_key_at", "sign_in_failures", ["key", "at"], unique=False)
    op.create_table(
        "signals",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("attempt_id", sa.Text(), nullable=True),
        sa.Column("provider_message_id", sa.Text(), nullable=True),
        sa.Column("payload", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("contact_id", sa.BigInteger(), nullable=True),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.Column("human", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("was_active", sa.Boolean(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("processed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("processed_xid", Xid8(), nullable=True),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "not_before",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signals")),
        sa.UniqueConstraint("source", "external_id", name=op.f("uq_signals_source_external_id")),
    )
    op.create_index("ix_signals_contact_id", "signals", ["contact_id", "id"], unique=False)
    op.create_index(
        "ix_signals_unprocessed",
        "signals",
        ["id"],
        unique=False,
        postgresql_where=sa.text("processed_at IS NULL"),
    )
    op.create_index(
        "ix_signals_unprocessed_address",
        "signals",
        ["address"],
        unique=False,
        postgresql_where=sa.text("processed_at IS NULL"),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=True),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.Column("owner_id", sa.BigInteger(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column(
            "data", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("done_by", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index("ix_tasks_contact_id", "tasks", ["contact_id"], unique=False)
    op.create_index(
        "ix_tasks_open",
        "tasks",
        ["owner_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("done_at IS NULL"),
    )
    op.create_index(
        "uq_tasks_open_subject",
        "tasks",
        ["kind", "subject"],
        unique=True,
        postgresql_where=sa.text("done_at IS NULL"),
    )
    op.create_table(
        "templates",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("moment", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), server_default=sa.text("'MARKETING'"), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column(
            "variables",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.Column(
            "buttons", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False
        ),
        sa.Column("content_sid", sa.Text(), nullable=True),
        sa.Column("approval", sa.Text(), server_default=sa.text("'unsubmitted'"), nullable=False),
        sa.Column("approval_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rejection_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_templates")),
        sa.UniqueConstraint("key", "channel", "language", name=op.f("uq_templates_key_channel_language")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), server_default=sa.text("'Asia/Kuala_Lumpur'"), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("demo", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.CheckConstraint("role IN ('adviser', 'manager', 'marketer', 'admin')", name=op.f("ck_users_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
    )
    op.create_index("uq_users_email", "users", [sa.literal_column("lower(email)")], unique=True)
    op.create_table(
        "adviser_profiles",
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'ready'"), nullable=False),
        sa.Column("taking_leads", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("capacity", sa.Integer(), server_default=sa.text("40"), nullable=False),
        sa.Column(
            "languages",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.Column(
            "skills", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False
        ),
        sa.Column("team", sa.Text(), server_default=sa.text("'main'"), nullable=False),
        sa.Column("last_assigned_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_adviser_profiles_user_id")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_adviser_profiles")),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("program_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'active'"), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("current_version_id", sa.BigInteger(), nullable=True),
        sa.Column("cooldown_exempt", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("cooldown_exempt_reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "NOT cooldown_exempt OR btrim(coalesce(cooldown_exempt_reason, '')) <> ''",
            name=op.f("ck_campaigns_cooldown_exempt_reason"),
        ),
        sa.ForeignKeyConstraint(["program_id"], ["programs.id"], name=op.f("fk_campaigns_program_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
        sa.UniqueConstraint("key", name=op.f("uq_campaigns_key")),
    )
    op.create_table(
        "consents",
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("channel IN ('whatsapp', 'sms', 'email')", name=op.f("ck_consents_channel")),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("fk_consents_contact_id")),
        sa.PrimaryKeyConstraint("contact_id", "channel", name=op.f("pk_consents")),
    )
    op.create_table(
        "contact_identities",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('phone', 'email', 'external', 'whatsapp_user')", name=op.f("ck_contact_identities_kind")
        ),
        sa.ForeignKeyConstraint(
            ["contact_id"], ["contacts.id"], name=op.f("fk_contact_identities_contact_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contact_identities")),
        sa.UniqueConstraint("kind", "value", name=op.f("uq_contact_identities_kind_value")),
    )
    op.create_index(
        "ix_contact_identities_contact_id", "contact_identities", ["contact_id", "kind", "id"], unique=False
    )
    op.create_table(
        "conversations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("unread", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_message_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_direction", sa.Text(), nullable=True),
        sa.Column("last_text", sa.Text(), nullable=True),
        sa.Column("last_kind", sa.Text(), nullable=True),
        sa.Column("last_inbound_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("whatsapp_inbound_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("whatsapp_sender_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("fk_conversations_contact_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
        sa.UniqueConstraint("contact_id", name=op.f("uq_conversations_contact_id")),
    )
    op.create_index(
        "ix_conversations_last_message_at", "conversations", ["last_message_at", "id"], unique=False
    )
    op.create_table(
        "cooldowns",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("enrolment_id", sa.BigInteger(), nullable=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.CheckConstraint("ends_at > starts_at", name=op.f("ck_cooldowns_forward")),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("fk_cooldowns_contact_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cooldowns")),
    )
    op.create_index("ix_cooldowns_contact_id_ends_at", "cooldowns", ["contact_id", "ends_at"], unique=False)
    op.create_table(
        "enrolments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("automation", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("lap", sa.Integer(), nullable=False),
        sa.Column("wait_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("return_stage", sa.Text(), nullable=True),
        sa.Column("return_path", sa.Text(), nullable=True),
        sa.Column("return_step", sa.Text(), nullable=True),
        sa.Column("return_lap", sa.Integer(), nullable=True),
        sa.Column("held_from", sa.Text(), nullable=True),
        sa.Column("hold_ref", sa.Text(), nullable=True),
        sa.Column("resume_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pause_reason", sa.Text(), nullable=True),
        sa.Column("booking_id", sa.BigInteger(), nullable=True),
        sa.Column("last_sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_inbound_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_reply_send_id", sa.BigInteger(), nullable=True),
        sa.Column("first_booking_send_id", sa.BigInteger(), nullable=True),
        sa.Column("sender_id", sa.BigInteger(), nullable=False),
        sa.Column("adviser_id", sa.BigInteger(), nullable=True),
        sa.Column("exit_reason", sa.Text(), nullable=True),
        sa.Column("lock_token", sa.Text(), nullable=True),
        sa.Column("lock_holder", sa.Text(), nullable=True),
        sa.Column("lock_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ledger_seq", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ledger_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(automation = 'completed') = (stage NOT IN ('nurturing','engaged','booked','attended','no_show'))",
            name=op.f("ck_enrolments_terminal"),
        ),
        sa.CheckConstraint(
            "automation IN ('active','paused','held','completed')", name=op.f("ck_enrolments_automation")
        ),
        sa.CheckConstraint(
            "stage IN ('nurturing', 'engaged', 'booked', 'attended', 'no_show', 'closed', 'exhausted', 'opted_out', 'exited')",
            name=op.f("ck_enrolments_stage"),
        ),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("fk_enrolments_contact_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_enrolments")),
        sa.UniqueConstraint("campaign_id", "ref", name=op.f("uq_enrolments_campaign_id_ref")),
        sa.UniqueConstraint(
            "contact_id",
            "campaign_id",
            "generation",
            name=op.f("uq_enrolments_contact_id_campaign_id_generation"),
        ),
    )
    op.create_index("ix_enrolments_campaign_id_stage", "enrolments", ["campaign_id", "stage"], unique=False)
    op.create_index(
        "ix_enrolments_due",
        "enrolments",
        ["sender_id", "next_run_at", "id"],
        unique=False,
        postgresql_where=sa.text("automation = 'active' AND lock_token IS NULL"),
    )
    op.create_index(
        "ix_enrolments_resume_at",
        "enrolments",
        ["resume_at"],
        unique=False,
        postgresql_where=sa.text("resume_at IS NOT NULL"),
    )
    op.create_index(
        "uq_enrolments_one_live",
        "enrolments",
        ["contact_id"],
        unique=True,
        postgresql_where=sa.text("stage IN ('nurturing','engaged','booked','attended','no_show')"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("file_hash", sa.Text(), nullable=True),
        sa.Column(
            "params", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "counts", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.Text(), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("progressed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('waiting','running','paused','needs_review','done','failed','cancelled')",
            name=op.f("ck_runs_status"),
        ),
        sa.ForeignKeyConstraint(["file_hash"], ["run_files.content_hash"], name=op.f("fk_runs_file_hash")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(
        "uq_runs_open_source",
        "runs",
        ["kind", "source"],
        unique=True,
        postgresql_where=sa.text("status IN ('waiting','running','paused','needs_review')"),
    )
    op.create_table(
        "sender_days",
        sa.Column("sender_id", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("reserved", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["sender_id"], ["senders.id"], name=op.f("fk_sender_days_sender_id")),
        sa.PrimaryKeyConstraint("sender_id", "day", name=op.f("pk_sender_days")),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("csrf_secret", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column(
            "seen_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)
    op.create_table(
        "suppressions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lifted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lifted_by", sa.Text(), nullable=True),
        sa.Column("lift_reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "channel IN ('whatsapp','sms','email','all')", name=op.f("ck_suppressions_channel")
        ),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("fk_suppressions_contact_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suppressions")),
    )
    op.create_index(
        "uq_suppressions_standing",
        "suppressions",
        ["contact_id", "channel", "reason"],
        unique=True,
        postgresql_where=sa.text("lifted_at IS NULL"),
    )
    op.create_table(
        "campaign_versions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("definition", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("structure_hash", sa.Text(), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("published_by", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_campaign_versions_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign_versions")),
        sa.UniqueConstraint("campaign_id", "number", name=op.f("uq_campaign_versions_campaign_id_number")),
    )
    op.create_table(
        "run_errors",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("row", sa.BigInteger(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_errors_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_errors")),
    )
    op.create_index(op.f("ix_run_errors_run_id"), "run_errors", ["run_id"], unique=False)
    op.create_table(
        "run_rows",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("row", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=True),
        sa.Column("enrolment", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column(
            "warnings",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_rows_run_id")),
        sa.PrimaryKeyConstraint("run_id", "row", name=op.f("pk_run_rows")),
    )


def downgrade() -> None:
    op.drop_table("run_rows")
    op.drop_index(op.f("ix_run_errors_run_id"), table_name="run_errors")
    op.drop_table("run_errors")
    op.drop_table("campaign_versions")
    op.drop_index(
        "uq_suppressions_standing", table_name="suppressions", postgresql_where=sa.text("lifted_at IS NULL")
    )
    op.drop_table("suppressions")
    op.drop_index(op.f("ix_sessions_user_id"), table_name="sessions")
    op.drop_table("sessions")
    op.drop_table("sender_days")
    op.drop_index(
        "uq_runs_open_source",
        table_name="runs",
        postgresql_where=sa.text("status IN ('waiting','running','paused','needs_review')"),
    )
    op.drop_table("runs")
    op.drop_index(
        "uq_enrolments_one_live",
        table_name="enrolments",
        postgresql_where=sa.text("stage IN ('nurturing','engaged','booked','attended','no_show')"),
    )
    op.drop_index(
        "ix_enrolments_resume_at", table_name="enrolments", postgresql_where=sa.text("resume_at IS NOT NULL")
    )
    op.drop_index(
        "ix_enrolments_due",
        table_name="enrolments",
        postgresql_where=sa.text("automation = 'active' AND lock_token IS NULL"),
    )
    op.drop_index("ix_enrolments_campaign_id_stage", table_name="enrolments")
    op.drop_table("enrolments")
    op.drop_index("ix_cooldowns_contact_id_ends_at", table_name="cooldowns")
    op.drop_table("cooldowns")
    op.drop_index("ix_conversations_last_message_at", table_name="conversations")
    op.drop_table("conversations")
    op.drop_index("ix_contact_identities_contact_id", table_name="contact_identities")
    op.drop_table("contact_identities")
    op.drop_table("consents")
    op.drop_table("campaigns")
    op.drop_table("adviser_profiles")
    op.drop_index("uq_users_email", table_name="users")
    op.drop_table("users")
    op.drop_table("templates")
    op.drop_index("uq_tasks_open_subject", table_name="tasks", postgresql_where=sa.text("done_at IS NULL"))
    op.drop_index("ix_tasks_open", table_name="tasks", postgresql_where=sa.text("done_at IS NULL"))
    op.drop_index("ix_tasks_contact_id", table_name="tasks")
    op.drop_table("tasks")
    op.drop_index(
        "ix_signals_unprocessed_address",
        table_name="signals",
        postgresql_where=sa.text("processed_at IS NULL"),
    )
    op.drop_index(
        "ix_signals_unprocessed", table_name="signals", postgresql_where=sa.text("processed_at IS NULL")
    )
    op.drop_index("ix_signals_contact_id", table_name="signals")
    op.drop_table("signals")
    op.drop_index("ix_sign_in_failures_key_at", table_name="sign_in_failures")
    op.drop_table("sign_in_failures")
    op.drop_table("settings")
    op.drop_index(
        "ix_sends_unresolved",
        table_name="sends",
        postgresql_where=sa.text("status IN ('sending','unknown','needs_review')"),
    )
    op.drop_index("ix_sends_queued", table_name="sends", postgresql_where=sa.text("status = 'queued'"))
    op.drop_index(
        "ix_sends_open",
        table_name="sends",
        postgresql_where=sa.text("status IN ('waiting','queued','sending')"),
    )
    op.drop_index("ix_sends_enrolment_id", table_name="sends")
    op.drop_index("ix_sends_contact_id", table_name="sends")
    op.drop_table("sends")
    op.drop_table("senders")
    op.drop_index(
        "ix_send_attempts_open", table_name="send_attempts", postgresql_where=sa.text("outcome IS NULL")
    )
    op.drop_index("ix_send_attempts_address", table_name="send_attempts")
    op.drop_table("send_attempts")
    op.drop_table("run_files")
    op.drop_table("programs")
    op.drop_index("ix_messages_contact_id_at", table_name="messages")
    op.drop_table("messages")
    op.drop_table("ledger_facts")
    op.drop_index("ix_ledger_xid_id", table_name="ledger")
    op.drop_index("ix_ledger_enrolment_id", table_name="ledger")
    op.drop_table("ledger")
    op.drop_table("kill_switches")
    op.drop_table("job_leases")
    op.drop_index(
        "uq_handoffs_one_open", table_name="handoffs", postgresql_where=sa.text("status <> 'closed'")
    )
    op.drop_index("ix_handoffs_owner", table_name="handoffs", postgresql_where=sa.text("status <> 'closed'"))
    op.drop_index("ix_handoffs_due", table_name="handoffs", postgresql_where=sa.text("status <> 'closed'"))
    op.drop_index("ix_handoffs_contact_id", table_name="handoffs")
    op.drop_table("handoffs")
    op.drop_table("demo_clock")
    op.drop_index(
        "ix_contacts_merged_into", table_name="contacts", postgresql_where=sa.text("merged_into IS NOT NULL")
    )
    op.drop_table("contacts")
    op.drop_table("audit_log")
    op.drop_index(op.f("ix_assignments_handoff_id"), table_name="assignments")
    op.drop_table("assignments")
