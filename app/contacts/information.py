"""New information about a known person, merged into what is known."""

from __future__ import annotations

import json
from datetime import datetime

from app.contacts.domain import Information
from app.db.session import UnitOfWork

# A list fills what is blank; a person's own words replace what was known.
_MERGE = """
UPDATE contacts c SET
    name = CASE WHEN :by_lead THEN coalesce(:name, c.name) ELSE coalesce(c.name, :name) END,
    language = CASE WHEN :by_lead THEN coalesce(:language, c.language) ELSE c.language END,
    time_zone = CASE WHEN :by_lead THEN coalesce(:zone, c.time_zone) ELSE coalesce(c.time_zone, :zone) END,
    attributes = CASE WHEN :by_lead THEN c.attributes || CAST(:attributes AS jsonb)
        ELSE CAST(:attributes AS jsonb) || c.attributes END,
    updated_at = :now
WHERE c.id = :id
"""
# A no always counts. A yes counts where nothing was said yet, or where the person says it themselves, later.
_CONSENT = """
INSERT INTO consents (contact_id, channel, granted, source, at)
SELECT id, :channel, :granted, :source, :now FROM contacts WHERE id = :id
ON CONFLICT (contact_id, channel) DO UPDATE SET granted = EXCLUDED.granted, source = EXCLUDED.source, at = EXCLUDED.at
WHERE consents.granted <> EXCLUDED.granted AND (NOT EXCLUDED.granted OR (:by_lead AND consents.at <= EXCLUDED.at))
"""


async def merge_information(uow: UnitOfWork, *, contact_id: int, brought: Information, now: datetime) -> None:
    """Merge what came into what is known of a person; the caller holds the contact's lock.

    Consent only becomes stricter, or follows the person's own later word. A closed channel stays closed: suppressions
    are not touched here.
    """
    await uow.execute(
        _MERGE,
        {
            "id": contact_id,
            "by_lead": brought.by_lead,
            "name": brought.name or None,
            "language": brought.language or None,
            "zone": brought.time_zone or None,
            "attributes": json.dumps(dict(brought.attributes)),
            "now": now,
        },
    )
    for channel, granted in sorted(brought.consents.items()):
        await uow.execute(
            _CONSENT,
            {
                "id": contact_id,
                "channel": channel,
                "granted": granted,
                "source": brought.source,
                "by_lead": brought.by_lead,
                "now": now,
            },
        )
