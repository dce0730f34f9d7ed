"""What the explorer's histories play in: one campaign with every path, one sender, an adviser; and its leads."""

from __future__ import annotations

import json
from datetime import datetime
from random import Random
from typing import Any, Final

from app.campaigns.domain.compiling import compile_definition
from app.campaigns.operations.enrol import EnrolRequest, enrol_batch
from app.db.session import Database

SENDER: Final = "+60320000100"
CAMPAIGN: Final = "explored"
ZONES: Final = (
    "Asia/Kuala_Lumpur",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
)
"""Where leads live; four of them change their clocks, one of those by half an hour, one at midnight."""

TEMPLATES: Final = (
    "hello", "nudge", "last", "confirmed", "remind", "thanks", "again", "asked",
)  # fmt: skip

DEFINITION: Final[dict[str, Any]] = {
    "paths": {
        "nurture": [
            {"key": "hello", "kind": "message", "template": "hello"},
            {"key": "wait_1", "kind": "wait", "days": 2},
            {"key": "nudge", "kind": "message", "template": "nudge"},
            {"key": "wait_2", "kind": "wait", "days": 2},
            {"key": "last", "kind": "message", "template": "last"},
            {"key": "end", "kind": "end"},
        ],
        "confirmation": [
            {"key": "confirmed", "kind": "message", "template": "confirmed"},
            {"key": "day_before", "kind": "wait", "until": {"booking": "start", "before": {"hours": 24}}},
            {"key": "remind", "kind": "message", "template": "remind"},
        ],
        "post_visit": [
            {"key": "thanks", "kind": "message", "template": "thanks"},
            {"key": "wait_3", "kind": "wait", "days": 1},
            {"key": "asked", "kind": "message", "template": "asked"},
        ],
        "rebook": [{"key": "again", "kind": "message", "template": "again"}],
    }
}


async def build_town(database: Database, *, now: datetime) -> None:
    """Plant what all histories share. The database is the explorer's own and empty."""
    compiled = compile_definition(DEFINITION, version_id=0, campaign_id=0, number=1)
    async with database.transaction() as uow:
        await uow.execute("INSERT INTO programs (key, name) VALUES ('family', 'Family programme')")
        await uow.execute(
            "INSERT INTO senders (key, channel, provider, address, rate_per_second, daily_cap) "
            "VALUES ('main', 'whatsapp', 'twilio', :address, 5000, 1000000)",
            {"address": SENDER},
        )
        await uow.execute(
            "INSERT INTO campaigns (program_id, key, name) SELECT id, :key, 'Explored' FROM programs",
            {"key": CAMPAIGN},
        )
        await uow.execute(
            "INSERT INTO campaign_versions (campaign_id, number, definition, structure_hash, published_at) "
            "SELECT id, 1, CAST(:definition AS jsonb), :hash, :now FROM campaigns",
            {"definition": json.dumps(DEFINITION), "hash": compiled.structure_hash, "now": now},
        )
        await uow.execute(
            "UPDATE campaigns c SET current_version_id = v.id FROM campaign_versions v WHERE v.campaign_id = c.id"
        )
        for key in TEMPLATES:
            await uow.execute(
                "INSERT INTO templates (key, channel, language, name, moment, body, variables, content_sid, approval) "
                "VALUES (:key, 'whatsapp', 'en', :key, 'nudge', :body, '[]', :sid, 'approved')",
                {"key": key, "body": f"The text of {key}.", "sid": f"HX{key.encode().hex()}".ljust(34, "0")},
            )
        user = (
            await uow.execute(
                "INSERT INTO users (email, name, role, password_hash) "
                "VALUES ('adviser@example.org', 'Adviser', 'adviser', 'x') RETURNING id"
            )
        ).one()
        await uow.execute(
            "INSERT INTO adviser_profiles (user_id, capacity, languages) VALUES (:id, 100000, '[\"en\"]')",
            {"id": user.id},
        )


async def move_in(database: Database, *, random: Random, first: int, count: int, now: datetime) -> list[int]:
    """Let leads move in and enrol them; return their contact ids. `first` numbers their phones."""
    leads: list[int] = []
    async with database.transaction() as uow:
        for number in range(first, first + count):
            contact = (
                await uow.execute(
                    "WITH c AS (INSERT INTO contacts (name, language, time_zone, created_at, updated_at) "
                    "VALUES ('Lead', 'en', :zone, :now, :now) RETURNING id), "
                    "i AS (INSERT INTO contact_identities (contact_id, kind, value, created_at) "
                    "SELECT id, 'phone', :phone, :now FROM c), "
                    "g AS (INSERT INTO consents (contact_id, channel, granted, source, at) "
                    "SELECT id, 'whatsapp', true, 'test', :now FROM c) SELECT id FROM c",
                    {"zone": random.choice(ZONES), "now": now, "phone": phone(number)},
                )
            ).one()
            leads.append(contact.id)
        await enrol_batch(
            uow,
            campaign_key=CAMPAIGN,
            requests=[EnrolRequest(lead, f"history:{lead}") for lead in leads],
            actor="explorer",
            now=now,
        )
    return leads


async def number_from(database: Database, number: int) -> None:
    """Let the next row of every table get an id above `number`."""
    async with database.transaction() as uow:
        await uow.execute(
            "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, CAST(:number AS bigint)) "
            "FROM pg_sequences WHERE schemaname = 'public' AND max_value > :number",
            {"number": number + 1},
        )


def phone(number: int) -> str:
    """Return the phone number of the nth lead."""
    return f"+6012{number:07d}"
