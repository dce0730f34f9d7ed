"""The database lets a send's status go forward only; a way back needs attempts that certainly reached nobody."""

from __future__ import annotations

import itertools

import pytest
from sqlalchemy.exc import DBAPIError

from app.db.session import Database
from app.messaging.models import SEND_STATUSES

NOT_STARTED = {"waiting", "queued", "superseded"}
RANKED = ["sending", "unknown", "needs_review", "accepted", "sent", "delivered", "read"]
IN_DOUBT = {"sending", "unknown", "needs_review"}
GOOD_NEWS = {"accepted", "sent", "delivered", "read"}
_numbers = itertools.count(1)


def _may(old: str, new: str, attempt: str | None) -> bool:
    """Say in other words than the trigger's whether a move is allowed after one attempt with this outcome."""
    if old == new:
        return True
    if attempt == "accepted" and new in GOOD_NEWS and old in NOT_STARTED | {"failed", "skipped"}:
        return True
    if old in NOT_STARTED:
        return new in NOT_STARTED | {"sending", "skipped", "needs_review"}
    if new in NOT_STARTED | {"skipped"}:
        nobody_reached = attempt in (None, "rejected", "not_sent", "failed", "ruled_not_sent")
        return old in IN_DOUBT | {"failed", "undelivered"} and nobody_reached
    if old in ("failed", "undelivered", "skipped"):
        return False
    if new in ("failed", "undelivered"):
        return old not in ("delivered", "read")
    return RANKED.index(new) > RANKED.index(old)


@pytest.mark.parametrize("attempt", [None, "open", "accepted", "unknown", "not_sent", "rejected", "failed"])
@pytest.mark.parametrize("old", SEND_STATUSES)
async def test_every_move_is_allowed_or_refused_as_stated(
    database: Database, old: str, attempt: str | None
) -> None:
    for new in SEND_STATUSES:
        expected = _may(old, new, attempt)
        assert await _moves(database, old, new, attempt) is expected, f"{old} → {new} after {attempt}"


async def _moves(database: Database, old: str, new: str, attempt: str | None) -> bool:
    number = next(_numbers)
    try:
        async with database.transaction() as uow:
            send_id = (
                await uow.execute(
                    "INSERT INTO sends (idempotency_key, kind, contact_id, channel, status, status_at, created_at) "
                    "VALUES (:key, 'system', 1, 'whatsapp', :old, now(), now()) RETURNING id",
                    {"key": f"guard:{number}", "old": old},
                )
            ).scalar_one()
            if attempt is not None:
                await uow.execute(
                    "INSERT INTO send_attempts (id, send_id, n, lease_token, lease_expires_at, channel, sender_id, "
                    "address, provider, outcome) "
                    "VALUES (:id, :send, 1, :id, now(), 'whatsapp', 1, 'x', 'twilio', :outcome)",
                    {
                        "id": f"att_guard_{number}",
                        "send": send_id,
                        "outcome": None if attempt == "open" else attempt,
                    },
                )
            await uow.execute("UPDATE sends SET status = :new WHERE id = :id", {"new": new, "id": send_id})
    except DBAPIError as error:
        if "may not go from" not in str(error.orig):
            raise
        return False
    return True
