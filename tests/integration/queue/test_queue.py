"""Who stands in whose queue, in what order, and what it costs."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event

from app.db.session import Database, UnitOfWork, make_engine
from app.kernel.roles import Role
from app.queue.queries import MOST_ROWS, Filters, load_queue, queue_size
from app.queue.views import QueuePage
from app.web.viewer import Viewer
from tests.factories.journeys import MONDAY, add_lead, found_organisation, minutes, say, send_due, take_lead

NOW = MONDAY + timedelta(hours=2)
ZONE = "Asia/Kuala_Lumpur"
AINA = Viewer(1, "Aina Rahman", Role.ADVISER, ZONE, "t", "h")
FARID = Viewer(2, "Farid Osman", Role.ADVISER, ZONE, "t", "h")
MEI = Viewer(3, "Mei Tan", Role.MANAGER, ZONE, "t", "h")


@pytest.fixture(scope="module")
async def founded(module_database_url: str) -> AsyncIterator[Database]:
    """Give an organisation without leads; no test of the module leaves a trace in it."""
    engine = make_engine(module_database_url)
    database = Database(engine)
    await found_organisation(database)
    yield database
    await engine.dispose()


@pytest.fixture
async def uow(founded: Database) -> AsyncIterator[UnitOfWork]:
    """Give a transaction that is undone at the end."""
    async with founded.reading() as uow:
        yield uow


async def contact(uow: UnitOfWork, name: str = "A lead", *, owner: int | None = None) -> int:
    """Add somebody."""
    found = await uow.execute(
        "INSERT INTO contacts (name, language, owner_id, created_at, updated_at) "
        "VALUES (:name, 'en', :owner, :now, :now) RETURNING id",
        {"name": name, "owner": owner, "now": NOW},
    )
    return int(found.scalar_one())


async def handoff(
    uow: UnitOfWork,
    contact_id: int,
    *,
    owner: int | None = 1,
    due: float | None = None,
    waiting: float | None = None,
    warn: float | None = None,
) -> int:
    """Open a handoff that is due in so many minutes, or waits since so many."""
    found = await uow.execute(
        "INSERT INTO handoffs (contact_id, status, owner_id, reason, opened_at, clock_started_at, due_at, warn_at, "
        "waiting_since) VALUES (:contact, 'open', :owner, 'replied', :now, :now, :due, :warn, :waiting) RETURNING id",
        {
            "contact": contact_id,
            "owner": owner,
            "now": NOW - timedelta(hours=1),
            "due": None if due is None else NOW + minutes(due),
            "warn": None if warn is None else NOW + minutes(warn),
            "waiting": None if waiting is None else NOW - minutes(waiting),
        },
    )
    return int(found.scalar_one())


async def task(
    uow: UnitOfWork, contact_id: int, *, due: float, owner: int | None = None, kind: str = "review"
) -> None:
    """Open a task that is due in so many minutes."""
    await uow.execute(
        "INSERT INTO tasks (kind, subject, contact_id, owner_id, title, due_at, created_at) "
        "VALUES (:kind, gen_random_uuid()::text, :contact, :owner, 'Was this sent?', :due, :now)",
        {"kind": kind, "contact": contact_id, "owner": owner, "due": NOW + minutes(due), "now": NOW},
    )


async def queue(uow: UnitOfWork, viewer: Viewer = AINA, **filters: str) -> QueuePage:
    """Return a person's queue."""
    return await load_queue(
        uow,
        viewer=viewer,
        filters=Filters.read(**{"segment": "", "stage": "", **filters}),
        with_panel=False,
        now=NOW,
    )


async def names(uow: UnitOfWork, viewer: Viewer = AINA, **filters: str) -> list[str]:
    """Return the names in a person's queue, in order."""
    return [row.name for row in (await queue(uow, viewer, **filters)).rows]


async def test_an_adviser_sees_own_leads_and_the_pool_a_manager_the_team(uow: UnitOfWork) -> None:
    for name, owner in (("mine", 1), ("theirs", 2), ("pooled", None)):
        await handoff(uow, await contact(uow, name), owner=owner, due=5)
    assert await names(uow, AINA) == ["mine", "pooled"]
    assert await names(uow, FARID) == ["theirs", "pooled"]
    assert await names(uow, MEI) == ["mine", "theirs", "pooled"]


async def test_a_closed_handoff_is_in_nobodys_queue(uow: UnitOfWork) -> None:
    await handoff(uow, await contact(uow), due=5)
    await uow.execute("UPDATE handoffs SET status = 'closed', closed_at = now(), outcome = 'won'")
    for viewer in (AINA, MEI):
        page = await queue(uow, viewer)
        assert (page.rows, page.total, page.counts.on_time) == ((), 0, 0)


async def test_tasks_of_today_stand_in_it_and_those_of_tomorrow_or_of_a_colleagues_lead_do_not(
    uow: UnitOfWork,
) -> None:
    await task(uow, await contact(uow, "mine today", owner=1), due=60)
    await task(uow, await contact(uow, "nobody's today"), due=30)
    await task(uow, await contact(uow, "their lead", owner=2), due=30)
    await task(uow, await contact(uow, "their task"), due=30, owner=2)
    await task(uow, await contact(uow, "my task with their lead", owner=2), due=90, owner=1)
    await task(uow, await contact(uow, "tomorrow", owner=1), due=24 * 60, kind="call")
    assert await names(uow) == ["nobody's today", "mine today", "my task with their lead"]
    assert (await queue(uow)).rows[0].next_action.label == "Review"
    assert "tomorrow" not in await names(uow, MEI) and len(await names(uow, MEI)) == 5


async def test_a_review_stands_in_it_at_once_even_when_it_is_due_tomorrow(uow: UnitOfWork) -> None:
    lead = await contact(uow, "asked at night", owner=1)
    await task(uow, lead, due=60, kind="call")
    await task(uow, lead, due=24 * 60)
    [row] = (await queue(uow)).rows
    assert (row.group, row.review_url is None) == ("today", False)
    assert row.reasons == ("Was this sent? (due tomorrow 11:00)",)
    assert (await queue(uow, segment="review")).total == await queue_size(uow, viewer=AINA, now=NOW) == 1


async def test_a_lead_with_a_handoff_and_tasks_stands_once(uow: UnitOfWork) -> None:
    lead = await contact(uow)
    await handoff(uow, lead, waiting=5)
    await task(uow, lead, due=60)
    await task(uow, lead, due=30)
    [row] = (await queue(uow)).rows
    assert (row.group, row.reasons[0]) == ("today", "Was this sent? (due today 11:30)")


async def test_segments_filter_by_next_action_and_count_the_whole_queue(uow: UnitOfWork) -> None:
    await handoff(uow, await contact(uow, "reply"), due=5)
    await handoff(uow, await contact(uow, "wait"), waiting=5)
    await handoff(uow, await contact(uow, "take"), owner=None, due=5)
    await task(uow, await contact(uow, "review"), due=5)
    for segment in ("reply", "take", "review", "wait"):
        page = await queue(uow, segment=segment)
        assert ([row.name for row in page.rows], page.total) == ([segment], 1)
        assert [(one.key, one.count) for one in page.segments] == [
            ("all", 4), ("reply", 1), ("take", 1), ("review", 1), ("wait", 1)
        ]  # fmt: skip
        assert [one.key for one in page.segments if one.is_current] == [segment]
        assert page.rows_url == f"/queue/rows?segment={segment}"
    assert len(await names(uow, segment="nonsense")) == 4


async def test_the_stage_filters_too(uow: UnitOfWork, founded: Database) -> None:
    lead = await contact(uow, "engaged")
    await handoff(uow, lead, due=5)
    await handoff(uow, await contact(uow, "without a campaign"), due=5)
    await uow.execute(
        "INSERT INTO enrolments (contact_id, campaign_id, version_id, generation, ref, stage, automation, lap, "
        "sender_id, ledger_at, created_at) VALUES (:id, 1, 1, 1, 'x', 'engaged', 'paused', 1, 1, now(), now())",
        {"id": lead},
    )
    assert await names(uow, stage="engaged") == ["engaged"]
    assert await names(uow, stage="booked") == []
    assert (await queue(uow, stage="booked")).empty_words == "Nobody stands in this part of the queue."


async def test_the_clock_counts_are_those_of_the_whole_segment(uow: UnitOfWork) -> None:
    for due, warn in ((-1, -5), (0, -5), (4, -1), (4, 0), (14, 9), (60, 45)):
        await handoff(uow, await contact(uow), due=due, warn=warn)
    await handoff(uow, await contact(uow), waiting=1)
    counts = (await queue(uow)).counts
    assert (counts.overdue, counts.soon, counts.on_time) == (2, 2, 2)
    waiting = (await queue(uow, segment="wait")).counts
    assert (waiting.overdue, waiting.soon, waiting.on_time) == (0, 0, 0)


async def test_the_list_is_cut_from_the_top_and_says_how_many_there_are(uow: UnitOfWork) -> None:
    for number in range(MOST_ROWS + 7):
        await handoff(uow, await contact(uow, f"lead {number}"), due=MOST_ROWS - number)
    page = await queue(uow)
    assert (len(page.rows), page.total) == (MOST_ROWS, MOST_ROWS + 7)
    assert (page.rows[0].name, page.rows[-1].name) == (f"lead {MOST_ROWS + 6}", "lead 7")
    assert await queue_size(uow, viewer=AINA, now=NOW) == MOST_ROWS + 7


@pytest.mark.parametrize("seed", range(5))
async def test_the_order_in_sql_is_the_order_of_the_pure_rank(uow: UnitOfWork, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(45):
        lead = await contact(uow, owner=dice.choice([None, 1]))
        kind = dice.choice(["due", "waiting", "pool", "task", "both"])
        if kind != "task":
            owner = None if kind == "pool" else 1
            waits = kind == "waiting" or dice.random() < 0.3
            value = dice.choice([-90, -3, 0, 3, 9, 9, 120])
            await handoff(uow, lead, owner=owner, **({"waiting": abs(value)} if waits else {"due": value}))
        if kind in ("task", "both"):
            await task(uow, lead, due=dice.choice([-60, 5, 5, 200]))
    rows = (await queue(uow)).rows
    groups = ["now", "today", "waiting", "pool"]
    assert len(rows) == 45
    assert [groups.index(row.group) for row in rows] == sorted(groups.index(row.group) for row in rows)
    found = await _ranked(uow)
    assert [row.contact_id for row in rows] == found


async def _ranked(uow: UnitOfWork) -> list[int]:
    """Rank everybody in the tables by the pure function alone."""
    from app.queue.domain import Candidate, OpenHandoff, OpenTask, rank

    handoffs = {
        row.contact_id: OpenHandoff(
            row.owner_id,
            row.reason,
            row.clock_started_at,
            row.due_at,
            row.waiting_since,
            row.first_answered_at is None,
        )
        for row in await uow.execute("SELECT * FROM handoffs")
    }
    tasks: dict[int, OpenTask] = {}
    for row in await uow.execute("SELECT * FROM tasks ORDER BY due_at, id"):
        tasks.setdefault(row.contact_id, OpenTask(row.kind, row.title, row.due_at))
    people = sorted({*handoffs, *tasks})
    ranks = [rank(Candidate(p, handoffs.get(p), tasks.get(p)), now=NOW, zone=ZONE) for p in people]
    return [one.contact_id for one in sorted(ranks, key=lambda one: one.key)]


async def test_the_statements_do_not_grow_with_the_rows(uow: UnitOfWork) -> None:
    async def statements() -> int:
        seen: list[str] = []

        def count(*given: Any) -> None:
            seen.append(given[2])

        engine = uow.connection.sync_connection.engine  # type: ignore[union-attr]
        event.listen(engine, "before_cursor_execute", count)
        try:
            await load_queue(uow, viewer=AINA, with_panel=True, now=NOW)
        finally:
            event.remove(engine, "before_cursor_execute", count)
        return len(seen)

    await handoff(uow, await contact(uow), due=5)
    with_one = await statements()
    for _ in range(30):
        await handoff(uow, await contact(uow), due=5)
    assert await statements() == with_one <= 4


async def test_a_lead_who_answered_is_told_in_their_own_words(database_url: str) -> None:
    engine = make_engine(database_url)
    database = Database(engine)
    await found_organisation(database)
    lead = await add_lead(database, phone="+60123000007", name="Siti Aminah")
    await send_due(database, now=MONDAY + timedelta(seconds=5))
    await say(database, phone=lead.phone, text="How much is it?", now=MONDAY + minutes(3))
    now: datetime = MONDAY + minutes(4)
    async with database.reading() as uow:
        [pooled] = (await load_queue(uow, viewer=AINA, with_panel=False, now=now)).rows
    assert (pooled.group, pooled.can_take, pooled.owner_name, pooled.next_action.kind) == (
        "pool",
        True,
        None,
        "take",
    )
    await take_lead(database, contact_id=lead.contact_id, user_id=1, now=now)
    async with database.reading() as uow:
        page = await load_queue(uow, viewer=AINA, with_panel=True, now=now)
    [row] = page.rows
    assert (row.name, row.stage, row.group, row.last_text) == (
        "Siti Aminah",
        "Engaged",
        "now",
        "How much is it?",
    )
    assert row.reasons == ("First reply is due today 09:18", "Answered “Welcome”")
    assert (row.clock.state, row.clock.due_at, row.owner_name) == (
        "on_time",
        MONDAY + minutes(18),
        "Aina Rahman",
    )
    assert (row.can_take, row.can_assign) == (False, False)
    assert row.window_closes_at is not None and row.window_closes_at > now
    assert page.panel is not None and page.panel.contact_id == lead.contact_id
    assert page.topics == ("user:1", "pool")
    await engine.dispose()


async def test_a_review_comes_before_every_other_task_of_a_lead_and_is_led_to(uow: UnitOfWork) -> None:
    lead, busy, plain = await contact(uow, "Siti"), await contact(uow, "Devi"), await contact(uow, "Wei")
    await task(uow, lead, due=-60, kind="visit_reminder")
    await task(uow, lead, due=60)
    await handoff(uow, busy, owner=AINA.user_id, due=5)
    await task(uow, busy, due=30)
    await task(uow, plain, due=10, kind="call")
    rows = {row.contact_id: row for row in (await queue(uow)).rows}
    assert rows[lead].next_action.label == "Review" and rows[lead].comes_to_review
    assert rows[busy].group == "now" and not rows[busy].comes_to_review
    assert rows[lead].review_url and rows[busy].review_url and rows[plain].review_url is None
