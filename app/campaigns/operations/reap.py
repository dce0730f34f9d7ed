"""Reap: attempts whose outcome nobody reported are looked up at the provider; what stays unclear goes to a person.

A send of unknown outcome keeps its lock until then. It is never tried again by itself: a late message is better
than a double one. Leases and look-ups run on real time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import Row

from app.campaigns.domain.stimuli import Inconclusive
from app.campaigns.operations.apply import apply
from app.campaigns.operations.finish import CallOutcome, ask_about, settle_outcomes
from app.campaigns.repository import KEEP, RELEASE, lock_enrolments
from app.db.session import Database, UnitOfWork
from app.messaging.gateways.base import Accepted, Found, Gateway, SentQuery, Unknown, parse_address

log = structlog.get_logger(__name__)

ACTOR = "engine"
CLOCK_SLACK = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class LookUps:
    """When to look, counted from the start of the attempt, and how long one look may take (seconds)."""

    first_after: timedelta = timedelta(seconds=60)
    second_after: timedelta = timedelta(minutes=5)
    deadline: float = 10.0


async def reap(
    database: Database,
    gateways: Mapping[str, Gateway],
    *,
    now: datetime,
    look_ups: LookUps = LookUps(),
    most: int = 50,
) -> int:
    """Deal with every attempt past its lease, and look up what is unknown; return how many were looked at."""
    expired = await _expired(database, most)
    await settle_outcomes(
        database, [CallOutcome(a, Unknown("lease_expired"), "reap") for a in expired], now=now
    )
    unknown = await _due_for_a_look(database, look_ups, most)
    for row in unknown:
        try:
            await _look(database, gateways, row, look_ups, now)
        except Exception:  # one that cannot be looked up must not keep the others waiting
            log.exception("send.look_up_failed", attempt_id=row.id)
    return len(expired) + len(unknown)


async def _expired(database: Database, most: int) -> list[str]:
    async with database.reading() as uow:
        rows = await uow.execute(
            "SELECT id FROM send_attempts WHERE outcome IS NULL AND lease_expires_at < clock_timestamp() "
            "ORDER BY lease_expires_at LIMIT :most",
            {"most": most},
        )
        return [row.id for row in rows]


_DUE = """
SELECT a.id, a.send_id, a.address, a.started_at, a.looks, a.provider, s.enrolment_id, s.contact_id, s.kind,
    s.author_id, s.content,
    n.address AS sender_address, n.messaging_service_sid,
    ARRAY(SELECT b.provider_message_id FROM send_attempts b WHERE b.address = a.address
        AND b.provider_message_id IS NOT NULL) AS known
FROM send_attempts a JOIN sends s ON s.id = a.send_id LEFT JOIN senders n ON n.id = a.sender_id
WHERE a.outcome = 'unknown' AND s.status = 'unknown'
  AND a.started_at < clock_timestamp() - CASE a.looks WHEN 0 THEN CAST(:first AS interval)
      ELSE CAST(:second AS interval) END
ORDER BY a.started_at LIMIT :most
"""


async def _due_for_a_look(database: Database, look_ups: LookUps, most: int) -> list[Row[Any]]:
    async with database.reading() as uow:
        rows = await uow.execute(
            _DUE, {"first": look_ups.first_after, "second": look_ups.second_after, "most": most}
        )
        return list(rows.all())


async def _look(
    database: Database, gateways: Mapping[str, Gateway], row: Row[Any], look_ups: LookUps, now: datetime
) -> None:
    """Ask the provider for exactly one unexplained message that fits; outside any transaction."""
    address = parse_address(row.address)
    gateway = gateways.get(row.provider)
    if address is None or gateway is None:
        await _to_a_person(database, row, "This provider cannot be asked.", now)
        return
    query = SentQuery(
        attempt_id=row.id,
        to=address,
        created_from=row.started_at - CLOCK_SLACK,
        created_to=row.started_at + CLOCK_SLACK,
        body=row.content.get("text"),
        sender=row.sender_address,
        messaging_service_sid=row.messaging_service_sid,
        known_provider_ids=frozenset(row.known),
    )
    found = await gateway.find_sent(query, deadline=look_ups.deadline)
    log.info("send.looked_up", attempt_id=row.id, result=type(found).__name__, look=row.looks + 1)
    if isinstance(found, Found):
        outcome = CallOutcome(row.id, Accepted(found.provider_message_id, found.status), "look_up")
        await settle_outcomes(database, [outcome], now=now)
    elif row.looks >= 1:
        await _to_a_person(database, row, "Nobody can tell whether this message was sent.", now)
    else:
        async with database.transaction() as uow:
            await uow.execute(
                "UPDATE send_attempts SET looks = looks + 1, looked_at = clock_timestamp() WHERE id = :id",
                {"id": row.id},
            )


async def _to_a_person(database: Database, row: Row[Any], why: str, now: datetime) -> None:
    """Hold the journey and open a review; the lock goes, for nothing acts for this step but the reviewer."""
    async with database.transaction() as uow:
        records = await lock_enrolments(uow, [row.enrolment_id] if row.enrolment_id else [])
        if not await _mark_for_review(uow, row, why, now):
            return
        if not records:
            await ask_about(uow, row, why, now)
            return
        lock = RELEASE if records[0].lock_token == f"send:{row.send_id}" else KEEP
        await apply(
            uow, records[0], [Inconclusive(f"send:{row.send_id}", why)], lock=lock, actor=ACTOR, now=now
        )


async def _mark_for_review(uow: UnitOfWork, row: Row[Any], why: str, now: datetime) -> bool:
    marked = await uow.execute(
        "UPDATE sends SET status = 'needs_review', status_at = :now, reason = :why "
        "WHERE id = :id AND status = 'unknown' RETURNING id",
        {"id": row.send_id, "now": now, "why": why},
    )
    if marked.one_or_none() is None:
        return False
    await uow.execute(
        "UPDATE send_attempts SET looks = looks + 1, looked_at = clock_timestamp() WHERE id = :id",
        {"id": row.id},
    )
    return True
