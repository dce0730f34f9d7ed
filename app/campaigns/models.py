"""Programs, campaigns, their immutable versions, and the enrolment: the only state record of a journey."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base

LIVE = "('nurturing','engaged','booked','attended','no_show')"
STAGES = (
    "nurturing",
    "engaged",
    "booked",
    "attended",
    "no_show",
    "closed",
    "exhausted",
    "opted_out",
    "exited",
)


class Program(Base):
    """An objective with its content."""

    __tablename__ = "programs"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]


class Campaign(Base):
    """A campaign of a program; what runs is one of its published versions."""

    __tablename__ = "campaigns"
    __table_args__ = (
        CheckConstraint(
            "NOT cooldown_exempt OR btrim(coalesce(cooldown_exempt_reason, '')) <> ''",
            name="cooldown_exempt_reason",
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    program_id: Mapped[int] = mapped_column(ForeignKey("programs.id"))
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    status: Mapped[str] = mapped_column(server_default=text("'active'"))  # active, paused, archived
    status_reason: Mapped[str | None]
    current_version_id: Mapped[int | None]
    priority: Mapped[int] = mapped_column(
        Integer, server_default=text("0")
    )  # among those who wait, highest first
    cooldown_exempt: Mapped[bool] = mapped_column(server_default=text("false"))
    cooldown_exempt_reason: Mapped[str | None]


class CampaignVersion(Base):
    """One published definition. Never updated: the database refuses it."""

    __tablename__ = "campaign_versions"
    __table_args__ = (UniqueConstraint("campaign_id", "number"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id"))
    number: Mapped[int] = mapped_column(Integer)
    definition: Mapped[dict[str, Any]]
    structure_hash: Mapped[str]
    published_at: Mapped[datetime]
    published_by: Mapped[int | None]


class Enrolment(Base):
    """One contact in one campaign. Nothing about the sequence lives anywhere else."""

    __tablename__ = "enrolments"
    __table_args__ = (
        CheckConstraint(f"stage IN {STAGES}", name="stage"),
        CheckConstraint("automation IN ('active','paused','held','completed')", name="automation"),
        CheckConstraint(f"(automation = 'completed') = (stage NOT IN {LIVE})", name="terminal"),
        UniqueConstraint("contact_id", "campaign_id", "generation"),
        UniqueConstraint("campaign_id", "ref"),
        Index("uq_enrolments_one_live", "contact_id", unique=True, postgresql_where=text(f"stage IN {LIVE}")),
        Index(
            "ix_enrolments_due",
            "sender_id",
            "next_run_at",
            "id",
            postgresql_where=text("automation = 'active' AND lock_token IS NULL"),
        ),
        Index(  # what falls due before a visit while a person has the lead becomes their task
            "ix_enrolments_visit_due",
            "next_run_at",
            postgresql_where=text("automation = 'paused' AND stage = 'booked' AND lock_token IS NULL"),
        ),
        Index("ix_enrolments_resume_at", "resume_at", postgresql_where=text("resume_at IS NOT NULL")),
        Index("ix_enrolments_campaign_id_stage", "campaign_id", "stage"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    campaign_id: Mapped[int]
    version_id: Mapped[int]
    generation: Mapped[int] = mapped_column(Integer)
    ref: Mapped[str]
    stage: Mapped[str]
    automation: Mapped[str]
    path: Mapped[str | None]
    step: Mapped[str | None]
    lap: Mapped[int] = mapped_column(Integer)
    wait_from: Mapped[datetime | None]
    next_run_at: Mapped[datetime | None]
    return_stage: Mapped[str | None]
    return_path: Mapped[str | None]
    return_step: Mapped[str | None]
    return_lap: Mapped[int | None] = mapped_column(Integer)
    held_from: Mapped[str | None]
    hold_ref: Mapped[str | None]
    resume_at: Mapped[datetime | None]
    pause_reason: Mapped[str | None]
    booking_id: Mapped[int | None]
    last_sent_at: Mapped[datetime | None]
    last_inbound_at: Mapped[datetime | None]
    first_reply_send_id: Mapped[int | None]
    first_booking_send_id: Mapped[int | None]
    sender_id: Mapped[int]
    adviser_id: Mapped[int | None]
    exit_reason: Mapped[str | None]
    lock_token: Mapped[str | None]
    lock_holder: Mapped[str | None]
    lock_expires_at: Mapped[datetime | None]
    ledger_seq: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    ledger_at: Mapped[datetime]  # of the last event: the ledger's time never runs back
    created_at: Mapped[datetime]


class EnrolmentRequest(Base):
    """A wish to enrol a contact who is busy elsewhere: it waits for its turn, and comes through the one door then.

    `not_before` is when the door is tried again; null while nobody can say (another campaign runs). `reason` says what
    it waits for, or how it ended. All but `not_before` and `reason` changes only under the contact's lock.
    """

    __tablename__ = "enrolment_requests"
    __table_args__ = (
        CheckConstraint("status IN ('waiting','admitted','refused','expired','withdrawn')", name="status"),
        CheckConstraint("(status = 'waiting') = (settled_at IS NULL)", name="settled"),
        CheckConstraint("status <> 'admitted' OR enrolment_id IS NOT NULL", name="admitted"),
        UniqueConstraint("campaign_id", "ref"),
        Index(
            "uq_enrolment_requests_waiting",
            "contact_id",
            "campaign_id",
            unique=True,
            postgresql_where=text("status = 'waiting'"),
        ),
        Index("ix_enrolment_requests_due", "not_before", postgresql_where=text("status = 'waiting'")),
        Index("ix_enrolment_requests_expiry", "expires_at", postgresql_where=text("status = 'waiting'")),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    campaign_id: Mapped[int]
    ref: Mapped[str]
    status: Mapped[str] = mapped_column(server_default=text("'waiting'"))
    reason: Mapped[str]
    priority: Mapped[int] = mapped_column(Integer)  # the campaign's at the asking
    asked_at: Mapped[datetime]
    asked_by: Mapped[str]
    not_before: Mapped[datetime | None]
    expires_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    settled_by: Mapped[str | None]
    enrolment_id: Mapped[int | None]
