"""Waiting until nothing moves any more; a reviewer answers what only a person can."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from app.campaigns.operations.operate import resolve_review
from app.db.demo_clock import make_clock
from tests.faults.stage import Stage

LOOK_EVERY_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Motion:
    """What has not come to rest."""

    due: int
    queued: int
    open_attempts: int
    unknown: int
    reviews: int
    signals: int
    runs: int

    @property
    def at_rest(self) -> bool:
        """Nothing is left to do, not even for a person."""
        return not any(
            (self.due, self.queued, self.open_attempts, self.unknown, self.reviews, self.signals, self.runs)
        )

    @property
    def flowing(self) -> bool:
        """Whatever can go on has gone on: only look-ups and people are waited for."""
        return not any((self.due, self.queued, self.open_attempts, self.signals, self.runs))


async def motion(stage: Stage) -> Motion:
    """Look at what still moves."""
    now = (await make_clock(stage.database)).now()
    (row,) = await stage.rows(
        """
SELECT (SELECT count(*) FROM enrolments WHERE automation = 'active' AND lock_token IS NULL AND next_run_at <= :now)
        AS due,
    (SELECT count(*) FROM sends WHERE status = 'queued') AS queued,
    (SELECT count(*) FROM send_attempts WHERE outcome IS NULL) AS open_attempts,
    (SELECT count(*) FROM sends WHERE status = 'unknown') AS unknown,
    (SELECT count(*) FROM tasks WHERE kind = 'review' AND done_at IS NULL) AS reviews,
    (SELECT count(*) FROM signals WHERE processed_at IS NULL) AS signals,
    (SELECT count(*) FROM runs WHERE status IN ('waiting', 'running')) AS runs
""",
        now=now,
    )
    return Motion(row.due, row.queued, row.open_attempts, row.unknown, row.reviews, row.signals, row.runs)


@dataclass(slots=True)
class Reviewer:
    """The person who answers reviews: looks what the phone really received, and says so. Counts the answers."""

    sent: int = 0
    again: int = 0

    async def review(self, stage: Stage) -> None:
        """Answer every open review of a send."""
        tasks = await stage.rows(
            "SELECT t.id, s.id AS send_id, i.value AS phone, ARRAY(SELECT a.id FROM send_attempts a "
            "WHERE a.send_id = s.id) AS attempts FROM tasks t "
            "JOIN sends s ON t.subject = 'send:' || s.id "
            "JOIN contact_identities i ON i.contact_id = s.contact_id AND i.kind = 'phone' "
            "WHERE t.kind = 'review' AND t.done_at IS NULL ORDER BY t.id"
        )
        for task in tasks:
            got = [m for m in await stage.simulator.messages(task.phone) if m.attempt in task.attempts]
            verdict, sid = ("sent", got[0].sid) if got else ("again", None)
            now = (await make_clock(stage.database)).now()
            async with stage.database.transaction() as uow:
                await resolve_review(
                    uow, task_id=task.id, verdict=verdict, provider_message_id=sid, actor="reviewer", now=now
                )
            self.sent += verdict == "sent"
            self.again += verdict == "again"


async def wait_until_flowing(stage: Stage, *, within: float) -> float:
    """Wait until whatever can go on by itself has gone on; return the seconds it took."""
    return await _wait(stage, within, lambda m: m.flowing, None)


async def wait_until_at_rest(stage: Stage, *, within: float, reviewer: Reviewer | None = None) -> float:
    """Wait until nothing is left to do; return the seconds it took. Raises AssertionError with what is left."""
    took = await _wait(stage, within, lambda m: m.at_rest, reviewer)
    await stage.simulator.wait_until_idle(within_seconds=30)
    return took + await _wait(stage, 30.0, lambda m: m.at_rest, reviewer)


async def wait_for_sends(stage: Stage, *, at_least: int, within: float) -> None:
    """Wait until so many attempts have begun."""
    end = time.monotonic() + within
    while await stage.value("SELECT count(*) FROM send_attempts") < at_least:
        assert time.monotonic() < end, f"no {at_least} attempts within {within:g} s: {await motion(stage)}"
        await asyncio.sleep(0.05)


async def _wait(stage: Stage, within: float, is_over: object, reviewer: Reviewer | None) -> float:
    assert callable(is_over)
    began = time.monotonic()
    while not is_over(now := await motion(stage)):
        assert time.monotonic() - began < within, (
            f"not over within {within:g} s: {now}{await _waiting_signals(stage)}"
        )
        if reviewer is not None and now.reviews:
            await reviewer.review(stage)
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    return time.monotonic() - began


async def _waiting_signals(stage: Stage) -> str:
    """Return what receipts wait for, as text."""
    rows = await stage.rows(
        "SELECT kind, outcome, problem, tries, count(*) AS number, "
        "count(*) FILTER (WHERE not_before > clock_timestamp()) AS later FROM signals "
        "WHERE processed_at IS NULL GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC LIMIT 8"
    )
    return "".join(
        f"; {r.number} {r.kind} ({r.outcome}, {r.problem}, tries {r.tries}, {r.later} later)" for r in rows
    )
