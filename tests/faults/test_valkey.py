"""Hints are no truth: without them everything takes a little longer and nothing else."""

from __future__ import annotations

from tests.faults.conftest import Hall
from tests.faults.trouble import flush_valkey
from tests.faults.waiting import wait_for_sends

LEADS = 60


async def test_valkey_flushed_twice_in_the_middle_of_sending(hall: Hall) -> None:
    before = await hall.people()
    begun = await hall.stage.value("SELECT count(*) FROM send_attempts")
    await hall.bring_in(LEADS, rate=30)
    for share in (10, 35):
        await wait_for_sends(hall.stage, at_least=begun + share, within=60)
        await flush_valkey(hall.stage)
    reviewer = await hall.check(people_before=before, people=LEADS)
    assert (reviewer.sent, reviewer.again) == (0, 0)
