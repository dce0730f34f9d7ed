"""Users, sessions, failed tries and the audit log as rows. Every moment here is the database's own (real
time).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.exc import IntegrityError

from app.accounts.domain import (
    BRAKE_WINDOW,
    SEEN_EVERY,
    SESSION_IDLE,
    SESSION_LIFE,
    Brake,
    EmailTaken,
)
from app.db.session import UnitOfWork
from app.kernel.roles import Role


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is needed to check a sign-in."""

    user_id: int
    password_hash: str


async def find_credentials(uow: UnitOfWork, *, email: str) -> Credentials | None:
    """Return the credentials of an active person by e-mail (any case), or None."""
    row = (
        await uow.execute(
            "SELECT id, password_hash FROM users WHERE lower(email) = lower(:email) AND active",
            {"email": email},
        )
    ).one_or_none()
    return Credentials(row.id, row.password_hash) if row else None


async def find_demo_person(uow: UnitOfWork, *, email: str) -> int | None:
    """Return the id of an active demo person by e-mail, or None."""
    found: int | None = (
        await uow.execute(
            "SELECT id FROM users WHERE lower(email) = lower(:email) AND active AND demo", {"email": email}
        )
    ).scalar_one_or_none()
    return found


async def insert_user(
    uow: UnitOfWork,
    *,
    email: str,
    name: str,
    role: Role,
    password_hash: str,
    time_zone: str,
    demo: bool,
) -> int:
    """Store a person and return their id. Raises `EmailTaken`; the transaction is then over."""
    try:
        result = await uow.execute(
            "INSERT INTO users (email, name, role, password_hash, time_zone, demo) "
            "VALUES (:email, :name, :role, :password_hash, :time_zone, :demo) RETURNING id",
            {
                "email": email,
                "name": name,
                "role": role.value,
                "password_hash": password_hash,
                "time_zone": time_zone,
                "demo": demo,
            },
        )
    except IntegrityError as error:
        if "uq_users_email" in str(error.orig):
            raise EmailTaken from None
        raise
    return int(result.scalar_one())


async def replace_hash(uow: UnitOfWork, *, user_id: int, old: str, new: str) -> None:
    """Store a hash made with newer parameters, unless the password was changed meanwhile."""
    await uow.execute(
        "UPDATE users SET password_hash = :new WHERE id = :user_id AND password_hash = :old",
        {"user_id": user_id, "old": old, "new": new},
    )


async def insert_session(uow: UnitOfWork, *, token_hash: str, user_id: int, csrf_secret: str) -> None:
    """Store a new session, which ends `SESSION_IDLE` from now unless it is used."""
    await uow.execute(
        "INSERT INTO sessions (token_hash, user_id, csrf_secret, expires_at) "
        "VALUES (:token_hash, :user_id, :csrf_secret, clock_timestamp() + CAST(:idle AS interval))",
        {"token_hash": token_hash, "user_id": user_id, "csrf_secret": csrf_secret, "idle": SESSION_IDLE},
    )


async def touch_session(uow: UnitOfWork, *, token_hash: str) -> None:
    """Write down that a session is in use; its end moves on, never past `SESSION_LIFE` after the sign-in."""
    await uow.execute(
        "UPDATE sessions SET seen_at = clock_timestamp(), "
        "expires_at = least(created_at + CAST(:life AS interval), "
        "clock_timestamp() + CAST(:idle AS interval)) "
        "WHERE token_hash = :token_hash AND ended_at IS NULL AND expires_at > clock_timestamp() "
        "AND seen_at < clock_timestamp() - CAST(:every AS interval)",
        {"token_hash": token_hash, "life": SESSION_LIFE, "idle": SESSION_IDLE, "every": SEEN_EVERY},
    )


async def end_session(uow: UnitOfWork, *, token_hash: str) -> int | None:
    """End one session; return whose it was, or None if it had ended."""
    ended: int | None = (
        await uow.execute(
            "UPDATE sessions SET ended_at = clock_timestamp() "
            "WHERE token_hash = :token_hash AND ended_at IS NULL RETURNING user_id",
            {"token_hash": token_hash},
        )
    ).scalar_one_or_none()
    return ended


async def lock_brakes(uow: UnitOfWork, brakes: Sequence[Brake]) -> None:
    """Let one try at a time count against a name or an address, so that a burst cannot slip through."""
    for brake in brakes:
        await uow.execute("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))", {"key": brake.key})


async def recent_failures(uow: UnitOfWork, brake: Brake) -> tuple[list[datetime], datetime]:
    """Return the failures of the brake's window, oldest first, and the present (real) time."""
    now: datetime = (await uow.execute("SELECT clock_timestamp()")).scalar_one()
    rows = await uow.execute(
        "SELECT at FROM sign_in_failures WHERE key = :key AND at > :since ORDER BY at",
        {"key": brake.key, "since": now - BRAKE_WINDOW},
    )
    return list(rows.scalars()), now


async def insert_failure(uow: UnitOfWork, brake: Brake) -> int:
    """Count one failure and return its id, by which it can be taken back."""
    result = await uow.execute(
        "INSERT INTO sign_in_failures (key) VALUES (:key) RETURNING id", {"key": brake.key}
    )
    return int(result.scalar_one())


async def forget_failures(uow: UnitOfWork, *, ids: Sequence[int], keys: Sequence[str]) -> None:
    """Take back these failures and all of these names; drop what no brake looks at any more."""
    await uow.execute(
        "DELETE FROM sign_in_failures WHERE id = ANY(:ids) OR key = ANY(:keys) "
        "OR at < clock_timestamp() - CAST(:window AS interval)",
        {"ids": list(ids), "keys": list(keys), "window": BRAKE_WINDOW * 24},
    )


async def insert_audit(
    uow: UnitOfWork,
    *,
    user_id: int | None,
    action: str,
    subject_kind: str | None,
    subject_id: str | None,
    refused: bool,
    data: Mapping[str, object],
) -> None:
    """Append to the audit log."""
    await uow.execute(
        "INSERT INTO audit_log (user_id, action, subject_kind, subject_id, refused, data) "
        "VALUES (:user_id, :action, :subject_kind, :subject_id, :refused, CAST(:data AS jsonb))",
        {
            "user_id": user_id,
            "action": action,
            "subject_kind": subject_kind,
            "subject_id": subject_id,
            "refused": refused,
            "data": json.dumps(dict(data)),
        },
    )
