"""Users, their sessions, and the audit log of what people did."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base

ROLES = ("adviser", "manager", "marketer", "admin")


class User(Base):
    """A person who signs in. Each has one role."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint(f"role IN {ROLES}", name="role"),
        Index("uq_users_email", text("lower(email)"), unique=True),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    email: Mapped[str]
    name: Mapped[str]
    role: Mapped[str]
    time_zone: Mapped[str] = mapped_column(server_default=text("'Asia/Kuala_Lumpur'"))
    password_hash: Mapped[str]
    demo: Mapped[bool] = mapped_column(server_default=text("false"))
    active: Mapped[bool] = mapped_column(server_default=text("true"))
    created_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))


class Session(Base):
    """One sign-in. The cookie holds a secret; only its hash is here. Real time."""

    __tablename__ = "sessions"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    csrf_secret: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    seen_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class SignInFailure(Base):
    """One refused sign-in, by name tried and by address: what the brake on guessing counts. Real time."""

    __tablename__ = "sign_in_failures"
    __table_args__ = (Index("ix_sign_in_failures_key_at", "key", "at"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    key: Mapped[str]
    at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))


class AuditEntry(Base):
    """What a person did, or was refused, and to what."""

    __tablename__ = "audit_log"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    user_id: Mapped[int | None]
    action: Mapped[str]
    subject_kind: Mapped[str | None]
    subject_id: Mapped[str | None]
    refused: Mapped[bool] = mapped_column(server_default=text("false"))
    data: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
