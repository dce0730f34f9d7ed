"""What a person writes stops the machine in the same instant, and somebody owns the answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.campaigns.domain.vocabulary import Stim
from app.campaigns.operations.leftovers import process_leftovers, process_receipt
from app.config import Settings
from app.messaging.gateways.base import Accepted
from app.messaging.operations.receive import keep_inbound
from tests.fixtures.emptying import dump
from tests.fixtures.engine import SENDER, World, form, open_world
from tests.fixtures.simulator import free_port
from tests.integration.campaigns.steps import (
    command,
    enrol_one,
    enrolment,
    hand_back,
    plan_and_start,
    sends,
    sent_to,
    settle,
    told,
)


async def handoffs(world: World) -> list[Any]:
    """Return all handoffs."""
    return await world.rows("SELECT * FROM handoffs ORDER BY id")


def message(sid: str, sender: str, body: str = "Hello", **more: str) -> dict[str, str]:
    """Return the fields of an inbound message."""
    return {"MessageSid": sid, "From": sender, "To": f"whatsapp:{SENDER}", "Body": body, **more}


async def test_a_reply_pauses_and_opens_a_handoff_in_one_transaction(world: World) -> None:
    lead, _, _ = await sent_to(world)
    signal = await world.reply(lead, "How much is it?")
    journey = await enrolment(world, lead)
    assert (journey.stage, journey.automation) == ("engaged", "paused")
    assert (journey.return_path, journey.return_step) == ("nurture", "wait_1")
    [handoff] = await handoffs(world)
    assert (handoff.contact_id, handoff.reason) == (lead, "replied")
    xids = await world.rows(
        "SELECT DISTINCT xid::text AS xid FROM ledger "
        "WHERE contact_id = :id AND type IN ('replied', 'paused', 'handoff_opened') "
        "UNION SELECT processed_xid::text FROM signals WHERE id = :signal",
        id=lead,
        signal=signal,
    )
    assert len(xids) == 1
    assert journey.first_reply_send_id == (await sends(world, lead))[0].id
    [bubble] = await world.rows("SELECT * FROM messages WHERE direction = 'in'")
    assert bubble.text == "How much is it?"


async def test_C01_a_reply_while_a_send_is_in_the_air_stops_everything_after_it(world: World) -> None:
    lead = await enrol_one(world)
    [call] = await plan_and_start(world)
    await world.reply(lead, "Hello?")
    await settle(world, call, Accepted("SM1", "accepted"))
    journey = await enrolment(world, lead)
    assert (journey.stage, journey.automation, journey.return_step) == ("engaged", "paused", "wait_1")
    await world.advance(days=30)
    assert await world.received() == {}
    assert len(await sends(world, lead)) == 1


async def test_two_replies_at_once_make_one_handoff_and_two_bubbles(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await asyncio.gather(*(world.reply(lead, f"Question {n}", MessageSid=f"SM{n:032d}") for n in range(6)))
    assert len(await handoffs(world)) == 1
    assert await world.value("SELECT count(*) FROM messages WHERE direction = 'in'") == 6
    assert (await told(world, lead)).count("paused") == 1
    assert await world.value("SELECT version FROM conversations") == 6


@pytest.mark.parametrize("times", [1, 3])
async def test_B09_a_redelivery_changes_nothing_not_even_after_a_day(world: World, times: int) -> None:
    lead, _, _ = await sent_to(world)
    fields = message("SM5", f"whatsapp:{await world.phone_of(lead)}")
    await world.receive_inbound(fields)
    before = await dump(world.database)
    for _ in range(times):
        await world.receive_inbound(fields)
    assert await dump(world.database) == before
    await hand_back(world, lead)
    before = await dump(world.database)
    signal = await world.receive_inbound(fields)
    assert not await process_receipt(world.database, signal_id=signal, kind="inbound")
    assert await dump(world.database) == before


async def test_B09_a_reply_processed_by_two_at_once_is_processed_once(world: World) -> None:
    lead, _, _ = await sent_to(world)
    async with world.database.transaction() as uow:
        fields = message("SM5", f"whatsapp:{await world.phone_of(lead)}")
        receipt = await keep_inbound(uow, fields=form(fields), now=world.now)
    done = await asyncio.gather(
        *(process_receipt(world.database, signal_id=receipt.signal_id, kind="inbound") for _ in range(5))
    )
    assert done.count(True) == 1
    assert await world.value("SELECT count(*) FROM messages WHERE direction = 'in'") == 1


async def test_B11_the_message_id_decides_whatever_the_spelling_of_the_sender(world: World) -> None:
    await world.receive_inbound(message("SM1", "whatsapp:+5511988887777"))
    await world.receive_inbound(message("SM1", "whatsapp:+551188887777"))
    await world.receive_inbound(message("SM1", "WhatsApp: +55 11 98888-7777"))
    assert await world.value("SELECT count(*) FROM contacts") == 1
    assert await world.value("SELECT count(*) FROM messages") == 1
    assert len(await handoffs(world)) == 1


@pytest.mark.parametrize("word", ["STOP", "Berhenti", "stop please!"])
async def test_a_stop_word_ends_the_journey_closes_everything_and_is_confirmed_once(
    world: World, word: str
) -> None:
    await world.simulator.behave(window_hours=None)  # the simulator did not hear the word itself
    lead, _, _ = await sent_to(world)
    await world.reply(lead, word)
    await world.run()
    journey = await enrolment(world, lead)
    assert (journey.stage, journey.automation) == ("opted_out", "completed")
    [closed] = await world.rows("SELECT channel, reason FROM suppressions")
    assert (closed.channel, closed.reason) == ("all", "stop_word")
    assert await handoffs(world) == []
    await world.advance(days=30)
    sent = [(s.kind, s.status, s.attempts) for s in await sends(world, lead)]
    assert sent == [("campaign", "accepted", 1), ("system", "accepted", 1)]


async def test_what_the_provider_confirmed_itself_we_do_not_confirm_again(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.reply(lead, "STOP", OptOutType="STOP")
    assert [s.kind for s in await sends(world, lead)] == ["campaign"]


async def test_start_lifts_only_what_stop_closed_and_the_ended_journey_stays_ended(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.execute(
        "INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
        "VALUES (:id, 'sms', 'unreachable', 'test', now())",
        id=lead,
    )
    await world.reply(lead, "STOP")
    await world.reply(lead, "START")
    standing = await world.rows("SELECT channel, reason FROM suppressions WHERE lifted_at IS NULL")
    assert [(s.channel, s.reason) for s in standing] == [("sms", "unreachable")]
    lifted = await world.rows("SELECT lifted_by, lift_reason FROM suppressions WHERE lifted_at IS NOT NULL")
    assert [s.lift_reason for s in lifted] == ["start_word"]
    assert (await enrolment(world, lead)).stage == "opted_out"
    assert await handoffs(world) == []
    await world.reply(lead, "Are you there?")
    assert len(await handoffs(world)) == 1


async def test_start_without_a_stop_is_a_reply_like_any_other(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.reply(lead, "START")
    assert (await enrolment(world, lead)).stage == "engaged"
    assert len(await handoffs(world)) == 1


async def test_a_doubtful_word_pauses_and_the_handoff_says_so(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.reply(lead, "cancel")
    journey = await enrolment(world, lead)
    assert (journey.stage, journey.automation) == ("engaged", "paused")
    [handoff] = await handoffs(world)
    assert handoff.reason == "may_want_to_stop"
    assert await world.value("SELECT count(*) FROM suppressions") == 0
    assert [s.kind for s in await sends(world, lead)] == ["campaign"]


async def test_a_stop_word_while_a_send_is_queued_supersedes_it(world: World) -> None:
    lead = await enrol_one(world)
    await world.reply(lead, "STOP")
    await world.run()
    assert await world.value("SELECT count(*) FROM send_attempts a JOIN sends s ON s.id = a.send_id "
                             "WHERE s.kind = 'campaign'") == 0  # fmt: skip


async def test_an_unknown_sender_becomes_a_contact_with_a_handoff(world: World) -> None:
    await asyncio.gather(
        *(
            world.receive_inbound(message(f"SM{n}", "whatsapp:+60129990000", ProfileName="Ana"))
            for n in range(4)
        )
    )
    [contact] = await world.rows("SELECT * FROM contacts")
    assert contact.name == "Ana"
    [handoff] = await handoffs(world)
    assert (handoff.contact_id, handoff.enrolment_id, handoff.reason) == (contact.id, None, "wrote_first")
    assert await told(world, contact.id) != []


async def test_E15_a_sender_without_a_number_is_a_person_keyed_by_the_user_id(world: World) -> None:
    await world.receive_inbound(message("SM1", "whatsapp:MY.13491208655302741918", ProfileName="Ana"))
    await world.receive_inbound(message("SM2", "whatsapp:my.13491208655302741918"))
    [identity] = await world.rows("SELECT kind, value FROM contact_identities")
    assert (identity.kind, identity.value) == ("whatsapp_user", "MY.13491208655302741918")
    assert len(await handoffs(world)) == 1
    # A later message with the number beside the id links it to the same person where nobody else has it.
    await world.receive_inbound(message("SM3", "whatsapp:+60129990001", ExternalUserId="whatsapp:MY.77"))
    rows = await world.rows(
        "SELECT contact_id FROM contact_identities WHERE value IN ('MY.77', '+60129990001')"
    )
    assert len({r.contact_id for r in rows}) == 1


async def test_a_reply_after_the_end_opens_a_handoff_and_is_credited(world: World) -> None:
    await world.restart(
        definition={"paths": {"nurture": [{"key": "only", "kind": "message", "template": "hello"}]}}
    )
    lead, _, _ = await sent_to(world)
    assert (await enrolment(world, lead)).stage == "exhausted"
    await world.reply(lead, "Is it too late?")
    journey = await enrolment(world, lead)
    assert (journey.stage, journey.first_reply_send_id) == ("exhausted", (await sends(world, lead))[0].id)
    [handoff] = await handoffs(world)
    assert (handoff.contact_id, handoff.enrolment_id) == (lead, journey.id)


async def test_a_reply_under_a_hold_opens_a_handoff_and_the_release_gives_a_pause(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await command(world, lead, Stim.OPERATOR_HELD)
    await world.reply(lead, "Hello?")
    assert (await enrolment(world, lead)).automation == "held"
    assert len(await handoffs(world)) == 1
    await command(world, lead, Stim.OPERATOR_RELEASED)
    assert (await enrolment(world, lead)).automation == "paused"


async def test_handing_back_closes_the_handoff_and_goes_on_where_it_was(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.reply(lead, "Call me next week")
    await hand_back(world, lead)
    [handoff] = await handoffs(world)
    assert (handoff.status, handoff.outcome) == ("closed", "resumed")
    await world.advance(days=2)
    assert list((await world.received()).values()) == [1]
    await world.reply(lead, "Thanks")
    assert [h.status == "closed" for h in await handoffs(world)] == [True, False]


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"From": "68849"}, "ignored:short_code"),
        ({"From": ""}, "ignored:no_sender"),
        ({"From": "whatsapp:nobody at all"}, "ignored:unknown_sender"),
    ],
)
async def test_what_nobody_can_answer_is_kept_and_makes_nobody(
    world: World, fields: dict[str, str], outcome: str
) -> None:
    await world.receive_inbound({**message("SM1", "x", "Your code is 1"), "To": SENDER, **fields})
    [signal] = await world.rows("SELECT outcome, payload FROM signals")
    assert signal.outcome == outcome
    assert "Your code is 1" in str(signal.payload)
    assert await world.value("SELECT count(*) FROM contacts") == 0


async def test_an_unknown_kind_of_message_is_shown_and_answered_by_a_person(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.reply(lead, "", MessageType="hologram")
    [bubble] = await world.rows("SELECT kind FROM messages WHERE direction = 'in'")
    assert bubble.kind == "unsupported"
    assert len(await handoffs(world)) == 1


async def test_a_reply_during_a_redis_outage_pauses_all_the_same(settings: Settings, tmp_path: Path) -> None:
    away = replace(settings, redis_url=f"redis://127.0.0.1:{free_port()}/0")
    async with open_world(away, tmp_path) as world:
        lead, _, _ = await sent_to(world)
        async with asyncio.timeout(5):
            await world.reply(lead, "Hello?")
        assert (await enrolment(world, lead)).automation == "paused"
        [handoff] = await handoffs(world)
        assert handoff.owner_id is not None


async def test_a_fault_while_processing_is_noted_and_the_sweep_takes_it_up(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.execute("ALTER TABLE messages ADD CONSTRAINT broken CHECK (direction <> 'in') NOT VALID")
    try:
        with capture_logs() as logs:
            signal = await world.reply(lead, "Hello?")
        assert [(entry["event"], entry["signal_id"]) for entry in logs] == [("signal.failed", signal)]
        [kept] = await world.rows("SELECT * FROM signals WHERE id = :id", id=signal)
        assert (kept.processed_at, kept.tries, kept.problem) == (None, 1, "IntegrityError")
        assert await process_leftovers(world.database) == 0  # not at once again
    finally:
        await world.execute("ALTER TABLE messages DROP CONSTRAINT broken")
    assert (await enrolment(world, lead)).automation == "active"
    await world.execute("UPDATE signals SET not_before = clock_timestamp()")
    await process_leftovers(world.database)
    assert (await enrolment(world, lead)).automation == "paused"
    assert len(await handoffs(world)) == 1


async def test_V01_text_that_no_database_takes_is_cleaned_noted_and_not_lost(world: World) -> None:
    lead, _, _ = await sent_to(world)
    await world.reply(lead, "Hi\x00there")
    [bubble] = await world.rows("SELECT text, extra FROM messages WHERE direction = 'in'")
    assert "\x00" not in bubble.text and "there" in bubble.text
    assert (await enrolment(world, lead)).automation == "paused"
