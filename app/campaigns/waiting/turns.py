"""A turn that has come: the request goes through the one door, like everybody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from app.campaigns.domain.door import EnrolRequest, EnrolResult, WhenBusy
from app.campaigns.events import WaitingChanged
from app.campaigns.operations.enrol import enrol_batch
from app.campaigns.operations.standing import lock_contacts
from app.campaigns.waiting.operations import end_requests, give_turns, lock_waiting
from app.campaigns.waiting.repository import (
    Settled,
    WaitingRequest,
    settle_requests,
    waiting_by_id,
)
from app.db.session import Database, UnitOfWork
from app.kernel.errors import WarmlineError

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 500
ACTOR = "engine"

# The turn of a person is the first of their due requests: the highest priority, and the oldest of those.
_DUE = """
SELECT id, campaign_key FROM (
    SELECT DISTINCT ON (r.contact_id) r.id, k.key AS campaign_key, r.priority, r.asked_at
    FROM enrolment_requests r JOIN campaigns k ON k.id = r.campaign_id
    WHERE r.status = 'waiting' AND r.not_before <= :now AND r.expires_at > :now
    ORDER BY r.contact_id, r.priority DESC, r.asked_at, r.id
) first
ORDER BY priority DESC, asked_at, id LIMIT :most
"""
# What was chosen without locks may have been overtaken: of each person only the first goes to the door.
_FIRST_OF_EACH = """
SELECT DISTINCT ON (contact_id) id FROM enrolment_requests
WHERE contact_id = ANY(CAST(:contacts AS bigint[])) AND status = 'waiting' AND not_before <= :now
ORDER BY contact_id, priority DESC, asked_at, id
"""
_CLOSED = """
SELECT 1 FROM campaigns WHERE key = :key AND (current_version_id IS NULL OR status = 'archived')
"""
_IN_NOBODYS_WAY = """
SELECT r.contact_id FROM enrolment_requests r
WHERE r.status = 'waiting' AND r.not_before IS NULL
  AND NOT EXISTS (SELECT 1 FROM enrolments e WHERE e.contact_id = r.contact_id AND e.automation <> 'completed')
  AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.contact_id = r.contact_id AND h.status <> 'closed')
ORDER BY r.contact_id LIMIT :most
"""


@dataclass(frozen=True, slots=True)
class _Turn:
    id: int
    campaign_key: str


async def admit_due(database: Database, *, now: datetime, most: int = MOST_AT_ONCE) -> int:
    """Bring the requests whose time has come to the door, highest priority and oldest first; return how many came.

    Each campaign's people in one transaction. Whoever is busy again, or rests, waits on; whoever may not be written
    to any more is refused for good.
    """
    async with database.reading() as uow:
        rows = await uow.execute(_DUE, {"now": now, "most": most})
        turns = [_Turn(row.id, row.campaign_key) for row in rows]
    for key in dict.fromkeys(turn.campaign_key for turn in turns):
        async with database.transaction() as uow:
            ids = [turn.id for turn in turns if turn.campaign_key == key]
            try:
                await _take_turns(uow, ids=ids, campaign_key=key, now=now)
            except WarmlineError as refused:  # of the campaign as a whole, so nothing was written
                log.warning("waiting.campaign_refuses", campaign=key, error=refused.code)
                await _later(uow, ids=ids, now=now)
    return len(turns)


async def find_forgotten(database: Database, *, now: datetime, most: int = MOST_AT_ONCE) -> int:
    """Give a turn to requests that nobody is in the way of, though nobody said so; return how many people."""
    async with database.transaction() as uow:
        rows = await uow.execute(_IN_NOBODYS_WAY, {"most": most})
        people = {row.contact_id for row in rows}
        await give_turns(uow, contact_ids=people, now=now)
    return len(people)


async def try_now(
    uow: UnitOfWork, *, request_id: int, override_reason: str | None, actor: str, now: datetime
) -> EnrolResult:
    """Bring one waiting request to the door at once; it waits on where the person is still busy.

    `override_reason` lets in somebody who rests or talks with one of us; whoever calls has checked the right to it.
    Raises `NotFound`, and `Conflict` where it waits no more.
    """
    request = await lock_waiting(uow, request_id=request_id)
    results = await _through_the_door(
        uow, requests=[request], override_reason=override_reason, actor=actor, now=now
    )
    return results[0]


async def _take_turns(uow: UnitOfWork, *, ids: Sequence[int], campaign_key: str, now: datetime) -> None:
    chosen = await waiting_by_id(uow, ids=ids)
    merged = await lock_contacts(uow, {one.contact_id for one in chosen})
    if merged:
        await _follow_merges(uow, chosen=chosen, merged=merged, now=now)
    people = {merged.get(one.contact_id, one.contact_id) for one in chosen}
    first = await uow.execute(_FIRST_OF_EACH, {"contacts": sorted(people), "now": now})
    requests = await waiting_by_id(uow, ids={row.id for row in first} & set(ids))
    if not requests:
        return
    if (await uow.execute(_CLOSED, {"key": campaign_key})).one_or_none() is not None:
        await end_requests(
            uow, requests=requests, status="refused", reason="campaign_closed", actor=ACTOR, now=now
        )
        return
    await _through_the_door(uow, requests=requests, override_reason=None, actor=ACTOR, now=now)


async def _through_the_door(
    uow: UnitOfWork,
    *,
    requests: Sequence[WaitingRequest],
    override_reason: str | None,
    actor: str,
    now: datetime,
) -> list[EnrolResult]:
    """Offer requests of one campaign to the door; settle those that need not wait any more."""
    results = await enrol_batch(
        uow,
        campaign_key=requests[0].campaign_key,
        requests=[EnrolRequest(one.contact_id, one.ref, override_reason, WhenBusy.WAIT) for one in requests],
        actor=actor,
        now=now,
    )
    pairs = list(zip(requests, results, strict=True))
    admitted = [
        Settled(one.id, result.outcome, result.enrolment_id)
        for one, result in pairs
        if result.outcome in ("touched", "repeated") and result.enrolment_id is not None
    ]
    refused = [
        Settled(one.id, result.reason or "refused") for one, result in pairs if result.outcome == "refused"
    ]
    await settle_requests(uow, settled=admitted, status="admitted", actor=actor, now=now)
    await settle_requests(uow, settled=refused, status="refused", actor=actor, now=now)
    for one in requests:
        uow.emit(WaitingChanged(one.contact_id))
    still = {one.contact_id for one, result in pairs if result.outcome == "waiting"}
    await give_turns(uow, contact_ids=still, now=now)
    return results


async def _follow_merges(
    uow: UnitOfWork, *, chosen: Sequence[WaitingRequest], merged: dict[int, int], now: datetime
) -> None:
    """Let the requests of people who were merged away wait for their survivor, once for each campaign."""
    for one in chosen:
        survivor = merged.get(one.contact_id)
        if survivor is None:
            continue
        moved = await uow.execute(
            "UPDATE enrolment_requests r SET contact_id = :to WHERE r.id = :id AND r.status = 'waiting' "
            "AND NOT EXISTS (SELECT 1 FROM enrolment_requests o WHERE o.contact_id = :to "
            "AND o.campaign_id = r.campaign_id AND o.status = 'waiting')",
            {"to": survivor, "id": one.id},
        )
        if moved.rowcount == 0:
            await end_requests(uow, requests=[one], status="refused", reason="merged", actor=ACTOR, now=now)


async def _later(uow: UnitOfWork, *, ids: Sequence[int], now: datetime) -> None:
    await uow.execute(
        "UPDATE enrolment_requests SET not_before = CAST(:now AS timestamptz) + interval '15 minutes' "
        "WHERE id IN (SELECT id FROM enrolment_requests WHERE id = ANY(CAST(:ids AS bigint[])) "
        "AND status = 'waiting' ORDER BY id FOR NO KEY UPDATE)",
        {"ids": list(ids), "now": now},
    )
