"""What a fault run needs in the database and at the provider: the demo's organisation without its leads."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime

from app.clock import Clock
from app.contacts.imports.domain.mapping import propose_mapping
from app.contacts.imports.domain.sniffing import sniff
from app.contacts.imports.operations.start import LIMITS, keep_file, prepare_import, read_file, start_import
from app.db.demo_clock import start_demo_clock
from app.db.session import Database
from app.demo.organisation import (
    CAMPAIGN,
    PEOPLE,
    SENDER,
    SERVICE,
    TEMPLATES,
    content_sid,
    plant_organisation,
)
from app.kernel.roles import Role
from tests.fixtures.simulator import Content, SimulatorClient

OPENS_AT = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)  # a Monday, 09:00 in Kuala Lumpur
COLUMNS = ("external_id", "full_name", "phone", "language", "time_zone", "consent_whatsapp")


async def plant(database: Database, simulator: SimulatorClient, *, rate: float) -> None:
    """Plant organisation, advisers and a demo clock, and make templates and sender known at the provider."""
    await plant_database(database, rate=rate)
    await simulator.add_contents(
        Content(sid=content_sid(t.key, language), body=body, language=language)
        for t in TEMPLATES
        for language, body in t.texts.items()
    )
    await simulator.add_service(SERVICE, [f"whatsapp:{SENDER}"])
    await simulator.set_clock(OPENS_AT)


async def plant_database(database: Database, *, rate: float) -> None:
    """Plant organisation, advisers and a demo clock."""
    async with database.transaction() as uow:
        await plant_organisation(uow, now=OPENS_AT)
        await uow.execute("UPDATE senders SET rate_per_second = :rate, daily_cap = 1000000", {"rate": rate})
        for person in PEOPLE:
            if person.role is not Role.ADVISER:
                continue
            user = (
                await uow.execute(
                    "INSERT INTO users (email, name, role, password_hash) "
                    "VALUES (:email, :name, 'adviser', 'nobody signs in') RETURNING id",
                    {"email": person.email, "name": person.name},
                )
            ).one()
            await uow.execute(
                "INSERT INTO adviser_profiles (user_id, capacity, languages) VALUES (:id, 400, '[\"en\"]')",
                {"id": user.id},
            )
        await start_demo_clock(uow, at=OPENS_AT)


def made_up_leads(numbers: Sequence[int]) -> bytes:
    """Return a file of leads who all agreed to WhatsApp; the same number is always the same person."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for n in numbers:
        writer.writerow((f"F{n:05d}", f"Lead {n:05d}", f"+6012{n:07d}", "en", "Asia/Kuala_Lumpur", "yes"))
    return text.getvalue().encode()


async def start_run(database: Database, clock: Clock, *, name: str, content: bytes) -> int:
    """Store a file and start its import into the campaign; the workers carry it on. Returns the run's id."""
    mapping = propose_mapping(sniff(content, limits=LIMITS).header)
    file = await read_file(name=name, content=content)
    prepared = await prepare_import(file, targets=mapping.as_targets())
    async with database.transaction() as uow:
        await keep_file(uow, file=file, now=clock.now())
        return await start_import(
            uow, prepared=prepared, campaign_key=CAMPAIGN, user_id=None, now=clock.now()
        )
