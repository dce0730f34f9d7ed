"""Who follows the ledger keeps (xid, id) and reads below the snapshot's horizon: late commits are never skipped."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from app.db.session import Database, UnitOfWork
from app.ledger.repository import LedgerRow, append_events
from tests.integration.ledger.conftest import MORNING

_FOLLOW = """
SELECT xid::text::bigint AS xid, id, type FROM ledger
WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
  AND (xid, id) > (CAST(CAST(:xid AS text) AS xid8), :id) ORDER BY xid, id
"""


class Follower:
    """Keeps its cursor as the contract says."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._xid, self._id = 0, 0
        self.seen: list[str] = []

    async def read(self) -> None:
        """Read what is new and settled."""
        async with self._database.reading() as uow:
            for row in await uow.execute(_FOLLOW, {"xid": str(self._xid), "id": self._id}):
                self._xid, self._id = row.xid, row.id
                if row.type.startswith("rule_"):
                    self.seen.append(row.type)


async def _append(uow: UnitOfWork, type_: str) -> None:
    await append_events(uow, [LedgerRow(1, type_, MORNING, "test")])


async def test_an_event_that_commits_late_is_read_after_all_and_once(database: Database) -> None:
    follower = Follower(database)
    async with database.transaction() as slow:
        await _append(slow, "rule_slow")  # the lower id, committed last
        async with database.transaction() as quick:
            await _append(quick, "rule_quick")
        await follower.read()
        assert follower.seen == []  # the quick one is above the horizon: nothing is passed over
        async with database.reading() as uow:
            newest = (await uow.execute("SELECT max(id) FROM ledger")).scalar_one()
    await follower.read()
    assert sorted(follower.seen) == ["rule_quick", "rule_slow"]
    async with database.reading() as uow:
        skipped = await uow.execute("SELECT type FROM ledger WHERE id > :id", {"id": newest})
        assert skipped.all() == []  # a cursor on the id alone would never have seen the slow one


async def test_many_writers_and_one_follower_lose_nothing(database: Database) -> None:
    follower = Follower(database)
    done = asyncio.Event()

    async def write(number: int) -> None:
        for part in range(5):
            async with database.transaction() as uow:
                await _append(uow, f"rule_many_{number}_{part}")
                await asyncio.sleep(0.001 * (number % 3))

    async def follow() -> None:
        while not done.is_set():
            await follower.read()
            await asyncio.sleep(0.002)

    following = asyncio.create_task(follow())
    await asyncio.gather(*(write(n) for n in range(8)))
    done.set()
    await following
    await follower.read()
    many = [name for name in follower.seen if name.startswith("rule_many")]
    assert len(many) == len(set(many)) == 40


async def test_the_time_of_an_event_may_lie_before_the_one_in_front_the_order_is_the_number(
    database: Database,
) -> None:
    async with database.transaction() as uow:
        await append_events(
            uow,
            [
                LedgerRow(2, "later", MORNING + timedelta(days=1), "test", enrolment_id=77, seq=1),
                LedgerRow(2, "sooner", MORNING, "test", enrolment_id=77, seq=2),
            ],
        )
    async with database.reading() as uow:
        rows = await uow.execute("SELECT type FROM ledger WHERE enrolment_id = 77 ORDER BY seq")
        assert [row.type for row in rows] == ["later", "sooner"]
