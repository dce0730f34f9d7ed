"""A message that failed after the provider had taken it: the same send once more, where that can still help.

Not where a later step has started, a person has the lead, or the journey has moved to another path: then the failure
is recorded and nothing else. The position never moves back; the send holds the enrolment's lock while it tries, so
nothing else is planned meanwhile.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Row

from app.campaigns.domain.vocabulary import Automation
from app.campaigns.operations.channels import next_sender
from app.campaigns.repository import Record, Take
from app.campaigns.versions import load_versions
from app.db.session import UnitOfWork
from app.messaging.domain.error_map import Disposition

ARRIVED_AFTER_ALL = "arrived_after_all"
"""The reason of a queued send whose failed attempt arrived nevertheless: it must not start."""
MOST_TRIES = 3
LONGEST = timedelta(hours=1)  # a journey is not locked for longer than this
_OTHER_CHANNEL = frozenset(
    {
        Disposition.SKIP,
        Disposition.MARK_BAD_ADDRESS,
        Disposition.UNREACHABLE,
        Disposition.TEMPLATE,
        Disposition.DEFER,
    }
)


async def try_again(
    uow: UnitOfWork,
    record: Record | None,
    *,
    send_id: int,
    disposition: Disposition,
    delay: timedelta | None,
) -> Take | None:
    """Queue a failed send again if its kind of failure allows, and return the lock to take for it.

    `delay` is the least wait that the failure asks for, in real time; where it is long, another channel is tried
    instead. The caller holds the locks of enrolment and send.
    """
    if record is None or record.state.automation is not Automation.ACTIVE or record.lock_token is not None:
        return None
    send = await _read(uow, send_id)
    state = record.state
    if send is None or (send.path, send.lap, send.generation) != (state.path, state.lap, state.generation):
        return None
    if disposition is Disposition.DEFER and delay is not None and delay <= LONGEST:
        await _queue(uow, send, send.sender_id, send.channel, delay * send.attempts)
        return Take(f"send:{send_id}")
    if disposition not in _OTHER_CHANNEL:
        return None
    version = (await load_versions(uow, [state.version_id]))[state.version_id]
    sender_id = await next_sender(uow, record, version, step=send.step, tried=(*send.tried, send.channel))
    if sender_id is None:
        return None
    channel = (
        (await uow.execute("SELECT channel FROM senders WHERE id = :id", {"id": sender_id})).one().channel
    )
    await _queue(uow, send, sender_id, channel, timedelta(0))
    return Take(f"send:{send_id}")


async def _read(uow: UnitOfWork, send_id: int) -> Row[Any] | None:
    """Return the send unless it has been tried too often or a later step has started."""
    return (
        await uow.execute(
            "SELECT s.id, s.path, s.step, s.lap, s.generation, s.channel, s.sender_id, s.tried, s.attempts "
            "FROM sends s WHERE s.id = :id AND s.kind = 'campaign' AND s.attempts < :most AND NOT EXISTS ("
            "SELECT 1 FROM sends l WHERE l.enrolment_id = s.enrolment_id AND l.id > s.id "
            "AND l.status NOT IN ('waiting', 'superseded', 'skipped'))",
            {"id": send_id, "most": MOST_TRIES},
        )
    ).one_or_none()


async def _queue(uow: UnitOfWork, send: Row[Any], sender_id: int, channel: str, wait: timedelta) -> None:
    tried = [*send.tried, send.channel] if channel != send.channel else list(send.tried)
    await uow.execute(
        "UPDATE sends SET status = 'queued', channel = :channel, sender_id = :sender_id, "
        "tried = CAST(:tried AS text[]), content = '{}', "
        "reason = NULL, not_before = clock_timestamp() + CAST(:wait AS interval) WHERE id = :id",
        {"channel": channel, "sender_id": sender_id, "tried": tried, "wait": wait, "id": send.id},
    )
