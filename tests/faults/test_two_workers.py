"""Two workers at one list: each lead is written to once, and who answers hears nothing more of the machine."""

from __future__ import annotations

import random
from datetime import timedelta

from tests.faults.audit import audit_replies
from tests.faults.conftest import Hall
from tests.faults.trouble import Repliers
from tests.faults.waiting import wait_for_sends

LEADS = 60


async def test_two_workers_race_and_leads_answer_meanwhile(hall: Hall) -> None:
    before = await hall.people()
    await hall.bring_in(LEADS, rate=2000)
    await hall.check(people_before=before, people=LEADS)
    begun = await hall.stage.value("SELECT count(*) FROM send_attempts")
    await hall.stage.pace(45)
    await hall.stage.advance(timedelta(days=2, minutes=1))
    await wait_for_sends(hall.stage, at_least=begun + 5, within=60)
    repliers = Repliers(hall.stage, random.Random(5))
    await repliers.reply(10, gap=0.03, copies=2)
    await hall.check(people_before=before, people=LEADS)
    assert repliers.refused == 0
    replies = await audit_replies(hall.stage, repliers.sids)
    assert (replies.replies, replies.handoffs) == (10, 10)
    assert (replies.after_reply, replies.not_paused) == (0, 0)
