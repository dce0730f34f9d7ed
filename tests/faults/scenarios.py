"""The long run's scenarios: each has a database, a provider and a list of its own, and one kind of harm."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from app.config import PROJECT_ROOT
from app.demo.organisation import CAMPAIGN, DEFINITION
from tests.faults.audit import audit, audit_replies, violations
from tests.faults.planting import made_up_leads
from tests.faults.processes import Player
from tests.faults.stage import Stage, Timing, environment_for, open_stage
from tests.faults.trouble import (
    Killer,
    Repliers,
    double_and_shuffle_callbacks,
    flush_valkey,
    unreliable_provider,
)
from tests.faults.waiting import Reviewer, wait_for_sends, wait_until_at_rest, wait_until_flowing

OPEN_DAY = PROJECT_ROOT / "tests" / "data" / "leads-open-day.csv"
OPEN_DAY_ENROLLED = 960
STEPS = sum(step["kind"] == "message" for step in DEFINITION["paths"]["nurture"])
BETWEEN_STEPS = timedelta(days=2, minutes=5)
REPLIES = 30
SECONDS_A_KILL = 2.0
SECONDS_OF_REPLIES = 15.0
REST_WITHIN_SECONDS = 420.0
SHORT = Timing(answer=4.0, lease=12.0, look_up=12.0, look_again=18.0)
REAL_LEASE = Timing(look_again=75.0)  # as shipped, but the second look-up, which is after five minutes


@dataclass(frozen=True, slots=True)
class Plan:
    """What the person asked for."""

    leads: int
    workers: int
    kills: int
    rate: float
    seed: int


@dataclass(slots=True)
class Figures:
    """What one scenario came to."""

    name: str
    people: int = 0
    sends: int = 0
    duplicates: int = 0
    unmatched: int = 0
    unexplained: int = 0
    violations: int = 0
    stuck: int = 0
    kills: int = 0
    kills_in_the_air: int = 0
    flushes: int = 0
    replies: int = 0
    after_reply: int = 0
    on_the_wire: int = 0
    handoffs: int = 0
    unknown: int = 0
    """Attempts whose outcome nobody reported; they were looked up."""
    reviewed_sent: int = 0
    reviewed_again: int = 0
    retried: int = 0
    seconds: float = 0.0
    recovery_seconds: float = 0.0
    """From the last kill until whatever can go on by itself had gone on."""
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """One scenario under way."""

    stage: Stage
    plan: Plan
    figures: Figures
    rng: random.Random
    reviewer: Reviewer = field(default_factory=Reviewer)

    async def rest(self) -> None:
        """Wait until nothing is left to do, not even for the reviewer."""
        await wait_until_at_rest(self.stage, within=REST_WITHIN_SECONDS, reviewer=self.reviewer)

    async def next_step(self) -> None:
        """Let the days until the next step pass."""
        await self.stage.advance(BETWEEN_STEPS)

    async def close(self) -> None:
        """Take the figures of a stage at rest."""
        found, figures = await audit(self.stage), self.figures
        figures.people, figures.sends = found.people, found.messages
        figures.duplicates, figures.unmatched = found.duplicates, found.unmatched
        figures.unexplained, figures.stuck = found.unexplained, found.stuck
        figures.violations += found.violations
        figures.problems += found.problems
        figures.reviewed_sent, figures.reviewed_again = self.reviewer.sent, self.reviewer.again
        (row,) = await self.stage.rows(
            "SELECT count(*) FILTER (WHERE type = 'unknown') AS unknown, "
            "count(*) FILTER (WHERE type = 'deferred' AND data ? 'attempt') AS retried FROM ledger"
        )
        figures.unknown, figures.retried = row.unknown, row.retried

    def must(self, true: bool, problem: str) -> None:
        """Note a problem unless something is as it has to be."""
        if not true:
            self.figures.problems.append(problem)


async def plain(run: Run) -> None:
    """Two workers, no harm: everybody gets every step once."""
    await run.rest()
    for _ in range(STEPS - 1):
        await run.next_step()
        await run.rest()
    await run.close()
    run.must(run.figures.sends == run.plan.leads * STEPS, f"not {STEPS} messages for everybody")
    ended = await run.stage.value("SELECT count(*) FROM enrolments WHERE stage = 'exhausted'")
    run.must(ended == run.plan.leads, f"{ended} journeys came to their end")


async def kills(run: Run) -> None:
    """Workers are killed at random moments while they send, and started again at once."""
    killer = Killer(run.stage, run.rng)
    began = time.monotonic()
    await _kill_and_go_on(run, killer)
    run.must(time.monotonic() - began < 1_800, "the kills took half an hour")
    await run.close()
    steps = await run.stage.value("SELECT count(DISTINCT step) FROM sends")
    run.must(run.figures.sends == run.plan.leads * steps, f"not {steps} messages for everybody")


async def _kill_and_go_on(run: Run, killer: Killer) -> None:
    for step in range(STEPS):
        if step:
            await run.next_step()
            await asyncio.sleep(1.5)
        await killer.kill(run.plan.kills - killer.kills, within=600)
        await run.stage.pace(run.plan.rate)  # what is left is not to be waited for
        if killer.kills:
            await wait_until_flowing(run.stage, within=REST_WITHIN_SECONDS)
            run.figures.recovery_seconds = max(
                run.figures.recovery_seconds, time.monotonic() - killer.last_at
            )
        run.figures.problems += await violations(run.stage)
        await run.rest()
        if killer.kills >= run.plan.kills:
            break
    figures = run.figures
    figures.kills, figures.kills_in_the_air = killer.kills, killer.with_open_attempts
    figures.violations += len(killer.found)
    figures.problems += killer.found
    run.must(killer.kills >= run.plan.kills, f"only {killer.kills} kills found something to hit")


async def callbacks(run: Run) -> None:
    """Every callback twice and shuffled, some lost; a provider that dies, delays, refuses and answers late."""
    await run.rest()
    await run.next_step()
    await run.rest()
    await run.close()
    run.must(run.figures.sends == run.plan.leads * 2, "not two messages for everybody")


async def valkey(run: Run) -> None:
    """The queue's server is emptied twice while sends are under way."""
    for share in (0.3, 0.7):
        await wait_for_sends(run.stage, at_least=int(run.plan.leads * share), within=300)
        await flush_valkey(run.stage)
        run.figures.flushes += 1
    await run.rest()
    await run.close()
    run.must(run.figures.sends == run.plan.leads, "not one message for everybody")


async def replies(run: Run) -> None:
    """Leads answer while the second step goes out; the machine goes on with the others to the end."""
    await run.rest()
    await run.stage.pace(run.plan.leads / SECONDS_OF_REPLIES)
    await run.next_step()
    begun = run.plan.leads
    await wait_for_sends(run.stage, at_least=begun + begun // 8, within=300)
    repliers = Repliers(run.stage, run.rng)
    await repliers.reply(min(REPLIES, run.plan.leads // 4), gap=0.15, copies=2)
    await run.rest()
    await run.stage.pace(run.plan.rate)
    for _ in range(STEPS - 2):
        await run.next_step()
        await run.rest()
    await _take_replies(run, repliers)
    await run.close()


async def _take_replies(run: Run, repliers: Repliers) -> None:
    found = await audit_replies(run.stage, repliers.sids)
    figures = run.figures
    figures.replies, figures.after_reply, figures.on_the_wire = (
        found.replies,
        found.after_reply,
        found.on_the_wire,
    )
    figures.handoffs = found.handoffs
    run.must(repliers.refused == 0, f"{repliers.refused} replies were refused")
    run.must(found.replies == len(repliers.sids), "a reply was lost")
    run.must(found.handoffs == found.replies, "not one handoff for each who answered")
    run.must(found.after_reply == 0, f"{found.after_reply} attempts began after a reply")
    run.must(found.not_paused == 0, f"{found.not_paused} journeys went on after a reply")


async def everything(run: Run) -> None:
    """All of it at once, through every step."""
    killer = Killer(run.stage, run.rng)
    repliers = Repliers(run.stage, run.rng)
    for step in range(STEPS):
        if step:
            await run.next_step()
            await asyncio.sleep(1.0)
        harm = [killer.kill(max(1, run.plan.kills // STEPS + 1), within=300)]
        if step == 1:
            harm.append(repliers.reply(min(REPLIES, run.plan.leads // 4), gap=0.3, copies=2))
        if step in (1, 3):
            harm.append(_flush_soon(run))
        await asyncio.gather(*harm)
        await run.rest()
    figures = run.figures
    figures.kills, figures.kills_in_the_air = killer.kills, killer.with_open_attempts
    figures.violations += len(killer.found)
    figures.problems += killer.found
    await _take_replies(run, repliers)
    await run.close()


async def _flush_soon(run: Run) -> None:
    await asyncio.sleep(run.rng.uniform(1, 4))
    await flush_valkey(run.stage)
    run.figures.flushes += 1


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario's play, its times, whether the provider is unreliable, and its pace beside the plan's."""

    play: Callable[[Run], Awaitable[None]]
    timing: Timing = SHORT
    unreliable: bool = False
    paced_by_kills: bool = False

    def rate(self, plan: Plan) -> float:
        """Return the sender's rate: slow enough that the kills fall into the sending."""
        return min(plan.rate, plan.leads / SECONDS_A_KILL / plan.kills) if self.paced_by_kills else plan.rate


SCENARIOS: dict[str, Scenario] = {
    "plain": Scenario(plain),
    "kills": Scenario(kills, timing=REAL_LEASE, paced_by_kills=True),
    "callbacks": Scenario(callbacks, unreliable=True),
    "valkey": Scenario(valkey),
    "replies": Scenario(replies),
    "everything": Scenario(everything, unreliable=True),
}


async def play(
    name: str, *, plan: Plan, database_url: str, redis_url: str, folder: Path, say: Callable[[str], None]
) -> Figures:
    """Play one scenario and return its figures; what went wrong stands in their `problems`."""
    scenario = SCENARIOS[name]
    figures = Figures(name)
    began = time.monotonic()
    async with open_stage(
        database_url=database_url,
        redis_url=redis_url,
        folder=folder,
        workers=plan.workers,
        rate=scenario.rate(plan),
        timing=scenario.timing,
    ) as stage:
        if scenario.unreliable:
            await double_and_shuffle_callbacks(stage)
            await unreliable_provider(stage, share=0.1, slow_seconds=6.0)
        async with _imported(stage, plan, database_url=database_url, redis_url=redis_url):
            say(f"{name}: imported")
            run = Run(stage, plan, figures, random.Random(plan.seed))
            try:
                await scenario.play(run)
            except AssertionError as error:
                figures.problems.append(str(error))
    figures.seconds = time.monotonic() - began
    return figures


@asynccontextmanager
async def _imported(stage: Stage, plan: Plan, *, database_url: str, redis_url: str) -> AsyncIterator[None]:
    """Import the list by the command; sending begins while it runs. At the end the command has ended well."""
    file = OPEN_DAY
    if plan.leads != OPEN_DAY_ENROLLED:
        file = stage.folder / "leads.csv"
        file.write_bytes(made_up_leads(range(plan.leads)))
    command = Player(
        "import",
        module=["app.cli", "import", str(file), "--campaign", CAMPAIGN],
        environment=environment_for(database_url=database_url, redis_url=redis_url, folder=stage.folder),
        folder=stage.folder,
    )
    command.start()
    try:
        await wait_for_sends(stage, at_least=1, within=120)
        yield
        code = await command.ended(within=60)
        assert code == 0, command.last_words()
    finally:
        command.stop()
