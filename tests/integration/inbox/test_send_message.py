"""An adviser's message: sent once, on what they saw, through an open door, and it stops the clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from app.advisers.events import HandoffAnswered
from app.inbox.domain.answering import Stale
from app.inbox.domain.content import TemplatePick
from app.inbox.events import AdviserMessageSent
from app.kernel.errors import Conflict, Invalid, NotFound
from tests.factories.journeys import add_lead, say, take_lead
from tests.integration.inbox.conftest import AINA, FARID, MEI, Desk


async def test_a_message_is_a_queued_send_and_a_bubble_and_stops_the_leads_clock(desk: Desk) -> None:
    lead = await desk.answering_lead()
    sent = await desk.send(lead, "Yes, at 10:00 <b>sharp</b>.")
    send = (await desk.rows("SELECT * FROM sends WHERE id = :id", id=sent.send_id))[0]
    assert (send["kind"], send["status"], send["author_id"]) == ("adviser", "queued", 1)
    assert (send["channel"], send["sender_id"], send["enrolment_id"]) == ("whatsapp", 1, None)
    assert send["content"]["text"] == "Yes, at 10:00 <b>sharp</b>."
    assert send["content"]["content_sid"] is None
    bubbles = await desk.rows("SELECT text FROM messages WHERE send_id = :id", id=sent.send_id)
    assert [bubble["text"] for bubble in bubbles] == ["Yes, at 10:00 <b>sharp</b>."]
    thread = (await desk.rows("SELECT * FROM conversations WHERE contact_id = :id", id=lead.contact_id))[0]
    assert (thread["version"], thread["unread"], thread["last_direction"]) == (2, 0, "out")
    handoff = (await desk.rows("SELECT * FROM handoffs WHERE contact_id = :id", id=lead.contact_id))[0]
    assert (handoff["owner_id"], handoff["status"], handoff["due_at"]) == (1, "answered", None)
    assert handoff["waiting_since"] == desk.now


async def test_the_ledger_the_reactions_the_queue_and_the_pages_hear_of_it(desk: Desk) -> None:
    lead = await desk.answering_lead()
    sent = await desk.send(lead, "Yes.")
    events = await desk.rows(
        "SELECT type, actor FROM ledger WHERE contact_id = :id AND data ->> 'send_id' = :send AND seq IS NULL",
        id=lead.contact_id,
        send=str(sent.send_id),
    )
    assert events == [{"type": "send_queued", "actor": "user:1"}]
    assert AdviserMessageSent(lead.contact_id, 1, sent.send_id) in desk.events
    assert any(isinstance(event, HandoffAnswered) for event in desk.events)
    assert desk.listener.hinted == ["send"]
    assert {f"lead:{lead.contact_id}", "inbox"} <= set(desk.listener.pushed)


async def test_A07_the_same_client_id_is_one_message_after_a_slow_network_and_a_double_click(
    desk: Desk,
) -> None:
    lead = await desk.answering_lead()
    version = await desk.version(lead)
    both = await asyncio.gather(*(desk.send(lead, "Yes, come by.\r\n", seen=version) for _ in range(4)))
    desk.now += timedelta(seconds=12)
    again = await desk.send(lead, "Yes, come by.", seen=version)
    assert len({sent.send_id for sent in [*both, again]}) == 1
    assert [sent.is_new for sent in [*both, again]].count(True) == 1
    assert await desk.value("SELECT count(*) FROM sends WHERE kind = 'adviser'") == 1
    assert (
        await desk.value(
            "SELECT count(*) FROM messages WHERE direction = 'out' AND send_id IN "
            "(SELECT id FROM sends WHERE kind = 'adviser')"
        )
        == 1
    )
    assert await desk.version(lead) == version + 1
    assert await desk.value("SELECT count(*) FROM ledger WHERE type = 'answered'") == 1


async def test_A07_an_id_that_was_used_for_another_text_is_refused_and_not_swallowed(desk: Desk) -> None:
    lead = await desk.answering_lead()
    await desk.send(lead, "Yes.")
    with pytest.raises(Conflict, match="used before"):
        await desk.send(lead, "No.")
    with pytest.raises(Conflict, match="used before"):
        await desk.send(lead, "Yes.", author=MEI)


async def test_what_was_written_before_the_lead_wrote_again_is_refused(desk: Desk) -> None:
    lead = await desk.answering_lead()
    seen = await desk.version(lead)
    await say(desk.database, phone=lead.phone, text="Sorry, Sunday!", now=desk.now, number=2)
    with pytest.raises(Stale):
        await desk.send(lead, "Saturday it is.", seen=seen)
    assert await desk.value("SELECT count(*) FROM sends WHERE kind = 'adviser'") == 0
    await desk.send(lead, "Sunday it is.")


async def test_two_messages_of_ones_own_in_a_row_need_no_fresh_page(desk: Desk) -> None:
    lead = await desk.answering_lead()
    seen = await desk.version(lead)
    await desk.send(lead, "One.", client_id="client-id-one", seen=seen)
    await desk.send(lead, "Two.", client_id="client-id-two", seen=seen)
    with pytest.raises(Stale):
        await desk.send(lead, "Three.", author=MEI, client_id="client-id-three", seen=seen)
    await say(desk.database, phone=lead.phone, text="Wait", now=desk.now, number=2)
    with pytest.raises(Stale):
        await desk.send(lead, "Four.", client_id="client-id-four", seen=seen)


async def test_nobody_answers_over_a_colleague(desk: Desk) -> None:
    lead = await desk.answering_lead()
    await take_lead(desk.database, contact_id=lead.contact_id, user_id=2, now=desk.now)
    with pytest.raises(Conflict, match="Farid Osman"):
        await desk.send(lead, "Mine!", author=AINA)
    await desk.send(lead, "Yes.", author=FARID)


async def test_G01_the_server_refuses_free_text_once_the_window_has_lapsed(desk: Desk) -> None:
    lead = await desk.answering_lead()
    desk.now += timedelta(hours=23, minutes=50)
    with pytest.raises(Invalid, match="24 hours"):
        await desk.send(lead, "Still there?")
    template = await desk.value("SELECT id FROM templates WHERE key = 'nudge'")
    sent = await desk.send(lead, TemplatePick(template, {"1": "Siti\nAminah"}))
    content = await desk.value("SELECT content FROM sends WHERE id = :id", id=sent.send_id)
    assert content["text"] == "Hello Siti Aminah, would you like to see a class?"
    assert content["variables"] == {"1": "Siti Aminah"}
    assert content["content_sid"].startswith("HX")


async def test_G01_our_own_messages_do_not_open_the_window(desk: Desk) -> None:
    lead = await desk.lead()
    template = await desk.value("SELECT id FROM templates WHERE key = 'nudge'")
    await desk.send(lead, TemplatePick(template, {}))
    with pytest.raises(Invalid, match="window is closed"):
        await desk.send(lead, "And another thing.", client_id="client-id-two")


async def test_a_lead_who_never_wrote_gets_a_thread_with_the_first_message(desk: Desk) -> None:
    lead = await add_lead(desk.database, phone="+60121110009")
    template = await desk.value("SELECT id FROM templates WHERE key = 'welcome'")
    sent = await desk.send(lead, TemplatePick(template, {}))
    assert sent.is_new
    assert await desk.version(lead) == 1


async def test_G07_an_unapproved_template_and_one_of_another_channel_are_refused(desk: Desk) -> None:
    lead = await desk.lead()
    await desk.execute("UPDATE templates SET approval = 'paused' WHERE key = 'nudge'")
    await desk.execute("UPDATE templates SET channel = 'sms' WHERE key = 'welcome'")
    paused = await desk.value("SELECT id FROM templates WHERE key = 'nudge'")
    sms = await desk.value("SELECT id FROM templates WHERE key = 'welcome'")
    with pytest.raises(Invalid, match="not approved"):
        await desk.send(lead, TemplatePick(paused, {}))
    with pytest.raises(NotFound):
        await desk.send(lead, TemplatePick(sms, {}))
    with pytest.raises(NotFound):
        await desk.send(lead, TemplatePick(2**62, {}))


async def test_V05_a_text_that_is_too_long_leaves_no_trace(desk: Desk) -> None:
    lead = await desk.answering_lead()
    with pytest.raises(Invalid, match="1,601 characters"):
        await desk.send(lead, "x" * 1601)
    assert await desk.value("SELECT count(*) FROM sends WHERE kind = 'adviser'") == 0
    assert await desk.value("SELECT count(*) FROM ledger WHERE type = 'answered'") == 0


async def test_a_message_goes_to_whom_the_contact_was_merged_into(desk: Desk) -> None:
    lead = await desk.answering_lead()
    twin = await add_lead(desk.database, phone="+60121110008")
    await desk.execute(
        "UPDATE contacts SET merged_into = :survivor WHERE id = :id",
        survivor=lead.contact_id,
        id=twin.contact_id,
    )
    sent = await desk.send(twin, "Hello you.", seen=await desk.version(lead))
    assert sent.contact_id == lead.contact_id
    with pytest.raises(NotFound):
        await desk.send(type(lead)(2**40, 0, ""), "Nobody.", client_id="client-id-two")


async def test_a_text_with_signs_that_cannot_be_stored_is_cleaned_and_sent(desk: Desk) -> None:
    lead = await desk.answering_lead()
    sent = await desk.send(lead, "Hi\x00 \ud800 there 👨‍👩‍👧")
    text = await desk.value("SELECT text FROM messages WHERE send_id = :id", id=sent.send_id)
    assert text == "Hi \ufffd there 👨‍👩‍👧"
