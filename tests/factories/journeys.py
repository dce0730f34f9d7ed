"""A small organisation with one campaign, and leads moved along it by the real operations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from app.advisers.operations.ownership import take
from app.campaigns.domain.gates import GatePolicy
from app.campaigns.operations.enrol import EnrolRequest, enrol
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.plan import plan
from app.campaigns.operations.signal import process_inbound
from app.campaigns.operations.start import StartedCall, start
from app.db.session import Database
from app.messaging.gateways.base import Accepted
from app.messaging.gateways.twilio.forms import FormFields
from app.messaging.operations.receive import keep_inbound

MONDAY: Final = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
"""Monday 09:00 in Kuala Lumpur: work begins."""
OUR_NUMBER: Final = "+60300000000"
CAMPAIGN: Final = "family"
DEFINITION: Final[Mapping[str, Any]] = {
    "paths": {
        "nurture": [
            {"kind": "message", "key": "welcome", "template": "welcome"},
            {"kind": "wait", "key": "wait_2d", "days": 2},
            {"kind": "message", "key": "nudge", "template": "nudge", "optional": True},
            {"kind": "wait", "key": "wait_3d", "days": 3, "until": "10:00"},
            {"kind": "message", "key": "last_word", "template": "last_word"},
            {"kind": "end", "key": "end", "reason": "path_end"},
        ]
    }
}
TEMPLATES: Final = {
    "welcome": "Hello {{1}}, welcome to the family programme.",
    "nudge": "Hello {{1}}, would you like to see a class?",
    "last_word": "Hello {{1}}, shall we stop writing?",
}


@dataclass(frozen=True, slots=True)
class Lead:
    """An enrolled contact."""

    contact_id: int
    enrolment_id: int
    phone: str


async def found_organisation(database: Database, *, at: datetime = MONDAY) -> None:
    """Make advisers Aina (1) and Farid (2), manager Mei (3), a sender, templates and the campaign."""
    async with database.transaction() as uow:
        for id_, name, role in (
            (1, "Aina Rahman", "adviser"),
            (2, "Farid Osman", "adviser"),
            (3, "Mei Tan", "manager"),
        ):
            await uow.execute(
                "INSERT INTO users (id, email, name, role, password_hash, demo) "
                "VALUES (:id, :email, :name, :role, 'x', true)",
                {"id": id_, "email": f"{name.split()[0].lower()}@example.test", "name": name, "role": role},
            )
        await uow.execute("INSERT INTO adviser_profiles (user_id) VALUES (1), (2)")
    await found_campaign(database, at=at)


async def found_campaign(database: Database, *, at: datetime = MONDAY) -> None:
    """Make the sender, the templates and the campaign."""
    async with database.transaction() as uow:
        await uow.execute(
            "INSERT INTO senders (id, key, channel, provider, address) "
            "VALUES (1, 'main', 'whatsapp', 'twilio', :address)",
            {"address": OUR_NUMBER},
        )
        for key, body in TEMPLATES.items():
            await uow.execute(
                "INSERT INTO templates (key, channel, language, name, moment, body, variables, content_sid, approval) "
                "VALUES (:key, 'whatsapp', 'en', :name, 'nurture', :body, CAST(:variables AS jsonb), :sid, 'approved')",
                {
                    "key": key,
                    "name": key.replace("_", " ").capitalize(),
                    "body": body,
                    "variables": json.dumps(
                        [{"name": "1", "source": "contact.first_name", "fallback": "there", "sample": "Siti"}]
                    ),
                    "sid": f"HX{key:0>32}",
                },
            )
        await uow.execute("INSERT INTO programs (id, key, name) VALUES (1, 'family', 'Family programme')")
        await uow.execute(
            "INSERT INTO campaigns (id, program_id, key, name, current_version_id) "
            "VALUES (1, 1, :key, 'Enquiry to visit', 1)",
            {"key": CAMPAIGN},
        )
        await uow.execute(
            "INSERT INTO campaign_versions (id, campaign_id, number, definition, structure_hash, published_at) "
            "VALUES (1, 1, 1, CAST(:definition AS jsonb), 'x', :at)",
            {"definition": json.dumps(DEFINITION), "at": at},
        )


async def add_lead(
    database: Database, *, phone: str, name: str = "Siti Aminah", at: datetime = MONDAY, language: str = "en"
) -> Lead:
    """Make a contact who agreed to WhatsApp, and enrol them through the door."""
    async with database.transaction() as uow:
        contact_id: int = (
            await uow.execute(
                "INSERT INTO contacts (name, language, time_zone, source, created_at, updated_at) "
                "VALUES (:name, :language, 'Asia/Kuala_Lumpur', 'Open day form', :at, :at) RETURNING id",
                {"name": name, "language": language, "at": at},
            )
        ).scalar_one()
        await uow.execute(
            "INSERT INTO contact_identities (contact_id, kind, value, created_at) VALUES (:id, 'phone', :phone, :at)",
            {"id": contact_id, "phone": phone, "at": at},
        )
        await uow.execute(
            "INSERT INTO consents (contact_id, channel, granted, source, at) "
            "VALUES (:id, 'whatsapp', true, 'open day form', :at)",
            {"id": contact_id, "at": at},
        )
        result = await enrol(
            uow,
            campaign_key=CAMPAIGN,
            request=EnrolRequest(contact_id, f"form:{phone}"),
            actor="import:1",
            now=at,
        )
    assert result.enrolment_id is not None, result
    return Lead(contact_id, result.enrolment_id, phone)


async def start_due(database: Database, *, now: datetime) -> list[StartedCall]:
    """Plan and start what is due; the calls are left to the test."""
    await plan(database, now=now)
    async with database.transaction() as uow:  # the pace of the sender is not what these tests are about
        await uow.execute("UPDATE sends SET not_before = clock_timestamp() WHERE status = 'queued'")
    return await start(database, now=now, slots=100, policy=GatePolicy(), organisation="Family programme")


async def send_due(database: Database, *, now: datetime) -> list[StartedCall]:
    """Plan, start and let the provider accept what is due."""
    calls = await start_due(database, now=now)
    outcomes = [CallOutcome(c.attempt_id, Accepted(f"SM{c.attempt_id}", "accepted"), "finish") for c in calls]
    await settle_outcomes(database, outcomes, now=now)
    return calls


async def say(database: Database, *, phone: str, text: str, now: datetime, number: int = 1) -> int:
    """Let a phone write to us; return the signal's id."""
    fields = FormFields(
        tuple(
            (name.encode(), value.encode())
            for name, value in {
                "MessageSid": f"SM{phone.strip('+')}{number:0>20}",
                "From": f"whatsapp:{phone}",
                "To": f"whatsapp:{OUR_NUMBER}",
                "Body": text,
                "NumMedia": "0",
            }.items()
        )
    )
    async with database.transaction() as uow:
        receipt = await keep_inbound(uow, fields=fields, now=now)
    assert await process_inbound(database, signal_id=receipt.signal_id)
    return receipt.signal_id


async def take_lead(database: Database, *, contact_id: int, user_id: int, now: datetime) -> int:
    """Let an adviser take the lead's open handoff; return its id."""
    async with database.transaction() as uow:
        handoff_id: int = (
            await uow.execute(
                "SELECT id FROM handoffs WHERE contact_id = :id AND status <> 'closed'", {"id": contact_id}
            )
        ).scalar_one()
        await take(uow, handoff_id=handoff_id, user_id=user_id, now=now)
    return handoff_id


def minutes(count: float) -> timedelta:
    """Return a length of time."""
    return timedelta(minutes=count)
