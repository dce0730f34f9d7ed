"""Campaigns that an import can bring people into."""

from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class SinceThen:
    """What has become of a run's people who had to wait for their turn: in by now, still waiting, or dropped."""

    admitted: int
    waiting: int
    dropped: int


_SINCE: Final = """
SELECT count(*) FILTER (WHERE q.status = 'admitted') AS admitted,
    count(*) FILTER (WHERE q.status = 'waiting') AS waiting,
    count(*) FILTER (WHERE q.status NOT IN ('admitted', 'waiting')) AS dropped
FROM runs r
JOIN campaigns k ON k.key = r.params ->> 'campaign_key'
JOIN run_rows b ON b.run_id = r.id AND b.enrolment LIKE 'waiting:%'
JOIN LATERAL (SELECT x.status FROM enrolment_requests x WHERE x.contact_id = b.contact_id AND x.campaign_id = k.id
    ORDER BY x.id DESC LIMIT 1) q ON true
WHERE r.id = :run_id
"""


async def since_then(uow: UnitOfWork, *, run_id: int) -> SinceThen | None:
    """Return what has become of those who had to wait; None where nobody had to."""
    row = (await uow.execute(_SINCE, {"run_id": run_id})).one()
    return SinceThen(row.admitted, row.waiting, row.dropped) if any(row) else None
