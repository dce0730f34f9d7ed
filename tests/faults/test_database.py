"""PostgreSQL cuts every connection: what was committed stands, what was not is done again."""

from __future__ import annotations

from tests.faults.conftest import Hall
from tests.faults.trouble import cut_connections
from tests.faults.waiting import wait_for_sends

LEADS = 60


async def test_connections_are_cut_in_the_middle_of_sending(hall: Hall) -> None:
    before = await hall.people()
    begun = await hall.stage.value("SELECT count(*) FROM send_attempts")
    await hall.bring_in(LEADS, rate=30)
    for share in (8, 25, 45):
        await wait_for_sends(hall.stage, at_least=begun + share, within=60)
        assert await cut_connections(hall.stage) >= 2
    await hall.check(people_before=before, people=LEADS)
    assert all(worker.running for worker in hall.stage.workers)
