"""What ends the waiting of a request besides its turn: an opt-out, a person's decision, time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from app.campaigns.events import WaitingChanged
from app.campaigns.waiting.repository import (
    Settled,
    WaitingRequest,
    recompute_turns,
    settle_requests,
    waiting_by_id,
    waiting_of,
)
from app.contacts.finding import lock_contact
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Conflict, NotFound
from app.ledger.repository import LedgerRow, append_events

MOST_AT_ONCE = 500


async def drop_waiting(uow: UnitOfWork, *, contact_id: int, reason: str, actor: str, now: datetime) -> None:
    """Refuse everything that waits for a person, and say so in the ledger. The caller holds the contact's lock, or
    that of their live enrolment.
    """
    waiting = await waiting_of(uow, contact_ids=[contact_id])
    await end_requests(uow, requests=waiting, status="refused", reason=reason, actor=actor, now=now)


async def give_turns(uow: UnitOfWork, *, contact_ids: Collection[int], now: datetime) -> None:
    """Set when what waits for these people is tried again, from what is true now: after an end, a rest begun or
    lifted, a conversation over. The sweep brings to the door whatever is due.
    """
    for contact_id in await recompute_turns(uow, contact_ids=contact_ids, now=now):
        uow.emit(WaitingChanged(contact_id))


async def withdraw(
    uow: UnitOfWork, *, request_id: int, actor: str, reason: str | None, now: datetime
) -> WaitingRequest:
    """Take a waiting request back; the same ref is not asked for again.

    Raises `NotFound`, and `Conflict` for one that waits no more.
    """
    request = await lock_waiting(uow, request_id=request_id)
    await end_requests(
        uow, requests=[request], status="withdrawn", reason="withdrawn", actor=actor, note=reason, now=now
    )
    return request


async def expire_requests(database: Database, *, now: datetime) -> int:
    """Drop the requests whose time is over; return how many."""
    dropped = 0
    while True:
        async with database.transaction() as uow:
            late = await uow.execute(
                "SELECT id, contact_id FROM enrolment_requests WHERE status = 'waiting' AND expires_at <= :now "
                "ORDER BY expires_at, id LIMIT :most",
                {"now": now, "most": MOST_AT_ONCE},
            )
            rows = late.all()
            await uow.execute(
                "SELECT id FROM contacts WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE",
                {"ids": [row.contact_id for row in rows]},
            )
            requests = await waiting_by_id(uow, ids=[row.id for row in rows])
            await end_requests(
                uow, requests=requests, status="expired", reason="expired", actor="engine", now=now
            )
        dropped += len(requests)
        if len(rows) < MOST_AT_ONCE:
            return dropped


async def lock_waiting(uow: UnitOfWork, *, request_id: int) -> WaitingRequest:
    """Lock the contact of a request and return the request. Raises `NotFound`; `Conflict` where it waits no more."""
    row = (
        await uow.execute("SELECT contact_id FROM enrolment_requests WHERE id = :id", {"id": request_id})
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such request.")
    await lock_contact(uow, row.contact_id)
    waiting = await waiting_by_id(uow, ids=[request_id])
    if not waiting:
        raise Conflict("This lead does not wait for this campaign any more.")
    return waiting[0]


async def end_requests(
    uow: UnitOfWork,
    *,
    requests: Sequence[WaitingRequest],
    status: str,
    reason: str,
    actor: str,
    note: str | None = None,
    now: datetime,
) -> None:
    """End the waiting of requests without an enrolment, each with its line in the ledger."""
    await settle_requests(
        uow, settled=[Settled(one.id, reason) for one in requests], status=status, actor=actor, now=now
    )
    await append_events(
        uow,
        [
            LedgerRow(
                one.contact_id,
                "enrol_refused",
                now,
                actor,
                reason,
                data={
                    "campaign": one.campaign_key,
                    "ref": one.ref,
                    "waited": True,
                    **({"note": note} if note else {}),
                },
            )
            for one in requests
        ],
    )
    for one in requests:
        uow.emit(WaitingChanged(one.contact_id))
