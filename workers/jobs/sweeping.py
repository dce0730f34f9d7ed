"""The sweep lane: what nobody hinted at, what is overdue, what a crashed process left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import structlog

from app.advisers.operations.assignment import assign_waiting
from app.advisers.operations.sla import sla_tick
from app.campaigns.backfill.work import carry_on_backfill
from app.campaigns.operations.leftovers import process_leftovers
from app.campaigns.operations.operate import wake
from app.campaigns.operations.reap import reap
from app.campaigns.operations.start import queue_waiting_again
from app.campaigns.operations.unanswered import find_unanswered, reopen_unanswered
from app.campaigns.operations.visits import find_reminders, remind_by_hand
from app.campaigns.waiting.operations import expire_requests
from app.campaigns.waiting.turns import MOST_AT_ONCE, admit_due, find_forgotten
from app.kernel.hints import Lane as LaneName
from workers.context import Context
from workers.lane import Lane
from workers.leases import end_turn, take_turn

log = structlog.get_logger(__name__)

IDLE_SECONDS = 0.5
LEASE_SECONDS = 15.0
ROUNDS_OF_TURNS = 20


@dataclass(frozen=True, slots=True)
class Periodic:
    """A job that one worker at a time runs, each `every` real seconds."""

    name: str
    every: float
    run: Callable[[Context], Awaitable[None]]


async def _leftovers(context: Context) -> None:
    while await process_leftovers(context.database):
        pass


async def _reap(context: Context) -> None:
    while await reap(context.database, context.gateways, now=context.now(), look_ups=context.look_ups) >= 50:
        pass


async def _wake(context: Context) -> None:
    """Let journeys go on whose stated date has come."""
    async with context.database.reading() as uow:
        rows = (
            await uow.execute(
                "SELECT id FROM enrolments WHERE resume_at <= :now AND automation = 'paused' "
                "ORDER BY resume_at LIMIT 200",
                {"now": context.now()},
            )
        ).all()
    for row in rows:
        async with context.database.transaction() as uow:
            await wake(uow, enrolment_id=row.id, now=context.now())


async def _remind_by_hand(context: Context) -> None:
    """Give what falls due before a visit to the person who has the lead."""
    async with context.database.reading() as uow:
        due = await find_reminders(uow, now=context.now())
    for enrolment_id in due:
        async with context.database.transaction() as uow:
            await remind_by_hand(uow, enrolment_id=enrolment_id, now=context.now())


async def _sla(context: Context) -> None:
    async with context.database.transaction() as uow:
        await sla_tick(uow, now=context.now())


async def _assign(context: Context) -> None:
    """Drain the pool of each team: capacity may have come free, or a shift begun."""
    async with context.database.reading() as uow:
        teams = (
            await uow.execute(
                "SELECT DISTINCT team FROM handoffs WHERE status <> 'closed' AND owner_id IS NULL"
            )
        ).all()
    for row in teams:
        async with context.database.transaction() as uow:
            await assign_waiting(uow, team=row.team, now=context.now())


async def _queue_waiting(context: Context) -> None:
    """Try the messages of people again that had to wait for a switch, a sender or a template."""
    async with context.database.transaction() as uow:
        await queue_waiting_again(uow)


async def _reopen_unanswered(context: Context) -> None:
    """Let clocks run again whose answer failed, where the failure's own word was lost."""
    async with context.database.reading() as uow:
        contacts = await find_unanswered(uow)
    for contact_id in contacts:
        async with context.database.transaction() as uow:
            await reopen_unanswered(uow, contact_id=contact_id, now=context.now())


async def _give_turns(context: Context) -> None:
    """Bring to the door whose turn has come."""
    for _ in range(ROUNDS_OF_TURNS):
        if await admit_due(context.database, now=context.now()) < MOST_AT_ONCE:
            return


async def _tidy_waiting(context: Context) -> None:
    """Drop what waited too long, and find what nobody is in the way of."""
    await expire_requests(context.database, now=context.now())
    await find_forgotten(context.database, now=context.now())


async def _carry_on_backfill(context: Context) -> None:
    """Go on with a backfill of cool-downs that waits, or whose process died."""
    await carry_on_backfill(context.database, clock=context.clock)


async def _rehint(context: Context) -> None:
    """Hint the lanes again for whatever waits: Redis may have lost everything."""
    async with context.database.reading() as uow:
        queued = (
            await uow.execute("SELECT EXISTS (SELECT 1 FROM sends WHERE status = 'queued') AS yes")
        ).one()
    lanes: list[LaneName] = ["plan", "send"] if queued.yes else ["plan"]
    for lane in lanes:
        await context.hints.hint(lane)


PERIODIC = (
    Periodic("leftovers", 0.5, _leftovers),
    Periodic("sla", 1.0, _sla),
    Periodic("assign", 2.0, _assign),
    Periodic("wake", 2.0, _wake),
    Periodic("reminders", 2.0, _remind_by_hand),
    Periodic("waiting", 5.0, _queue_waiting),
    Periodic("unanswered", 5.0, _reopen_unanswered),
    Periodic("rehint", 5.0, _rehint),
    Periodic("turns", 1.0, _give_turns),
    Periodic("tidy_waiting", 30.0, _tidy_waiting),
    Periodic("backfill", 5.0, _carry_on_backfill),
)
LOOKS_IN_A_LEASE = 8


def periodic_jobs(context: Context) -> tuple[Periodic, ...]:
    """Return every job; the reaper's pace follows the lease it watches over."""
    return (*PERIODIC, Periodic("reap", min(5.0, context.lease_seconds / LOOKS_IN_A_LEASE), _reap))


class Sweeper:
    """Runs the periodic jobs, each beside the others: a provider that answers slowly keeps no receipt waiting.

    Each job is leased, so of many workers one runs it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._jobs = periodic_jobs(context)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def sweep(self) -> bool:
        """Begin every job whose turn it is; there is never another round to make at once."""
        for job in self._jobs:
            if job.name in self._running or not await self._take_turn(job):
                continue
            task = asyncio.create_task(self._run(job))
            self._running[job.name] = task
            task.add_done_callback(partial(self._ended, job.name))
        return False

    async def finish(self, *, seconds: float) -> None:
        """Wait for the jobs that run, at most `seconds`; then break them off."""
        tasks = set(self._running.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _take_turn(self, job: Periodic) -> bool:
        context = self._context
        return await take_turn(
            context.database, name=job.name, holder=context.holder, every=job.every, lease=LEASE_SECONDS
        )

    async def _run(self, job: Periodic) -> None:
        context = self._context
        try:
            await job.run(context)
        except Exception:  # one broken job must not keep the others from running
            log.exception("sweep.fault", job=job.name)
        try:
            await end_turn(context.database, name=job.name, holder=context.holder, every=job.every)
        except Exception:  # then the lease runs out by itself
            log.exception("sweep.lease_kept", job=job.name)

    def _ended(self, name: str, _: asyncio.Task[None]) -> None:
        self._running.pop(name, None)


def make_sweep_lane(sweeper: Sweeper) -> Lane:
    """Return the sweep lane over a sweeper."""

    async def idle() -> float:
        return IDLE_SECONDS

    return Lane("sweep", work=sweeper.sweep, idle=idle)
