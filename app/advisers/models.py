"""Advisers, handoffs and their clock, assignments with their reasons, and tasks for people."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base

OUTCOMES = ("booked", "won", "lost", "not_now", "resumed", "opted_out", "merged", "no_action")


class AdviserProfile(Base):
    """What routing knows of an adviser. Load is never stored: it is the count of handoffs not closed."""

    __tablename__ = "adviser_profiles"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    state: Mapped[str] = mapped_column(server_default=text("'ready'"))  # invited, training, ready, away, left
    taking_leads: Mapped[bool] = mapped_column(server_default=text("true"))
    capacity: Mapped[int] = mapped_column(Integer, server_default=text("40"))
    languages: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    skills: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    team: Mapped[str] = mapped_column(server_default=text("'main'"))
    last_assigned_at: Mapped[datetime | None]


class Handoff(Base):
    """The moment a person owns the lead: open → accepted → answered → closed. Owner null = the pool."""

    __tablename__ = "handoffs"
    __table_args__ = (
        CheckConstraint("status IN ('open','accepted','answered','closed')", name="status"),
        CheckConstraint(f"outcome IN {OUTCOMES}", name="outcome"),
        CheckConstraint("(status = 'closed') = (closed_at IS NOT NULL)", name="closed_at"),
        CheckConstraint("status = 'closed' OR due_at IS NOT NULL OR waiting_since IS NOT NULL", name="clock"),
        Index("uq_handoffs_one_open", "contact_id", unique=True, postgresql_where=text("status <> 'closed'")),
        Index("ix_handoffs_owner", "owner_id", "due_at", "id", postgresql_where=text("status <> 'closed'")),
        Index("ix_handoffs_due", "due_at", "id", postgresql_where=text("status <> 'closed'")),
        Index("ix_handoffs_contact_id", "contact_id", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int]
    enrolment_id: Mapped[int | None]
    status: Mapped[str]
    owner_id: Mapped[int | None]
    team: Mapped[str] = mapped_column(server_default=text("'main'"))
    reason: Mapped[str]  # replied, may_want_to_stop, unknown_sender, cancelled, …
    trigger_send_id: Mapped[int | None]
    opened_at: Mapped[datetime]
    clock_started_at: Mapped[datetime]  # of the running clock: the lead's first unanswered message
    due_at: Mapped[datetime | None]
    warn_at: Mapped[datetime | None]
    warned_at: Mapped[datetime | None]
    breached_at: Mapped[datetime | None]
    waiting_since: Mapped[datetime | None]  # the ball is with the lead
    accepted_at: Mapped[datetime | None]
    first_answered_at: Mapped[datetime | None]
    answered_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    not_now_until: Mapped[datetime | None]


class Assignment(Base):
    """Who was given a handoff, and why: the candidates as routing saw them, the capacity seen at that moment."""

    __tablename__ = "assignments"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    handoff_id: Mapped[int] = mapped_column(index=True)
    contact_id: Mapped[int]
    owner_id: Mapped[int | None]
    load_seen: Mapped[int | None] = mapped_column(Integer)
    capacity_seen: Mapped[int | None] = mapped_column(Integer)
    override_by: Mapped[str | None]
    override_reason: Mapped[str | None]
    reason: Mapped[str]
    candidates: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    actor: Mapped[str]
    at: Mapped[datetime]


class Task(Base):
    """A thing for a person to do, with a due time."""

    __tablename__ = "tasks"
    __table_args__ = (
        Index(
            "uq_tasks_open_subject",
            "kind",
            "subject",
            unique=True,
            postgresql_where=text("done_at IS NULL"),
        ),
        Index("ix_tasks_open", "owner_id", "due_at", postgresql_where=text("done_at IS NULL")),
        Index("ix_tasks_contact_id", "contact_id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    kind: Mapped[str]  # review, follow_up, visit_reminder, …
    subject: Mapped[str]  # what it is about, e.g. `send:12`: one open task for each
    contact_id: Mapped[int | None]
    enrolment_id: Mapped[int | None]
    owner_id: Mapped[int | None]
    title: Mapped[str]
    data: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    due_at: Mapped[datetime]
    created_at: Mapped[datetime]
    done_at: Mapped[datetime | None]
    done_by: Mapped[str | None]
    outcome: Mapped[str | None]
