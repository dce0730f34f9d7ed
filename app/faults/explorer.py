"""Runs random histories over one database and checks what must be true after them.

A history has a seed of its own, printed where something is found, and replays from it. What it cannot reach by
itself (a killed process, a restarted PostgreSQL or Valkey) is in the longer script of the fault tests.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError

from app.campaigns.domain.vocabulary import Outcome, Stim
from app.campaigns.operations.operate import close_journey, operate, resume_by_adviser
from app.clock import FixedClock
from app.db.session import Database
from app.faults import acts
from app.faults.acts import Play
from app.faults.provider import Provider
from app.faults.scheduler import Actor, Scheduler, StandStillError
from app.faults.town import build_town, move_in, number_from, phone
from app.integrity.runner import look
from app.reactions import Wiring, reactions
from app.realtime.push import NullPusher

BEGINNINGS = (
    datetime(2026, 11, 30, 1, 0, tzinfo=UTC),
    datetime(2027, 3, 27, 16, 0, tzinfo=UTC),  # the night before clocks go forward in Europe
    datetime(2027, 10, 30, 22, 0, tzinfo=UTC),  # the night in which they go back there
    datetime(2027, 4, 3, 12, 0, tzinfo=UTC),  # Lord Howe and Santiago
)
MOST_AT_ONCE = 5
CHECK_EVERY = 20
MOST_ROWS = 10_000
"""Each history numbers its rows from its seed on, so that it is the same alone and among others."""
LONGEST_DRAIN = 40

Act = Callable[[Play, Random], Awaitable[None]]
ACTS: tuple[tuple[Act, int], ...] = (
    (acts.plan_some, 22),
    (acts.send_some, 26),
    (acts.sweep_some, 14),
    (acts.reply, 9),
    (acts.report, 14),
    (acts.command, 8),
    (acts.answer_a_review, 3),
    (acts.visit, 6),
    (acts.switch, 1),
)


@dataclass(slots=True)
class Found:
    """What a run of histories found."""

    histories: int
    seed: int
    violations: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    """Of each history, who went on where, line by line."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all was found."""
        return not (self.violations or self.duplicates or self.stuck)

    def add(self, part: Found) -> None:
        """Take in what another process found."""
        self.histories += part.histories
        self.violations += part.violations
        self.duplicates += part.duplicates
        self.stuck += part.stuck
        self.traces += part.traces

    def as_json(self) -> dict[str, int]:
        """Return the counts."""
        return {
            "histories": self.histories,
            "seed": self.seed,
            "violations": len(self.violations),
            "duplicates": len(self.duplicates),
            "stuck": len(self.stuck),
        }


async def explore(
    database: Database,
    *,
    histories: int,
    seed: int,
    steps: int = 60,
    stop_at_first: bool = False,
    told: Callable[[int], None] = lambda _: None,
) -> Found:
    """Run `histories` histories from `seed` on over an empty database; the nth is `seed + n` alone.

    `told` is called after each with how many are done.
    """
    # What fails on purpose here is no news.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    await build_town(database, now=BEGINNINGS[0])
    found = Found(histories, seed)
    for number in range(histories):
        await _one(database, seed + number, steps, found)
        told(number + 1)
        if (number + 1) % CHECK_EVERY == 0 or number + 1 == histories:
            await _check_invariants(database, found, seed + number)
        if stop_at_first and not found.is_clean:
            found.histories = number + 1
            break
    return found


async def _one(database: Database, seed: int, steps: int, found: Found) -> None:
    random = Random(seed)
    await number_from(database, seed * MOST_ROWS)
    clock = FixedClock(random.choice(BEGINNINGS) + timedelta(minutes=random.randrange(600)))
    database.react_to(reactions(Wiring(database, clock, NullPusher())))
    first = seed * 10
    count = random.choice([1, 1, 2, 3])
    leads = await move_in(database, random=random, first=first, count=count, now=clock.now())
    phones = {lead: phone(first + n) for n, lead in enumerate(leads)}
    provider = Provider(Random(random.random()), prefix=f"{seed:06x}")
    play = Play(database, clock, provider, leads, phones)
    scheduler = Scheduler(database, random)
    problems: list[str] = []
    try:
        await _wild(play, scheduler, random, steps, problems)
        await _end_everybody(scheduler, problems)
        await _drain(play, random, problems)
    except StandStillError as error:
        found.stuck.append(f"seed {seed}: nothing moves: {error}")
    found.traces.append("\n".join(scheduler.trace))
    found.violations += [f"seed {seed}: {problem}" for problem in problems]
    found.duplicates += [f"seed {seed}: {twice}" for twice in await _duplicates(play)]
    found.stuck += [f"seed {seed}: {left}" for left in await _left_over(play)]
    await _close_the_rest(play)


async def _wild(play: Play, scheduler: Scheduler, random: Random, steps: int, problems: list[str]) -> None:
    """Let anything happen, `steps` times."""
    chosen, weights = zip(*ACTS, strict=True)
    for _ in range(steps):
        _take_note(scheduler, problems)
        standing = scheduler.standing()
        luck = random.random()
        if luck < 0.04:
            play.clock.advance(timedelta(hours=random.choice([1, 5, 24, 49])))
        elif luck < 0.07:
            await acts.let_real_time_pass(play, random.choice([2.0, 41.0, 70.0, 400.0]))
        elif luck < 0.09 and standing:
            await scheduler.crash(random.choice(standing))
        elif luck < 0.105 and standing:
            await scheduler.cut(random.choice(standing))
        elif luck < 0.11:
            for actor in standing:  # as when PostgreSQL restarts
                await scheduler.cut(actor)
        elif standing and (
            len(scheduler.actors) >= MOST_AT_ONCE or len(standing) < len(scheduler.actors) or luck < 0.68
        ):
            await scheduler.go_on(random.choice(await scheduler.may_go_on()))
        elif len(scheduler.actors) < MOST_AT_ONCE:
            act: Act = random.choices(chosen, weights=weights)[0]
            await scheduler.begin(act.__name__, _bound(act, play))


def _bound(act: Act, play: Play) -> Callable[[Random], Awaitable[None]]:
    async def work(random: Random) -> None:
        await act(play, random)

    return work


async def _end_everybody(scheduler: Scheduler, problems: list[str]) -> None:
    while scheduler.actors:
        _take_note(scheduler, problems)
        if standing := await scheduler.may_go_on():
            await scheduler.go_on(standing[0])
        elif scheduler.actors:
            await scheduler.wait_for_locks()


def _take_note(scheduler: Scheduler, problems: list[str]) -> None:
    """Keep what ended in a way nobody meant."""
    for actor in scheduler.take_ended():
        assert actor.task is not None
        if actor.task.cancelled():
            continue
        error = actor.task.exception()
        if error is not None and not _is_expected(actor, error):
            problems.append(f"{actor.name}: {type(error).__name__}: {error}"[:400])


def _is_expected(actor: Actor, error: BaseException) -> bool:
    if isinstance(error, acts.REFUSALS):
        return True
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return (actor.was_cut or actor.was_crashed) and (lost or isinstance(error, OSError | DBAPIError))


async def _drain(play: Play, random: Random, problems: list[str]) -> None:
    """Let the world calm down: everything is reported, looked up, answered, and every journey runs to its end."""
    play.provider.calm = True
    async with play.database.transaction() as uow:
        await uow.execute("DELETE FROM kill_switches")
    for turn in range(LONGEST_DRAIN):
        await acts.let_real_time_pass(play, 4000.0 if turn % 8 == 7 else 400.0)
        for taken in play.provider.taken:
            while taken.reports and turn >= 1:
                await acts.tell(play, taken.sid, taken.attempt_id, *taken.reports.pop(0))
        try:
            await acts.sweep_all(play, seldom_ones=turn % 2 == 0)
            for review in await play.rows(acts.OPEN_REVIEWS, leads=play.leads):
                await acts.answer(play, review, random)
            await acts.mark_past_visits(play, random)
            await acts.plan_some(play, Random(2))
            await acts.send_some(play, random)
            if not await _go_on(play, turn):
                return
        except acts.REFUSALS as error:
            problems.append(f"drain: {type(error).__name__}: {error}")
        await _wait_for_the_next(play)


async def _wait_for_the_next(play: Play) -> None:
    """Let business time go on to the next timer, or a few hours where none is set."""
    timers = await play.rows(_NEXT_TIMER, leads=play.leads)
    following = timers[0].at
    if following is not None and following > play.now:
        play.clock.advance(following - play.now + timedelta(minutes=1))
    else:
        play.clock.advance(timedelta(hours=9))


async def _go_on(play: Play, turn: int) -> int:
    """Hand paused leads back after a while; return how many journeys live, or wait for their last word."""
    live = await play.rows(_LIVE, leads=play.leads)
    if turn % 2:
        for row in live:
            await _let_go_on(play, row)
    return len(live)


async def _let_go_on(play: Play, row: Any) -> None:
    """Undo what people did to one journey, so that it can end; what was a question has been answered before."""
    async with play.database.transaction() as uow:
        if row.automation == "held":
            stim = Stim.OPERATOR_RELEASED
        elif row.automation == "paused" and (row.with_a_person or row.stage in ("engaged", "booked")):
            await resume_by_adviser(uow, contact_id=row.contact_id, actor="user:1", now=play.now)
            return
        elif row.automation == "paused":
            stim = Stim.OPERATOR_RESUMED
        else:
            return
        await operate(uow, enrolment_id=row.id, stim=stim, actor="user:1", reason="explored", now=play.now)


_LIVE = """
SELECT e.id, e.contact_id, e.automation, e.stage,
    EXISTS (SELECT FROM handoffs h WHERE h.contact_id = e.contact_id AND h.status <> 'closed') AS with_a_person
FROM enrolments e WHERE e.contact_id = ANY(CAST(:leads AS bigint[])) AND e.automation <> 'completed' ORDER BY e.id
"""

_NEXT_TIMER = """
SELECT min(least(e.next_run_at, e.resume_at)) AS at FROM enrolments e
WHERE e.contact_id = ANY(CAST(:leads AS bigint[])) AND e.automation IN ('active', 'paused')
"""

_ATTEMPTS = """
SELECT a.id AS attempt, s.id AS send_id, concat_ws('/', s.enrolment_id, s.generation, s.path, s.lap, s.step) AS step
FROM send_attempts a JOIN sends s ON s.id = a.send_id WHERE s.contact_id = ANY(CAST(:leads AS bigint[]))
"""


async def _duplicates(play: Play) -> list[str]:
    """Compare what the provider took, and did not give up, with the steps it belongs to."""
    known = {row.attempt: row for row in await play.rows(_ATTEMPTS, leads=play.leads)}
    arrived: dict[str, list[str]] = {}
    for taken in play.provider.taken:
        row = known.get(taken.attempt_id)
        if row is None:
            arrived.setdefault("unknown attempt", []).extend([taken.sid, taken.sid])
        elif not taken.failed:
            arrived.setdefault(row.step or f"send {row.send_id}", []).append(taken.sid)
    return [f"{step} arrived {len(sids)} times" for step, sids in arrived.items() if len(sids) > 1]


_LEFT = """
SELECT 'journey ' || id || ': ' || stage || ', ' || automation || coalesce(', ' || lock_token, '') AS what
FROM enrolments WHERE contact_id = ANY(CAST(:leads AS bigint[])) AND automation <> 'completed'
UNION ALL
SELECT 'send ' || id || ': ' || status FROM sends WHERE contact_id = ANY(CAST(:leads AS bigint[]))
    AND status IN ('queued', 'sending', 'unknown', 'needs_review')
UNION ALL
SELECT 'attempt ' || a.id || ' without an outcome' FROM send_attempts a JOIN sends s ON s.id = a.send_id
WHERE s.contact_id = ANY(CAST(:leads AS bigint[])) AND a.outcome IS NULL
UNION ALL
SELECT 'receipt ' || id || ': ' || coalesce(problem, '-') FROM signals WHERE processed_at IS NULL
"""


async def _left_over(play: Play) -> list[str]:
    """Return what has not come to rest although nothing stood in its way any more."""
    return [row.what for row in await play.rows(_LEFT, leads=play.leads)]


async def _close_the_rest(play: Play) -> None:
    """Leave nothing that a later history would plan or send."""
    live = await play.rows(
        "SELECT contact_id FROM enrolments WHERE contact_id = ANY(CAST(:leads AS bigint[])) "
        "AND automation <> 'completed' ORDER BY id",
        leads=play.leads,
    )
    for row in live:
        async with play.database.transaction() as uow:
            await close_journey(
                uow,
                contact_id=row.contact_id,
                outcome=Outcome.LOST,
                not_now_until=None,
                actor="user:1",
                now=play.now,
            )


async def _check_invariants(database: Database, found: Found, last: int) -> None:
    report: Any = await look(database)
    for finding in report.invariants:
        found.violations += [
            f"up to seed {last}: {finding.key} {o.detail} (contact {o.contact_id})" for o in finding.offenders
        ]
