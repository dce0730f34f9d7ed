"""Coming to the door, ending journeys, and further campaigns, for tests of who comes in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.campaigns.domain.vocabulary import Outcome
from app.campaigns.operations.enrol import EnrolRequest, EnrolResult, WhenBusy, enrol
from app.campaigns.operations.operate import close_journey
from app.campaigns.waiting.turns import admit_due
from tests.fixtures.engine import World


async def enter(
    world: World,
    lead: int,
    *,
    ref: str = "form:1",
    campaign: str = "open_day",
    override: str | None = None,
    own_act: str | None = None,
    waits: bool = False,
) -> EnrolResult:
    """Come to the door."""
    when_busy = WhenBusy.WAIT if waits else WhenBusy.REFUSE
    async with world.database.transaction() as uow:
        return await enrol(
            uow,
            campaign_key=campaign,
            request=EnrolRequest(lead, ref, override, when_busy, own_act),
            actor="form",
            now=world.now,
        )


async def close(
    world: World, lead: int, outcome: Outcome = Outcome.LOST, *, until: datetime | None = None
) -> None:
    """End a journey by hand."""
    async with world.database.transaction() as uow:
        await close_journey(
            uow, contact_id=lead, outcome=outcome, not_now_until=until, actor="user:1", now=world.now
        )


async def other_campaign(
    world: World, *, key: str = "other", exempt: bool = False, priority: int = 0
) -> None:
    """Add another campaign with the same version."""
    await world.execute(
        "INSERT INTO campaigns (program_id, key, name, cooldown_exempt, cooldown_exempt_reason, priority) "
        "SELECT id, :key, initcap(:key), :exempt, 'test', :priority FROM programs",
        key=key,
        exempt=exempt,
        priority=priority,
    )
    await world.execute(
        "INSERT INTO campaign_versions (campaign_id, number, definition, structure_hash, published_at) "
        "SELECT c.id, 1, v.definition, v.structure_hash, v.published_at FROM campaigns c, campaign_versions v "
        "JOIN campaigns o ON o.id = v.campaign_id WHERE c.key = :key AND o.key = 'open_day'",
        key=key,
    )
    await world.execute(
        "UPDATE campaigns c SET current_version_id = v.id FROM campaign_versions v WHERE v.campaign_id = c.id"
    )


async def setting(world: World, key: str, value: str) -> None:
    """Store a setting of the organisation."""
    await world.execute(
        "INSERT INTO settings (key, value) VALUES (:key, CAST(:value AS jsonb)) "
        "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value",
        key=key,
        value=value,
    )


async def cooldowns(world: World, lead: int) -> list[Any]:
    """Return the cool-downs of a contact, oldest first."""
    return await world.rows("SELECT * FROM cooldowns WHERE contact_id = :id ORDER BY id", id=lead)


async def requests_of(world: World, lead: int) -> list[Any]:
    """Return what was asked for a contact who was busy, oldest first."""
    return await world.rows(
        "SELECT r.*, k.key AS campaign FROM enrolment_requests r JOIN campaigns k ON k.id = r.campaign_id "
        "WHERE r.contact_id = :id ORDER BY r.id",
        id=lead,
    )


async def give_turns_now(world: World) -> None:
    """Let the sweep bring to the door whose turn has come."""
    while await admit_due(world.database, now=world.now):
        pass
