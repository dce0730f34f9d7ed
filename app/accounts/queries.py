"""What screens and sockets ask about people and sessions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from app.accounts.domain import SEEN_EVERY
from app.db.session import UnitOfWork
from app.kernel.roles import Role


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that is neither ended nor over, and its person. `is_due_touch`: its use should be written
    down.
    """

    user_id: int
    name: str
    role: Role
    time_zone: str
    csrf_secret: str
    is_due_touch: bool


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Somebody to come in as, in the demo."""

    email: str
    name: str
    role_words: str


async def open_session(uow: UnitOfWork, *, token_hash: str) -> OpenSession | None:
    """Return the open session of an active person, or None."""
    row = (
        await uow.execute(
            "SELECT u.id, u.name, u.role, u.time_zone, s.csrf_secret, "
            "s.seen_at < clock_timestamp() - CAST(:every AS interval) AS is_due_touch "
            "FROM sessions s JOIN users u ON u.id = s.user_id "
            "WHERE s.token_hash = :token_hash AND s.ended_at IS NULL "
            "AND s.expires_at > clock_timestamp() AND u.active",
            {"token_hash": token_hash, "every": SEEN_EVERY},
        )
    ).one_or_none()
    if row is None:
        return None
    return OpenSession(row.id, row.name, Role(row.role), row.time_zone, row.csrf_secret, row.is_due_touch)


async def open_among(uow: UnitOfWork, *, token_hashes: Collection[str]) -> set[str]:
    """Return those of the sessions that are still open."""
    rows = await uow.execute(
        "SELECT s.token_hash FROM sessions s JOIN users u ON u.id = s.user_id "
        "WHERE s.token_hash = ANY(:hashes) AND s.ended_at IS NULL "
        "AND s.expires_at > clock_timestamp() AND u.active",
        {"hashes": list(token_hashes)},
    )
    return set(rows.scalars())


async def demo_people(uow: UnitOfWork) -> tuple[DemoPerson, ...]:
    """Return the demo persons in the order in which they were made."""
    rows = await uow.execute("SELECT email, name, role FROM users WHERE demo AND active ORDER BY id")
    return tuple(DemoPerson(row.email, row.name, Role(row.role).words) for row in rows)
