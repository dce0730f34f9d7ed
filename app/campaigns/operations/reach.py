"""Which channels still reach a person for a campaign."""

from __future__ import annotations

from app.campaigns.versions import load_versions
from app.db.session import UnitOfWork

# A channel `ch.name` reaches contact `c.id`: there is an address for it, and nothing has closed it.
REACHES = """
    EXISTS (SELECT 1 FROM contact_identities i WHERE i.contact_id = c.id AND (
        (i.kind = 'phone' AND ch.name IN ('whatsapp', 'sms')) OR (i.kind = 'whatsapp_user' AND ch.name = 'whatsapp')
        OR (i.kind = 'email' AND ch.name = 'email')))
    AND NOT EXISTS (SELECT 1 FROM suppressions s
        WHERE s.contact_id = c.id AND s.lifted_at IS NULL AND s.channel IN ('all', ch.name))
"""


async def usable_channels_without(uow: UnitOfWork, *, contact_id: int, lost: str) -> tuple[str, ...]:
    """Return the channels of the contact's live journey besides `lost` that have an address and are not closed."""
    rows = await uow.execute(
        "SELECT version_id FROM enrolments WHERE contact_id = :id AND automation <> 'completed'",
        {"id": contact_id},
    )
    version_ids = [row.version_id for row in rows]
    versions = await load_versions(uow, version_ids)
    channels = {channel for version in versions.values() for channel in version.channels} - {lost}
    if not channels:
        return ()
    usable = await uow.execute(
        "SELECT ch.name FROM unnest(CAST(:channels AS text[])) AS ch(name), (SELECT CAST(:id AS bigint) AS id) c "
        f"WHERE {REACHES} ORDER BY ch.name",
        {"channels": sorted(channels), "id": contact_id},
    )
    return tuple(row.name for row in usable)
