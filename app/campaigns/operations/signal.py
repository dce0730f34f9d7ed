"""Signal: an inbound message becomes a pause, a handoff, a bubble and ledger events, in one transaction.

The receipt was stored before. Processing it again changes nothing: the row is locked, and done once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Row

from app.advisers.operations import handoffs
from app.campaigns.domain.stimuli import DoubtfulOptOut, HumanSignal, OptedOut
from app.campaigns.domain.vocabulary import Automation
from app.campaigns.operations.apply import apply
from app.campaigns.operations.attribution import last_campaign_send
from app.campaigns.operations.confirm import queue_stop_confirmation
from app.campaigns.operations.effects import Trigger, suppress
from app.campaigns.repository import Record, as_record, select_enrolments
from app.contacts.finding import FoundContact, add_identity, find_or_create
from app.db.session import Database, UnitOfWork
from app.ledger.repository import append_contact_event
from app.messaging.conversations import add_inbound
from app.messaging.domain.addresses import AddressKind
from app.messaging.domain.inbound import InboundMessage, Unprocessable
from app.messaging.domain.opt_out import OptOut, OptOutVerdict, classify
from app.messaging.events import InboundReceived
from app.messaging.operations.receive import read_inbound

log = structlog.get_logger(__name__)

DEFAULT_LANGUAGE = "en"
IDENTITY_KINDS = {AddressKind.PHONE: "phone", AddressKind.BSUID: "whatsapp_user"}


@dataclass(frozen=True, slots=True)
class _Done:
    """What processing did, for the signal's own row."""

    outcome: str
    contact_id: int | None = None
    enrolment_id: int | None = None
    human: bool = False
    was_active: bool | None = None


async def process_inbound(database: Database, *, signal_id: int) -> bool:
    """Process one stored inbound message; False where somebody else has done so. Time is the receipt's."""
    async with database.transaction() as uow:
        signal = (
            await uow.execute(
                "SELECT id, payload, at FROM signals WHERE id = :id AND kind = 'inbound' AND processed_at IS NULL "
                "FOR UPDATE",  # whoever processes it now is done in a moment, and the next one must come after
                {"id": signal_id},
            )
        ).one_or_none()
        if signal is None:
            return False
        done = await _process(uow, signal)
        await uow.execute(
            "UPDATE signals SET processed_at = clock_timestamp(), processed_xid = pg_current_xact_id(), "
            "contact_id = :contact_id, enrolment_id = :enrolment_id, human = :human, was_active = :was_active, "
            "outcome = :outcome, problem = NULL WHERE id = :id",
            {
                "id": signal_id,
                "contact_id": done.contact_id,
                "enrolment_id": done.enrolment_id,
                "human": done.human,
                "was_active": done.was_active,
                "outcome": done.outcome,
            },
        )
    return True


async def _process(uow: UnitOfWork, signal: Row[Any]) -> _Done:
    message = read_inbound(signal.payload)
    if isinstance(message, Unprocessable):
        return _Done(f"ignored:{message.reason}")
    if message.from_address.kind not in IDENTITY_KINDS:
        return _Done(f"ignored:{message.from_address.kind}")
    now: datetime = signal.at
    contact = await _sender_of(uow, message, now)
    await add_inbound(
        uow,
        contact_id=contact.id,
        signal_id=signal.id,
        message=message,
        sender_id=await _our_sender(uow, message),
        now=now,
    )
    record = await _latest_enrolment(uow, contact.id)
    after_stop = await _has_stopped(uow, contact.id)
    verdict = classify(message.text, opt_out_type=message.opt_out_type, after_stop=after_stop)
    uow.emit(InboundReceived(contact.id, signal.id))
    cause = f"signal:{signal.id}"
    match verdict.verdict:
        case OptOut.STOP:
            return await _stop(uow, contact, record, message, verdict, after_stop, cause, now)
        case OptOut.START if after_stop:
            return await _start_again(uow, contact, record, cause, now)
        case OptOut.DOUBTFUL:
            return await _human(uow, contact, record, DoubtfulOptOut(cause, message.text[:80]), cause, now)
        case _:
            return await _human(uow, contact, record, HumanSignal(cause), cause, now)


async def _sender_of(uow: UnitOfWork, message: InboundMessage, now: datetime) -> FoundContact:
    address = message.from_address
    contact = await find_or_create(
        uow,
        kind=IDENTITY_KINDS[address.kind],
        value=address.value,
        name=message.profile_name or None,
        language=DEFAULT_LANGUAGE,
        source=f"{address.channel}_inbound",
        now=now,
    )
    if address.kind is AddressKind.PHONE and message.external_user_id is not None:
        await add_identity(
            uow, contact_id=contact.id, kind="whatsapp_user", value=message.external_user_id.value, now=now
        )
    return contact


async def _our_sender(uow: UnitOfWork, message: InboundMessage) -> int | None:
    row = (
        await uow.execute(
            "SELECT id FROM senders WHERE channel = :channel AND (address = :address "
            "OR messaging_service_sid = :service) ORDER BY (address = :address) DESC, id LIMIT 1",
            {
                "channel": str(message.from_address.channel),
                "address": message.to_address.value,
                "service": message.messaging_service_sid,
            },
        )
    ).one_or_none()
    return row.id if row else None


async def _latest_enrolment(uow: UnitOfWork, contact_id: int) -> Record | None:
    """Lock the live enrolment, or else the last one that ended: its first reply is still worth knowing."""
    row = (
        await select_enrolments(
            uow,
            "WHERE e.contact_id = :id ORDER BY (e.automation = 'completed'), e.id DESC LIMIT 1 "
            "FOR NO KEY UPDATE OF e",
            {"id": contact_id},
        )
    ).one_or_none()
    return as_record(row) if row else None


async def _has_stopped(uow: UnitOfWork, contact_id: int) -> bool:
    rows = await uow.execute(
        "SELECT 1 FROM suppressions WHERE contact_id = :id AND reason = 'stop_word' AND lifted_at IS NULL LIMIT 1",
        {"id": contact_id},
    )
    return rows.one_or_none() is not None


async def _human(
    uow: UnitOfWork,
    contact: FoundContact,
    record: Record | None,
    stimulus: HumanSignal | DoubtfulOptOut,
    cause: str,
    now: datetime,
) -> _Done:
    """A person wrote: the machine stops, and somebody owns the answer."""
    trigger = await last_campaign_send(uow, contact.id, record.id if record else None, now)
    was_active = None
    if record is not None:
        was_active = record.state.automation is Automation.ACTIVE
        await _decide_and_save(uow, record, stimulus, trigger, cause, now)
    if record is None or record.state.automation is Automation.COMPLETED:
        flag = "may_want_to_stop" if isinstance(stimulus, DoubtfulOptOut) else None
        await handoffs.open_or_touch(
            uow,
            contact_id=contact.id,
            enrolment_id=record.id if record else None,
            reason="replied" if record else "wrote_first",
            flag=flag,
            trigger_send_id=trigger,
            actor=cause,
            now=now,
        )
    if record is None:
        await append_contact_event(
            uow, contact_id=contact.id, type="replied", at=now, actor="lead", cause=cause
        )
    return _Done("human", contact.id, record.id if record else None, human=True, was_active=was_active)


async def _stop(
    uow: UnitOfWork,
    contact: FoundContact,
    record: Record | None,
    message: InboundMessage,
    verdict: OptOutVerdict,
    after_stop: bool,
    cause: str,
    now: datetime,
) -> _Done:
    """A STOP-class word: the journey ends, every channel closes, and one short answer says so."""
    live = record is not None and record.state.automation is not Automation.COMPLETED
    was_active = record.state.automation is Automation.ACTIVE if record is not None else None
    if live and record is not None:
        await _decide_and_save(uow, record, OptedOut(cause, "all", "stop_word"), None, cause, now)
    else:
        await append_contact_event(
            uow, contact_id=contact.id, type="opted_out", at=now, actor="lead", cause=cause, rule=verdict.rule
        )
        await suppress(uow, contact_id=contact.id, channel="all", reason="stop_word", source=cause, now=now)
        await handoffs.close_open(
            uow, contact_id=contact.id, outcome="opted_out", not_now_until=None, actor=cause, now=now
        )
    if not verdict.provider_replied and not after_stop:  # said once; an echo of it must not be answered again
        await queue_stop_confirmation(uow, contact=contact, message=message, cause=cause, now=now)
    return _Done("opted_out", contact.id, record.id if record else None, human=live, was_active=was_active)


async def _start_again(
    uow: UnitOfWork, contact: FoundContact, record: Record | None, cause: str, now: datetime
) -> _Done:
    """START lifts only what STOP closed. It is no consent to anything new, and nothing is sent for it."""
    await uow.execute(
        "UPDATE suppressions SET lifted_at = :now, lifted_by = :cause, lift_reason = 'start_word' "
        "WHERE contact_id = :id AND reason = 'stop_word' AND lifted_at IS NULL AND created_at <= :now",
        {"id": contact.id, "now": now, "cause": cause},
    )
    await append_contact_event(uow, contact_id=contact.id, type="opted_in", at=now, actor="lead", cause=cause)
    return _Done("opted_in", contact.id, record.id if record else None)


async def _decide_and_save(
    uow: UnitOfWork,
    record: Record,
    stimulus: HumanSignal | DoubtfulOptOut | OptedOut,
    trigger: int | None,
    cause: str,
    now: datetime,
) -> None:
    await apply(uow, record, [stimulus], actor="lead", cause=cause, trigger=Trigger(trigger), now=now)
