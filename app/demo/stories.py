"""Plays the demo's past through the real operations on a clock of its own, so that every record is as it would be."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import datetime, timedelta

from app.accounts.operations import add_user
from app.accounts.passwords import Passwords
from app.advisers.operations.outcome import log_outcome
from app.advisers.operations.seats import give_seat
from app.campaigns.domain.enrolment import Decision, Event, changed_columns
from app.campaigns.domain.gates import GatePolicy
from app.campaigns.domain.vocabulary import Automation, Stage
from app.campaigns.operations.enrol import EnrolRequest, enrol
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.leftovers import process_receipt
from app.campaigns.operations.plan import plan
from app.campaigns.operations.start import start
from app.campaigns.repository import Change, lock_live_enrolment, save_changes
from app.clock import FixedClock
from app.config import DEMO_ORGANISATION
from app.db.session import Database, UnitOfWork
from app.demo.cast import LEADS, OPENS_AT, DemoLead, Said
from app.demo.organisation import CAMPAIGN, PEOPLE, SENDER
from app.inbox.domain.answering import Author
from app.inbox.domain.content import FreeText
from app.inbox.operations import Outlets, send_message
from app.kernel.hints import NullHints
from app.kernel.roles import Role
from app.messaging.gateways.base import Accepted
from app.messaging.gateways.twilio.forms import FormFields
from app.messaging.operations.receive import keep_inbound, keep_status
from app.realtime.push import Pushes

SEED_RATE = 100_000
DEMO_RATE = 20


class Storyteller:
    """Plays the cast's stories from the first enrolment to the moment the demo opens."""

    def __init__(
        self, *, database: Database, clock: FixedClock, passwords: Passwords, pushes: Pushes
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._outlets = Outlets(NullHints(), pushes)
        self._contacts: dict[str, int] = {}

    async def hire(self) -> None:
        """Make the people of the organisation; nobody knows their passwords, the demo has buttons."""
        async with self._database.transaction() as uow:
            for person in PEOPLE:
                user_id = await add_user(
                    uow,
                    passwords=self._passwords,
                    email=person.email,
                    name=person.name,
                    role=person.role,
                    password=hashlib.sha256(f"{person.email}:{id(self)}".encode()).hexdigest(),
                    time_zone="Asia/Kuala_Lumpur",
                    demo=True,
                )
                if person.capacity:
                    await give_seat(
                        uow, user_id=user_id, capacity=person.capacity, languages=person.languages
                    )

    async def play(self) -> None:
        """Let time pass, and let everything happen at its moment."""
        await self._set_rate(SEED_RATE)
        moments: list[tuple[datetime, DemoLead, Said | None]] = [
            (lead.enrolled_at, lead, None) for lead in LEADS
        ]
        moments += [(said.at, lead, said) for lead in LEADS for said in lead.said]
        moments.sort(key=lambda m: m[0])
        for at, lead, said in moments:
            await self._let_time_pass(at)
            await (self._enrol(lead) if said is None else self._happen(lead, said))
            await self._let_the_engine_run()
        await self._let_time_pass(OPENS_AT)
        await self._set_rate(DEMO_RATE)

    async def _set_rate(self, rate: int) -> None:
        async with self._database.transaction() as uow:
            await uow.execute(
                "UPDATE senders SET rate_per_second = :rate, next_free_at = clock_timestamp()", {"rate": rate}
            )

    async def _let_time_pass(self, until: datetime) -> None:
        """Stop at each timer on the way to `until`; what is due at the end itself is left to the workers."""
        while (due := await self._next_due()) is not None and due < until:
            self._clock.advance(max(due - self._clock.now(), timedelta(0)))
            await self._let_the_engine_run()
        self._clock.advance(until - self._clock.now())

    async def _next_due(self) -> datetime | None:
        async with self._database.reading() as uow:
            row = (
                await uow.execute(
                    "SELECT min(next_run_at) AS due FROM enrolments WHERE automation = 'active'"
                )
            ).one()
        due: datetime | None = row.due
        return due

    async def _let_the_engine_run(self) -> None:
        now = self._clock.now()
        while (await plan(self._database, now=now)).queued:
            pass
        while calls := await start(
            self._database, now=now, slots=50, policy=GatePolicy(), organisation=DEMO_ORGANISATION
        ):
            outcomes = [
                CallOutcome(c.attempt_id, Accepted(_sid(c.attempt_id), "accepted"), "finish") for c in calls
            ]
            await settle_outcomes(self._database, outcomes, now=now)
            for call in calls:
                await self._report(call.attempt_id, call.message.to.wire, "delivered")
                if int(hashlib.sha256(call.message.to.wire.encode()).hexdigest(), 16) % 5:
                    await self._report(call.attempt_id, call.message.to.wire, "read")

    async def _report(self, attempt_id: str, to: str, status: str) -> None:
        fields = {
            "MessageSid": _sid(attempt_id),
            "MessageStatus": status,
            "To": to,
            "From": f"whatsapp:{SENDER}",
        }
        async with self._database.transaction() as uow:
            receipt = await keep_status(
                uow, fields=_form(fields), raw_query=f"attempt={attempt_id}", now=self._clock.now()
            )
        await process_receipt(self._database, signal_id=receipt.signal_id, kind="status")

    async def _enrol(self, lead: DemoLead) -> None:
        now = self._clock.now()
        async with self._database.transaction() as uow:
            contact_id = await _add_contact(uow, lead, now)
            await enrol(
                uow,
                campaign_key=CAMPAIGN,
                request=EnrolRequest(contact_id, f"demo:{lead.phone}"),
                actor="demo",
                now=now,
            )
        self._contacts[lead.phone] = contact_id

    async def _happen(self, lead: DemoLead, said: Said) -> None:
        match said.kind:
            case "lead":
                await self._lead_writes(lead, said.text)
            case "adviser":
                await self._adviser_answers(lead, said.text)
            case "outcome":
                await self._log(lead, said.text)
            case "visit":
                await self._book(lead, datetime.fromisoformat(said.text))

    async def _lead_writes(self, lead: DemoLead, text: str) -> None:
        now = self._clock.now()
        fields = {
            "MessageSid": "SM" + hashlib.sha256(f"{lead.phone}:{now.isoformat()}".encode()).hexdigest()[:32],
            "From": f"whatsapp:{lead.phone}",
            "To": f"whatsapp:{SENDER}",
            "Body": text,
            "MessageType": "text",
            "NumMedia": "0",
            "ProfileName": lead.name,
        }
        async with self._database.transaction() as uow:
            receipt = await keep_inbound(uow, fields=_form(fields), now=now)
        await process_receipt(self._database, signal_id=receipt.signal_id, kind="inbound")

    async def _adviser_answers(self, lead: DemoLead, text: str) -> None:
        contact_id, now = self._contacts[lead.phone], self._clock.now()
        async with self._database.transaction() as uow:
            row = (
                await uow.execute(
                    "SELECT h.owner_id, u.role, c.version FROM handoffs h JOIN users u ON u.id = h.owner_id "
                    "JOIN conversations c ON c.contact_id = h.contact_id "
                    "WHERE h.contact_id = :id AND h.status <> 'closed'",
                    {"id": contact_id},
                )
            ).one()
            await send_message(
                uow,
                contact_id=contact_id,
                author=Author(row.owner_id, Role.ADVISER),
                client_id=hashlib.sha256(f"{lead.phone}:{text}".encode()).hexdigest()[:32],
                seen_version=row.version,
                draft=FreeText(text),
                organisation=DEMO_ORGANISATION,
                outlets=self._outlets,
                now=now,
            )

    async def _log(self, lead: DemoLead, outcome: str) -> None:
        contact_id, now = self._contacts[lead.phone], self._clock.now()
        until = now + timedelta(days=100) if outcome == "not_now" else None
        async with self._database.transaction() as uow:
            handoff = (
                await uow.execute(
                    "SELECT id, owner_id FROM handoffs WHERE contact_id = :id AND status <> 'closed'",
                    {"id": contact_id},
                )
            ).one()
            await log_outcome(
                uow,
                handoff_id=handoff.id,
                outcome=outcome,
                not_now_until=until,
                has_live_enrolment=True,
                actor=f"user:{handoff.owner_id}",
                now=now,
            )

    async def _book(self, lead: DemoLead, slot_at: datetime) -> None:
        """Write a booking's trace: the stage, and a task for the visit. Bookings themselves come with their slice."""
        contact_id, now = self._contacts[lead.phone], self._clock.now()
        async with self._database.transaction() as uow:
            record = await lock_live_enrolment(uow, contact_id=contact_id)
            assert record is not None
            state = replace(
                record.state,
                stage=Stage.BOOKED,
                automation=Automation.PAUSED,
                pause_reason="visit_booked",
                path=None,  # nothing of nurture goes to a family that has booked, whoever hands it back
                step=None,
                next_run_at=None,
                return_stage=record.state.stage,
                return_path=record.state.path,
                return_step=record.state.step,
                return_lap=record.state.lap,
            )
            events = (
                Event("booked", "lead", {"slot": slot_at.isoformat()}, changed_columns(record.state, state)),
                Event("paused", "visit booked", {"reason": "visit_booked"}),
            )
            await save_changes(uow, [Change(record, Decision(state, events, ()))], actor="lead", now=now)
            await uow.execute(
                "INSERT INTO tasks (kind, subject, contact_id, enrolment_id, owner_id, title, due_at, created_at) "
                "SELECT 'visit', :subject, CAST(:contact_id AS bigint), CAST(:enrolment_id AS bigint), "
                "(SELECT user_id FROM adviser_profiles ORDER BY user_id "
                "OFFSET (CAST(:contact_id AS bigint) % 3) LIMIT 1), "
                "'Visit not confirmed yet', :due_at, :now",
                {
                    "subject": f"enrolment:{record.id}:visit",
                    "enrolment_id": record.id,
                    "contact_id": contact_id,
                    "due_at": slot_at,
                    "now": now,
                },
            )


async def _add_contact(uow: UnitOfWork, lead: DemoLead, now: datetime) -> int:
    row = (
        await uow.execute(
            "INSERT INTO contacts (name, language, time_zone, source, attributes, created_at, updated_at) VALUES "
            "(:name, :language, 'Asia/Kuala_Lumpur', :source, CAST(:attributes AS jsonb), :now, :now) RETURNING id",
            {
                "name": lead.name,
                "language": lead.language,
                "source": lead.source,
                "attributes": json.dumps({"area": lead.area, "children": lead.children}),
                "now": now,
            },
        )
    ).one()
    await uow.execute(
        "INSERT INTO contact_identities (contact_id, kind, value, created_at) VALUES (:id, 'phone', :phone, :now)",
        {"id": row.id, "phone": lead.phone, "now": now},
    )
    await uow.execute(
        "INSERT INTO consents (contact_id, channel, granted, source, at) VALUES (:id, 'whatsapp', true, :source, :now)",
        {"id": row.id, "source": lead.source, "now": now},
    )
    contact_id: int = row.id
    return contact_id


def _sid(attempt_id: str) -> str:
    return "SM" + hashlib.sha256(attempt_id.encode()).hexdigest()[:32]


def _form(fields: dict[str, str]) -> FormFields:
    return FormFields(tuple((k.encode(), v.encode()) for k, v in fields.items()))
