"""S01: a worker that is killed costs time, never a message, and never a second one."""

from __future__ import annotations

import random

from tests.faults.conftest import Hall
from tests.faults.trouble import Killer
from tests.faults.waiting import wait_for_sends

LEADS = 60


async def test_S01_kill_9_of_workers_in_the_middle_of_sending(hall: Hall) -> None:
    before = await hall.people()
    begun = await hall.stage.value("SELECT count(*) FROM send_attempts")
    await hall.bring_in(LEADS, rate=15)
    await wait_for_sends(hall.stage, at_least=begun + 5, within=60)
    killer = Killer(hall.stage, random.Random(1), shortest=0.2, longest=1.2)
    await killer.kill(3, within=40)
    assert killer.kills == 3
    await hall.check(people_before=before, people=LEADS)
    assert killer.found == []
