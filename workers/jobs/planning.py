"""The plan lane: claim what is due and queue its sends."""

from __future__ import annotations

import structlog

from app.campaigns.operations.plan import plan
from workers.context import Context
from workers.lane import Lane

log = structlog.get_logger(__name__)

SMALLEST_BATCH, LARGEST_BATCH = 50, 500
LONGEST_IDLE_SECONDS = 1.0
PACED_SECONDS = 0.1  # something is due, but no sender has room for it just now


def make_plan_lane(context: Context, *, wake_send: Lane | None) -> Lane:
    """Return the plan lane; batches grow while there is a backlog and shrink again for low latency."""
    batch = SMALLEST_BATCH
    found_nothing = False

    async def work() -> bool:
        nonlocal batch, found_nothing
        report = await plan(context.database, now=context.now(), batch=batch)
        found_nothing = report.enrolments == 0
        batch = min(batch * 2, LARGEST_BATCH) if report.more else SMALLEST_BATCH
        if report.queued:
            if wake_send is not None:
                wake_send.wake()
            else:
                await _hint(context)
        return report.more and report.enrolments > 0

    async def idle() -> float:
        return await _seconds_until_due(context, found_nothing=found_nothing)

    return Lane("plan", work=work, idle=idle)


async def _hint(context: Context) -> None:
    try:
        await context.hints.hint("send")
    except Exception as error:  # a hint may be lost
        log.warning("hint.lost", lane="send", error=type(error).__name__)


# The next timer of each open sender; those of senders that are switched off wake nobody.
_NEXT_DUE = """
SELECT min(next.next_run_at) AS due FROM senders s, LATERAL (
    SELECT e.next_run_at FROM enrolments e
    WHERE e.sender_id = s.id AND e.automation = 'active' AND e.lock_token IS NULL
    ORDER BY e.next_run_at LIMIT 1) AS next
WHERE s.status = 'active' AND NOT EXISTS (
    SELECT 1 FROM kill_switches k WHERE k.scope IN ('global', 'channel:' || s.channel, 'sender:' || s.id))
"""


async def _seconds_until_due(context: Context, *, found_nothing: bool) -> float:
    """Return how long to sleep: until the next timer, or a moment where something is due that could not be planned."""
    async with context.database.reading() as uow:
        row = (await uow.execute(_NEXT_DUE)).one()
    if row.due is None:
        return LONGEST_IDLE_SECONDS
    pause = min(LONGEST_IDLE_SECONDS, context.clock.real_seconds_until(row.due))
    if pause > 0:
        return pause
    return LONGEST_IDLE_SECONDS if found_nothing else PACED_SECONDS
