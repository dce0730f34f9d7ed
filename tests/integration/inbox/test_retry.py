"""Retry is the next attempt of the same message, and only after certainty that it reached nobody."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.campaigns.domain.gates import GatePolicy
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.start import StartedCall, start
from app.kernel.errors import Conflict, Invalid, NotFound
from app.messaging.gateways.base import Accepted, SendResult, Unknown
from tests.factories.journeys import Lead
from tests.integration.inbox.conftest import Desk


async def call(desk: Desk, result: SendResult) -> StartedCall:
    """Start the one queued send and settle its call."""
    calls = await start(desk.database, now=desk.now, slots=10, policy=GatePolicy(), organisation="")
    assert len(calls) == 1
    await settle_outcomes(desk.database, [CallOutcome(calls[0].attempt_id, result, "finish")], now=desk.now)
    return calls[0]


async def failed_later(desk: Desk, lead: Lead, code: str) -> int:
    """Write a message that the provider takes and gives up later, as its status report tells."""
    sent = await desk.send(lead, "Yes.")
    attempt = await call(desk, Accepted("SM1", "accepted"))
    await desk.execute(
        "UPDATE send_attempts SET outcome = 'failed', error_code = :code WHERE id = :id",
        code=code,
        id=attempt.attempt_id,
    )
    await desk.execute(
        "UPDATE sends SET status = 'failed', reason = :code WHERE id = :id", code=code, id=sent.send_id
    )
    return sent.send_id


async def test_a_failed_message_goes_again_as_the_same_send_and_bubble(desk: Desk) -> None:
    lead = await desk.answering_lead()
    send_id = await failed_later(desk, lead, "30003")
    again = await desk.retry(lead, send_id)
    twice = await desk.retry(lead, send_id)
    assert (again.send_id, again.is_new, twice.is_new) == (send_id, True, False)
    await call(desk, Accepted("SM2", "accepted"))
    send = (await desk.rows("SELECT status, attempts FROM sends WHERE id = :id", id=send_id))[0]
    assert send == {"status": "accepted", "attempts": 2}
    assert await desk.value("SELECT count(*) FROM messages WHERE send_id = :id", id=send_id) == 1
    causes = await desk.rows(
        "SELECT cause FROM ledger WHERE type = 'send_queued' AND data ->> 'kind' = 'adviser' ORDER BY id"
    )
    assert [row["cause"] for row in causes] == [None, "retry"]


async def test_a_message_whose_outcome_nobody_knows_is_not_sent_again(desk: Desk) -> None:
    lead = await desk.answering_lead()
    sent = await desk.send(lead, "Yes.")
    await call(desk, Unknown("timeout"))
    with pytest.raises(Conflict, match="We do not know yet whether it arrived"):
        await desk.retry(lead, sent.send_id)
    assert await desk.value("SELECT status FROM sends WHERE id = :id", id=sent.send_id) == "unknown"


async def test_what_cannot_get_better_is_refused_with_the_reason(desk: Desk) -> None:
    lead = await desk.answering_lead()
    send_id = await failed_later(desk, lead, "63024")
    with pytest.raises(Invalid, match="Trying again cannot help"):
        await desk.retry(lead, send_id)


async def test_G01_free_text_is_not_tried_again_after_the_window(desk: Desk) -> None:
    lead = await desk.answering_lead()
    send_id = await failed_later(desk, lead, "30003")
    desk.now += timedelta(days=2)
    with pytest.raises(Invalid, match="window is closed"):
        await desk.retry(lead, send_id)


async def test_the_campaigns_messages_and_those_of_others_are_out_of_reach(desk: Desk) -> None:
    lead = await desk.answering_lead()
    other = await desk.answering_lead("+60121110002", name="Lim Wei")
    campaigns = await desk.value(
        "SELECT id FROM sends WHERE contact_id = :id AND kind = 'campaign'", id=lead.contact_id
    )
    with pytest.raises(Invalid):
        await desk.retry(lead, campaigns)
    with pytest.raises(NotFound):
        await desk.retry(other, campaigns)
