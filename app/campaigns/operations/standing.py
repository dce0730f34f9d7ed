"""What the door has to know: the campaign, and how each person stands to it. Contacts are locked first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row

from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.door import Asked, EnrolRequest, Standing
from app.campaigns.operations.reach import REACHES
from app.campaigns.versions import load_versions
from app.db.session import UnitOfWork
from app.kernel.errors import Invalid, NotFound


@dataclass(frozen=True, slots=True)
class OpenCampaign:
    """A campaign that takes people. `exempt_because` is the written reason why it minds no cool-downs."""

    id: int
    key: str
    exempt_because: str | None
    version: CompiledVersion
    sender_id: int

    @property
    def channels(self) -> list[str]:
        """The channels that its messages can use."""
        return sorted(self.version.channels)


async def load_campaign(uow: UnitOfWork, key: str) -> OpenCampaign:
    """Return a campaign by its key. Raises `NotFound`, and `Invalid` for one without a version or a sender."""
    row = (
        await uow.execute(
            "SELECT id, key, cooldown_exempt, cooldown_exempt_reason, current_version_id, status "
            "FROM campaigns WHERE key = :key",
            {"key": key},
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no campaign `{key}`.")
    if row.current_version_id is None or row.status == "archived":
        raise Invalid(f"Campaign `{key}` has no published version.")
    version = (await load_versions(uow, [row.current_version_id]))[row.current_version_id]
    channels = _in_order(version)
    sender = (
        await uow.execute(
            "SELECT id FROM senders WHERE channel = ANY(CAST(:channels AS text[])) "
            "ORDER BY array_position(CAST(:channels AS text[]), channel), id LIMIT 1",
            {"channels": channels},
        )
    ).one_or_none()
    if sender is None:
        raise Invalid(f"There is no sender for {' or '.join(channels) or 'its messages'}.")
    exempt_because = row.cooldown_exempt_reason if row.cooldown_exempt else None
    return OpenCampaign(row.id, row.key, exempt_because, version, sender.id)


def _in_order(version: CompiledVersion) -> list[str]:
    """Return the channels of the campaign in the order in which its messages ask for them."""
    return list(dict.fromkeys(channel for step in version.messages for channel in step.channels))


async def lock_contacts(uow: UnitOfWork, ids: set[int]) -> dict[int, int]:
    """Lock contacts by ascending id and return where merged ones went; survivors are locked too."""
    merged: dict[int, int] = {}
    wanted = ids
    while wanted:
        rows = await uow.execute(
            "SELECT id, merged_into FROM contacts WHERE id = ANY(CAST(:ids AS bigint[])) "
            "ORDER BY id FOR NO KEY UPDATE",
            {"ids": sorted(wanted)},
        )
        step = {row.id: row.merged_into for row in rows if row.merged_into is not None}
        merged = {start: step.get(end, end) for start, end in {**merged, **step}.items()}
        wanted = set(step.values()) - set(step)
    return merged


_STANDING = f"""
SELECT r.contact_id, r.ref, c.time_zone, q.status AS asked_status, q.enrolment_id AS asked_enrolment_id,
    (SELECT e.id FROM enrolments e WHERE e.campaign_id = :campaign_id AND e.ref = r.ref) AS same_ref,
    (w.id IS NOT NULL OR coalesce(q.status = 'waiting', false)) AS waits,
    live.id AS live_id, live.campaign_id = :campaign_id AS is_live_here, k.key AS live_campaign,
    (SELECT max(d.ends_at) FROM cooldowns d WHERE d.contact_id = c.id AND d.lifted_at IS NULL
     AND d.starts_at <= :now AND d.ends_at > :now) AS cooldown_until,
    EXISTS (SELECT 1 FROM suppressions s
     WHERE s.contact_id = c.id AND s.lifted_at IS NULL AND s.channel = 'all') AS suppressed,
    EXISTS (SELECT 1 FROM unnest(CAST(:channels AS text[])) AS ch(name)
     JOIN consents n ON n.contact_id = c.id AND n.channel = ch.name AND n.granted
     WHERE {REACHES}) AS usable,
    coalesce((SELECT max(e.generation) FROM enrolments e
     WHERE e.contact_id = c.id AND e.campaign_id = :campaign_id), 0) + 1 AS generation,
    EXISTS (SELECT 1 FROM handoffs h WHERE h.contact_id = c.id AND h.status <> 'closed') AS with_a_person
FROM jsonb_to_recordset(CAST(:requests AS jsonb)) AS r(contact_id bigint, ref text)
JOIN contacts c ON c.id = r.contact_id
LEFT JOIN enrolments live ON live.contact_id = c.id AND live.automation <> 'completed'
LEFT JOIN campaigns k ON k.id = live.campaign_id
LEFT JOIN enrolment_requests q ON q.campaign_id = :campaign_id AND q.ref = r.ref
LEFT JOIN enrolment_requests w ON w.contact_id = c.id AND w.campaign_id = :campaign_id AND w.status = 'waiting'
"""


async def load_standing(
    uow: UnitOfWork, campaign: OpenCampaign, requests: Sequence[EnrolRequest], now: datetime
) -> dict[tuple[int, str], Standing]:
    """Return how the people of some requests stand, by contact and ref; unknown contacts are missing."""
    wanted = [{"contact_id": r.contact_id, "ref": r.ref} for r in requests]
    rows = await uow.execute(
        _STANDING,
        {
            "campaign_id": campaign.id,
            "now": now,
            "channels": campaign.channels,
            "requests": msgspec.json.encode(wanted).decode(),
        },
    )
    return {(row.contact_id, row.ref): _standing(row) for row in rows}


def _standing(row: Row[Any]) -> Standing:
    return Standing(
        zone=row.time_zone,
        generation=row.generation,
        same_ref=row.same_ref,
        asked=Asked(row.asked_status, row.asked_enrolment_id) if row.asked_status else None,
        waits=row.waits,
        live_id=row.live_id,
        live_campaign=row.live_campaign,
        is_live_here=bool(row.is_live_here),
        cooldown_until=row.cooldown_until,
        suppressed=row.suppressed,
        usable=row.usable,
        with_a_person=row.with_a_person,
    )
