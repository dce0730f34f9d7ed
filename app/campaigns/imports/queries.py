"""Campaigns that an import can bring people into."""

from dataclasses import dataclass

from app.db.session import UnitOfWork
from app.kernel.errors import NotFound


@dataclass(frozen=True, slots=True)
class CampaignChoice:
    """A campaign with a published version."""

    key: str
    name: str


async def open_campaigns(uow: UnitOfWork) -> tuple[CampaignChoice, ...]:
    """Return the campaigns that people can be enrolled in, by name."""
    rows = await uow.execute(
        "SELECT key, name FROM campaigns WHERE current_version_id IS NOT NULL AND status <> 'archived' "
        "ORDER BY name, id"
    )
    return tuple(CampaignChoice(key=row.key, name=row.name) for row in rows)


async def open_campaign(uow: UnitOfWork, *, key: str) -> CampaignChoice:
    """Return one of them. Raises NotFound that names those there are."""
    campaigns = await open_campaigns(uow)
    for campaign in campaigns:
        if campaign.key == key:
            return campaign
    known = ", ".join(campaign.key for campaign in campaigns) or "none yet"
    raise NotFound(f"There is no campaign `{key}` to enrol people in. Campaigns: {known}.")


async def campaign_names(uow: UnitOfWork) -> dict[str, str]:
    """Return every campaign's name by its key, of those no longer open too: earlier imports name them."""
    rows = await uow.execute("SELECT key, name FROM campaigns")
    return {row.key: row.name for row in rows}
