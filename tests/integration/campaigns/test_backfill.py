"""The backfill of cool-downs: past ends get the rest they should have left; a person is asked who began inside one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.campaigns.backfill.domain import rest_reason
from app.campaigns.backfill.preview import Preview, preview_backfill
from app.campaigns.backfill.work import carry_on_backfill, read_backfill, start_backfill
from app.campaigns.domain.vocabulary import Outcome, Stim
from app.clock import FixedClock
from app.kernel.errors import Conflict
from tests.fixtures.emptying import dump
from tests.fixtures.engine import World
from tests.integration.campaigns.doors import (
    close,
    cooldowns,
    enter,
    give_turns_now,
    other_campaign,
    requests_of,
    setting,
)
from tests.integration.campaigns.steps import command, enrol_one, enrolment, review, told

DAYS = timedelta(days=1)
OF_THE_RUN_ITSELF = ("runs", "audit_log")


class KilledError(BaseException):
    """Stands for the process being killed: nothing of ours catches it."""


class MortalClock(FixedClock):
    """A clock at whose nth reading the process is killed."""

    def __init__(self, at: datetime, *, dies_at: int) -> None:
        super().__init__(at)
        self.left = dies_at

    def now(self) -> datetime:
        """Return the time, or die."""
        self.left -= 1
        if self.left == 0:
            raise KilledError
        return super().now()


async def begin(world: World) -> int:
    """Begin a backfill."""
    async with world.database.transaction() as uow:
        return await start_backfill(uow, user_id=None, now=world.now)


async def run_all(world: World) -> Any:
    """Do a whole backfill; return its run."""
    run_id = await begin(world)
    assert await carry_on_backfill(world.database, clock=world.clock) == run_id
    async with world.database.reading() as uow:
        run = await read_backfill(uow, run_id=run_id)
    assert run.status == "done", run.problem
    return run


async def preview(world: World) -> Preview:
    """Look at what it would do."""
    async with world.database.reading() as uow:
        return await preview_backfill(uow, now=world.now)


async def ended(world: World, outcome: Outcome = Outcome.LOST, *, until: datetime | None = None) -> int:
    """Add somebody whose journey ended today and left no rest, as data from before does."""
    lead = await enrol_one(world)
    await close(world, lead, outcome, until=until)
    await world.execute("DELETE FROM cooldowns WHERE contact_id = :id", id=lead)
    return lead


async def begun_inside(world: World) -> int:
    """Add somebody who is live again though they should rest."""
    lead = await ended(world)
    world.clock.advance(10 * DAYS)
    assert (await enter(world, lead, ref=f"list:{lead}")).outcome == "enrolled"
    return lead


async def test_past_ends_get_the_rest_of_their_reason_from_the_moment_they_ended(world: World) -> None:
    lost, won = await ended(world), await ended(world, Outcome.WON)
    at = world.now
    world.clock.advance(20 * DAYS)
    run = await run_all(world)
    for lead, reason, days in ((lost, "lost", 90), (won, "won", 30)):
        [rest] = await cooldowns(world, lead)
        assert (rest.reason, rest.starts_at, rest.ends_at) == (reason, at, at + days * DAYS)
        assert (rest.written_at, rest.created_by) == (world.now, f"run:{run.id}")
        assert rest.enrolment_id == (await enrolment(world, lead)).id
    assert (run.counts["rests"], run.counts["rests_lost"], run.counts["rests_won"]) == (2, 1, 1)
    assert (
        await enter(world, lost, ref="list:9")
    ).reason == f"in_cooldown_until:{(at + 90 * DAYS).isoformat()}"


async def test_the_lengths_are_those_of_the_settings_when_the_run_began(world: World) -> None:
    lead = await ended(world)
    await setting(world, "cooldowns", '{"lost": 14}')
    run_id = await begin(world)
    await setting(world, "cooldowns", '{"lost": 3}')
    await carry_on_backfill(world.database, clock=world.clock)
    [rest] = await cooldowns(world, lead)
    assert rest.ends_at == world.now + 14 * DAYS
    assert await world.value("SELECT status FROM runs WHERE id = :id", id=run_id) == "done"


async def test_not_now_rests_until_the_date_that_its_handoff_holds(world: World) -> None:
    lead = await enrol_one(world)
    await world.reply(lead, "Not this year")
    given = world.now + 200 * DAYS
    await close(world, lead, Outcome.NOT_NOW, until=given)
    await world.execute("DELETE FROM cooldowns")
    await run_all(world)
    [rest] = await cooldowns(world, lead)
    assert rest.ends_at == given


async def test_an_end_that_has_its_rest_keeps_it_and_a_run_again_changes_nothing(world: World) -> None:
    kept = await enrol_one(world)
    await close(world, kept)
    inside = await begun_inside(world)
    before = await cooldowns(world, kept)
    await run_all(world)
    assert await cooldowns(world, kept) == before
    once = await dump(world.database)
    again = await run_all(world)
    twice = await dump(world.database)
    for table in OF_THE_RUN_ITSELF:
        once.pop(table), twice.pop(table)
    assert once == twice
    assert again.counts == {"asked": 0, "paused": 0}
    assert (await enrolment(world, inside)).pause_reason == "cooldown"


async def test_a_journey_begun_inside_a_rest_is_paused_and_a_person_is_asked(world: World) -> None:
    lead = await begun_inside(world)
    run = await run_all(world)
    now_is = await enrolment(world, lead)
    assert (now_is.automation, now_is.pause_reason, now_is.next_run_at) == ("paused", "cooldown", None)
    [task] = await world.rows("SELECT * FROM tasks WHERE contact_id = :id", id=lead)
    assert (task.kind, task.subject, task.enrolment_id) == (
        "review",
        f"enrolment:{now_is.id}:cooldown",
        now_is.id,
    )
    assert "until 2027-02-28." in task.title, "a date of the organisation"
    assert (run.counts["asked"], run.counts["paused"]) == (1, 1)
    assert (await told(world, lead))[-2:] == ["paused", "task_opened"]
    await world.run()
    assert await world.received() == {}


async def test_the_answer_lets_it_go_on_in_spite_of_the_rest_and_no_run_stops_it_again(world: World) -> None:
    lead = await begun_inside(world)
    await run_all(world)
    await review(world, lead, "skip")
    now_is = await enrolment(world, lead)
    assert (now_is.automation, now_is.pause_reason) == ("active", None)
    assert "task_done" in await told(world, lead)
    await run_all(world)
    assert (await enrolment(world, lead)).automation == "active"
    await world.run()
    assert sum((await world.received()).values()) == 1


@pytest.mark.parametrize("ends", [True, False])
async def test_what_a_person_does_with_the_journey_answers_the_question(world: World, ends: bool) -> None:
    lead = await begun_inside(world)
    await run_all(world)
    if ends:
        await close(world, lead, Outcome.NOT_NOW, until=world.now + 100 * DAYS)
    else:
        await command(world, lead, Stim.OPERATOR_RESUMED)
    [task] = await world.rows("SELECT done_at, outcome FROM tasks WHERE contact_id = :id", id=lead)
    assert (task.done_at, task.outcome) == (world.now, "by_deed")


async def overridden(world: World) -> int:
    """Somebody whom a person let in knowingly."""
    lead = await ended(world)
    assert (await enter(world, lead, ref="form:9", override="They called")).outcome == "enrolled"
    return lead


async def in_an_exempt_campaign(world: World) -> int:
    """Somebody in a campaign that minds no rests."""
    lead = await ended(world)
    await other_campaign(world, exempt=True)
    assert (await enter(world, lead, campaign="other", ref="form:9")).outcome == "enrolled"
    return lead


async def whose_rest_is_over(world: World) -> int:
    """Somebody who began inside a rest that is over by now."""
    lead = await begun_inside(world)
    world.clock.advance(81 * DAYS)
    return lead


async def who_began_after_it(world: World) -> int:
    """Somebody who began after the rest."""
    lead = await ended(world, Outcome.WON)
    world.clock.advance(30 * DAYS)
    assert (await enter(world, lead, ref="form:9")).outcome == "enrolled"
    return lead


@pytest.mark.parametrize("case", [overridden, in_an_exempt_campaign, whose_rest_is_over, who_began_after_it])
async def test_who_may_go_on_is_left_alone(world: World, case: Callable[[World], Awaitable[int]]) -> None:
    lead = await case(world)
    run = await run_all(world)
    assert (run.counts["rests"], run.counts["asked"]) == (1, 0)
    assert (await enrolment(world, lead)).automation == "active"


async def test_who_is_paused_or_held_already_stays_so_and_a_person_is_asked(world: World) -> None:
    talks, held = await begun_inside(world), await begun_inside(world)
    await world.reply(talks, "Hello?")
    await command(world, held, Stim.OPERATOR_HELD)
    run = await run_all(world)
    assert (run.counts["asked"], run.counts["paused"]) == (2, 0)
    assert ((await enrolment(world, talks)).pause_reason, (await enrolment(world, held)).automation) == (
        "replied",
        "held",
    )
    await review(world, talks, "skip")
    assert (await enrolment(world, talks)).automation == "paused", "the conversation goes first"
    await review(world, held, "skip")
    assert (await enrolment(world, held)).automation == "held", (
        "the answer is about the rest, not about the hold"
    )


async def test_the_rest_of_somebody_merged_is_their_survivors(world: World) -> None:
    gone = await ended(world)
    survivor = await enrol_one(world)
    await world.execute("UPDATE contacts SET merged_into = :to WHERE id = :id", to=survivor, id=gone)
    await run_all(world)
    [rest] = await cooldowns(world, survivor)
    assert rest.reason == "lost"


async def test_a_rest_that_is_found_late_puts_turns_off(world: World) -> None:
    await other_campaign(world)
    lead = await enrol_one(world)
    await enter(world, lead, campaign="other", ref="list:1", waits=True)
    await close(world, lead)
    await world.execute("DELETE FROM cooldowns")
    await world.execute("UPDATE enrolment_requests SET not_before = :now", now=world.now)
    await run_all(world)
    await give_turns_now(world)
    [request] = await requests_of(world, lead)
    assert (request.status, request.not_before) == ("waiting", world.now + 90 * DAYS)


async def test_the_dry_run_says_what_the_run_then_does_and_changes_nothing(world: World) -> None:
    await ended(world, Outcome.WON)
    for _ in range(3):
        await begun_inside(world)
    await who_began_after_it(world)
    before = await dump(world.database)
    said = await preview(world)
    assert await dump(world.database) == before
    run = await run_all(world)
    assert dict(said.rests) == {"won": run.counts["rests_won"], "lost": run.counts["rests_lost"]}
    assert (said.asked, said.running) == (run.counts["asked"], 3)
    assert await preview(world) == Preview({}, 0, 0)


@pytest.mark.parametrize("dies_at", [2, 3])
async def test_a_kill_between_two_batches_loses_and_doubles_nothing(world: World, dies_at: int) -> None:
    lead = await begun_inside(world)
    run_id = await begin(world)
    with pytest.raises(KilledError):
        await carry_on_backfill(world.database, clock=MortalClock(world.now, dies_at=dies_at))
    assert await carry_on_backfill(world.database, clock=world.clock) is None, "the dead one's lease stands"
    with pytest.raises(Conflict) as under_way:
        await begin(world)
    assert under_way.value.facts["run_id"] == run_id
    await world.execute("UPDATE runs SET lease_expires_at = clock_timestamp() - interval '1 second'")
    assert await carry_on_backfill(world.database, clock=world.clock) == run_id
    assert len(await cooldowns(world, lead)) == 1
    assert (await told(world, lead)).count("paused") == 1
    async with world.database.reading() as uow:
        run = await read_backfill(uow, run_id=run_id)
    assert (run.status, run.counts["rests"], run.counts["asked"]) == ("done", 1, 1)
    audited = await world.rows("SELECT data FROM audit_log WHERE action = 'cooldowns_backfilled'")
    assert [row.data["counts"]["rests"] for row in audited] == [1]


@pytest.mark.parametrize(
    ("stage", "exit_reason", "reason"),
    [
        ("exhausted", "path_ended", "breakup"),
        ("closed", "path_ended", "completed"),
        ("closed", "won", "won"),
        ("closed", "lost", "lost"),
        ("closed", "not_now", "not_now"),
        ("closed", None, "manual"),
        ("opted_out", "opted_out", "opted_out"),
        ("exited", "complained", "opted_out"),
        ("exited", "merged", None),
        ("exited", "no_usable_channel", None),
        ("exited", "legacy", "manual"),
    ],
)
def test_each_end_has_its_reason(stage: str, exit_reason: str | None, reason: str | None) -> None:
    assert rest_reason(stage=stage, exit_reason=exit_reason) == reason
