"""Requests as rows. Their locks come last of all; several by ascending id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row

from app.db.session import UnitOfWork


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A request to keep. `reason` is what it waits for."""

    contact_id: int
    ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A request that waits."""

    id: int
    contact_id: int
    campaign_id: int
    campaign_key: str
    ref: str


@dataclass(frozen=True, slots=True)
class Settled:
    """How a request ended: why, and in which enrolment where it was admitted."""

    id: int
    reason: str
    enrolment_id: int | None = None


# A ref whose request was refused or dropped before may be asked for anew; it is the same row again.
_KEEP = """
INSERT INTO enrolment_requests
    (contact_id, campaign_id, ref, reason, priority, asked_at, asked_by, expires_at)
SELECT r.contact_id, k.id, r.ref, r.reason, k.priority, :now, :actor, :expires_at
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(contact_id bigint, ref text, reason text)
JOIN campaigns k ON k.id = :campaign_id
ORDER BY r.contact_id
ON CONFLICT (campaign_id, ref) DO UPDATE SET contact_id = EXCLUDED.contact_id, status = 'waiting',
    reason = EXCLUDED.reason, priority = EXCLUDED.priority, asked_at = EXCLUDED.asked_at,
    asked_by = EXCLUDED.asked_by, expires_at = EXCLUDED.expires_at, not_before = NULL, settled_at = NULL,
    settled_by = NULL, enrolment_id = NULL
WHERE enrolment_requests.status IN ('refused', 'expired')
"""

# When each waiting request of these people may be tried again, from what is true now.
_RECOMPUTE = """
WITH locked AS (
    SELECT r.id FROM enrolment_requests r
    WHERE r.contact_id = ANY(CAST(:contacts AS bigint[])) AND r.status = 'waiting'
    ORDER BY r.id FOR NO KEY UPDATE
), standing AS (
    SELECT r.id, r.not_before,
        (SELECT 'live_in:' || o.key FROM enrolments e JOIN campaigns o ON o.id = e.campaign_id
         WHERE e.contact_id = r.contact_id AND e.automation <> 'completed') AS lives,
        EXISTS (SELECT 1 FROM handoffs h WHERE h.contact_id = r.contact_id AND h.status <> 'closed') AS talks,
        (SELECT max(d.ends_at) FROM cooldowns d WHERE d.contact_id = r.contact_id AND d.lifted_at IS NULL
         AND d.starts_at <= :now AND d.ends_at > :now AND NOT k.cooldown_exempt) AS rests_until
    FROM locked JOIN enrolment_requests r ON r.id = locked.id JOIN campaigns k ON k.id = r.campaign_id
), turns AS (
    SELECT id,
        CASE WHEN lives IS NOT NULL THEN NULL
             WHEN rests_until IS NOT NULL THEN rests_until
             WHEN talks THEN NULL
             ELSE least(not_before, CAST(:now AS timestamptz)) END AS not_before,
        CASE WHEN lives IS NOT NULL THEN lives
             WHEN rests_until IS NOT NULL THEN 'in_cooldown_until:'
                || to_char(rests_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')
             WHEN talks THEN 'with_an_adviser' ELSE 'its_turn' END AS reason
    FROM standing
)
UPDATE enrolment_requests r SET not_before = t.not_before, reason = t.reason
FROM turns t
WHERE r.id = t.id AND r.status = 'waiting' AND (r.not_before, r.reason) IS DISTINCT FROM (t.not_before, t.reason)
RETURNING r.contact_id
"""

_WAITING = """
SELECT r.id, r.contact_id, r.campaign_id, k.key, r.ref
FROM enrolment_requests r JOIN campaigns k ON k.id = r.campaign_id
WHERE r.status = 'waiting'
"""

_SETTLE = """
WITH locked AS (
    SELECT r.id FROM enrolment_requests r
    WHERE r.id = ANY(CAST(:ids AS bigint[])) AND r.status = 'waiting' ORDER BY r.id FOR NO KEY UPDATE
)
UPDATE enrolment_requests r SET status = :status, reason = w.reason, settled_at = :now, settled_by = :actor,
    not_before = NULL, enrolment_id = w.enrolment_id
FROM locked JOIN jsonb_to_recordset(CAST(:rows AS jsonb)) AS w(id bigint, reason text, enrolment_id bigint)
    ON w.id = locked.id
WHERE r.id = locked.id
"""


async def keep_requests(
    uow: UnitOfWork,
    *,
    campaign_id: int,
    requests: Sequence[NewRequest],
    actor: str,
    expires_at: datetime,
    now: datetime,
) -> None:
    """Let requests wait; the caller holds their contacts' locks and has seen that none of them waits already."""
    if not requests:
        return
    rows = [{"contact_id": r.contact_id, "ref": r.ref, "reason": r.reason} for r in requests]
    await uow.execute(
        _KEEP,
        {
            "campaign_id": campaign_id,
            "rows": msgspec.json.encode(rows).decode(),
            "actor": actor,
            "expires_at": expires_at,
            "now": now,
        },
    )


async def recompute_turns(uow: UnitOfWork, *, contact_ids: Collection[int], now: datetime) -> list[int]:
    """Set when the waiting requests of these people are tried again: once the other campaign has ended, at the end
    of their rest, after the conversation; at once where nothing is in the way any more. Return for whom that changed.
    """
    if not contact_ids:
        return []
    rows = await uow.execute(_RECOMPUTE, {"contacts": sorted(set(contact_ids)), "now": now})
    return sorted({row.contact_id for row in rows})


async def waiting_of(
    uow: UnitOfWork, *, contact_ids: Collection[int], campaign_id: int | None = None
) -> list[WaitingRequest]:
    """Return the waiting requests of these people, for one campaign or for all."""
    rows = await uow.execute(
        f"{_WAITING} AND r.contact_id = ANY(CAST(:contacts AS bigint[])) "
        "AND (CAST(:campaign_id AS bigint) IS NULL OR r.campaign_id = :campaign_id) ORDER BY r.id",
        {"contacts": sorted(contact_ids), "campaign_id": campaign_id},
    )
    return [_request(row) for row in rows]


async def waiting_by_id(uow: UnitOfWork, *, ids: Collection[int]) -> list[WaitingRequest]:
    """Return those of these requests that wait."""
    rows = await uow.execute(
        f"{_WAITING} AND r.id = ANY(CAST(:ids AS bigint[])) ORDER BY r.id", {"ids": sorted(ids)}
    )
    return [_request(row) for row in rows]


async def settle_requests(
    uow: UnitOfWork, *, settled: Sequence[Settled], status: str, actor: str, now: datetime
) -> None:
    """End the waiting of requests; the caller holds their contacts' locks."""
    if not settled:
        return
    rows = [{"id": s.id, "reason": s.reason, "enrolment_id": s.enrolment_id} for s in settled]
    await uow.execute(
        _SETTLE,
        {
            "ids": [s.id for s in settled],
            "rows": msgspec.json.encode(rows).decode(),
            "status": status,
            "actor": actor,
            "now": now,
        },
    )


def _request(row: Row[Any]) -> WaitingRequest:
    return WaitingRequest(row.id, row.contact_id, row.campaign_id, row.key, row.ref)
