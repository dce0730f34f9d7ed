"""Every callback twice and out of order, and a provider that dies in the middle: nothing twice, nothing back."""

from __future__ import annotations

from collections import Counter

from tests.faults.conftest import Hall
from tests.faults.trouble import bad_minute, double_and_shuffle_callbacks

LEADS = 60


async def test_every_callback_twice_and_shuffled_from_an_unreliable_provider(hall: Hall) -> None:
    before = await hall.people()
    await double_and_shuffle_callbacks(hall.stage)
    await bad_minute(hall.stage, times=2, slow_seconds=4.5)
    try:
        await hall.bring_in(LEADS, rate=60)
        await hall.check(people_before=before, people=LEADS)
    finally:
        await hall.stage.simulator.remove_faults()
    outcomes = Counter(r.outcome for r in await hall.stage.simulator.requests())
    trouble = ("hung_up_after", "answered_error_after", "hung_up_before", "refused", "answered_late")
    assert [outcomes[name] for name in trouble] == [4, 2, 2, 2, 2]  # it did happen
    back = await hall.stage.value(
        "SELECT count(*) FROM ledger WHERE type = 'send_accepted' AND data ? 'again'"
    )
    assert back == 0
