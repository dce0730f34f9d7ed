"""What a backfill would do, without doing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.campaigns.backfill.finding import MissingRest, find_begun_inside, find_missing_rests
from app.contacts.cooldowns.settings import load_lengths
from app.db.session import UnitOfWork

BATCH = 2000


@dataclass(frozen=True, slots=True)
class Preview:
    """How many rests would be written, by reason; how many of them still run; how many journeys a person would be
    asked about.
    """

    rests: Mapping[str, int]
    running: int
    asked: int


async def preview_backfill(uow: UnitOfWork, *, now: datetime) -> Preview:
    """Return what a backfill that began now would write and ask."""
    through = (await uow.execute("SELECT coalesce(max(id), 0) AS id FROM enrolments")).scalar_one()
    lengths = await load_lengths(uow)
    rests: Counter[str] = Counter()
    running = 0
    supposed: list[MissingRest] = []
    after = 0
    while after < through:
        missing, after = await find_missing_rests(
            uow, after=after, through=through, most=BATCH, lengths=lengths
        )
        rests.update(one.reason for one in missing)
        still = [one for one in missing if one.ends_at > now]
        running += len(still)
        supposed += await _of_live_people(uow, still)
    return Preview(rests, running, await _asked(uow, through, supposed, now))


async def _of_live_people(uow: UnitOfWork, rests: list[MissingRest]) -> list[MissingRest]:
    """Return the rests that can matter to a journey: those of people who have a live one."""
    rows = await uow.execute(
        "SELECT contact_id FROM enrolments WHERE contact_id = ANY(CAST(:people AS bigint[])) "
        "AND automation <> 'completed'",
        {"people": sorted({one.contact_id for one in rests})},
    )
    live = {row.contact_id for row in rows}
    return [one for one in rests if one.contact_id in live]


async def _asked(uow: UnitOfWork, through: int, supposed: list[MissingRest], now: datetime) -> int:
    asked, after = 0, 0
    while after < through:
        found, after = await find_begun_inside(
            uow, after=after, through=through, most=BATCH, now=now, supposed=supposed
        )
        asked += len(found)
    return asked
