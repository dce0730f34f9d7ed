"""People: identities, consent, suppressions, cool-downs, and the long jobs that bring people in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base

IDENTITY_KINDS = ("phone", "email", "external", "whatsapp_user")
CHANNELS = ("whatsapp", "sms", "email")
RUN_OPEN = "('waiting','running','paused','needs_review')"


class Contact(Base):
    """A person. A lead is a contact who is enrolled or owned by an adviser."""

    __tablename__ = "contacts"
    __table_args__ = (
        Index("ix_contacts_merged_into", "merged_into", postgresql_where=text("merged_into IS NOT NULL")),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    name: Mapped[str | None]
    language: Mapped[str]
    time_zone: Mapped[str | None]
    source: Mapped[str | None]
    attributes: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    owner_id: Mapped[int | None]  # the adviser who last owned this person: routing's sticky owner
    merged_into: Mapped[int | None] = mapped_column(ForeignKey("contacts.id"))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class ContactIdentity(Base):
    """One way to recognise a person. `phone` is E.164, `email` is casefolded; the value is what was validated."""

    __tablename__ = "contact_identities"
    __table_args__ = (
        UniqueConstraint("kind", "value"),
        CheckConstraint(f"kind IN {IDENTITY_KINDS}", name="kind"),
        Index("ix_contact_identities_contact_id", "contact_id", "kind", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    kind: Mapped[str]
    value: Mapped[str]
    created_at: Mapped[datetime]


class Consent(Base):
    """The latest word of a person on one channel; no row means unknown, which is no consent."""

    __tablename__ = "consents"
    __table_args__ = (CheckConstraint(f"channel IN {CHANNELS}", name="channel"),)

    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"), primary_key=True)
    channel: Mapped[str] = mapped_column(primary_key=True)
    granted: Mapped[bool]
    source: Mapped[str]
    at: Mapped[datetime]


class Suppression(Base):
    """A channel, or all of them, closed for a person until it is lifted. START lifts only what STOP closed."""

    __tablename__ = "suppressions"
    __table_args__ = (
        CheckConstraint("channel IN ('whatsapp','sms','email','all')", name="channel"),
        Index(
            "uq_suppressions_standing",
            "contact_id",
            "channel",
            "reason",
            unique=True,
            postgresql_where=text("lifted_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    channel: Mapped[str]
    reason: Mapped[str]  # stop_word, provider_block, unreachable, complaint, operator
    source: Mapped[str]
    created_at: Mapped[datetime]
    lifted_at: Mapped[datetime | None]
    lifted_by: Mapped[str | None]
    lift_reason: Mapped[str | None]


class Cooldown(Base):
    """A rest period of a person across all campaigns, half-open [starts_at, ends_at), over at once when it is lifted.

    `written_at` is set where it was written later than it began (a backfill): nobody could have kept it before.
    """

    __tablename__ = "cooldowns"
    __table_args__ = (
        CheckConstraint("ends_at > starts_at", name="forward"),
        CheckConstraint(
            "lifted_at IS NULL OR (lifted_by IS NOT NULL AND btrim(coalesce(lift_reason, '')) <> '')",
            name="lifted_with_a_reason",
        ),
        Index("ix_cooldowns_enrolment_id", "enrolment_id"),
        Index("ix_cooldowns_contact_id_ends_at", "contact_id", "ends_at"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    reason: Mapped[str]
    enrolment_id: Mapped[int | None]
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    created_by: Mapped[str]
    written_at: Mapped[datetime | None]
    lifted_at: Mapped[datetime | None]
    lifted_by: Mapped[str | None]
    lift_reason: Mapped[str | None]


class Run(Base):
    """A long job with a durable position; a batch's effects and the new position commit together."""

    __tablename__ = "runs"
    __table_args__ = (
        CheckConstraint(
            "status IN ('waiting','running','paused','needs_review','done','failed','cancelled')",
            name="status",
        ),
        Index(
            "uq_runs_open_source",
            "kind",
            "source",
            unique=True,
            postgresql_where=text(f"status IN {RUN_OPEN}"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    kind: Mapped[str]
    status: Mapped[str]
    source: Mapped[str]  # content hash + mapping: the same source is the same work
    title: Mapped[str]
    file_hash: Mapped[str | None] = mapped_column(ForeignKey("run_files.content_hash"))
    params: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    position: Mapped[int] = mapped_column(server_default=text("0"))
    total: Mapped[int | None]
    version: Mapped[int] = mapped_column(server_default=text("0"))
    counts: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    problem: Mapped[str | None]
    lease_token: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    created_by: Mapped[int | None]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    progressed_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class RunFile(Base):
    """The bytes a run reads, kept in the database so that any worker can go on after another died."""

    __tablename__ = "run_files"

    content_hash: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]


class RunRow(Base):
    """What became of one row of a run's source."""

    __tablename__ = "run_rows"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    row: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    line: Mapped[int | None]
    outcome: Mapped[str]
    contact_id: Mapped[int | None]
    enrolment: Mapped[str | None]  # enrolled, touched, or the reason of the refusal
    reason: Mapped[str | None]
    warnings: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))


class RunError(Base):
    """Something that stopped a run or one of its batches, in words."""

    __tablename__ = "run_errors"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), index=True)
    row: Mapped[int | None]
    message: Mapped[str]
    at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
