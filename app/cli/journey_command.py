"""`warmline journey CONTACT`: the ledger of one person in words, oldest first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from app.cli.attached import home_option
from app.cli.database_access import with_database
from app.config import Settings
from app.db.demo_clock import make_clock
from app.db.session import Database, UnitOfWork
from app.inbox.domain.words import stage_words
from app.kernel.errors import WarmlineError
from app.leads.queries.ledger import load_timeline
from app.leads.queries.people import everybody_merged_into, find_person
from app.web.views import TimelineEvent
from app.web.words import masked_phone, zone_words

_BATCH = 500
_HEAD = """
SELECT c.name, (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone'
        ORDER BY i.id LIMIT 1) AS phone, e.stage, e.automation
FROM contacts c
LEFT JOIN LATERAL (SELECT x.stage, x.automation FROM enrolments x WHERE x.contact_id = ANY(CAST(:people AS bigint[]))
    ORDER BY (x.automation = 'completed'), x.id DESC LIMIT 1) e ON true
WHERE c.id = :id
"""


@dataclass(frozen=True, slots=True)
class Told:
    """A person's journey: a headline, and all events, oldest first."""

    headline: str
    events: tuple[TimelineEvent, ...]
    zone: str


@click.command()
@click.argument("contact")
@click.option("--zone", help="Zone of the times, an IANA name (default: the installation's).")
@home_option
def journey(contact: str, zone: str | None, home: Path | None) -> None:
    """Tell the whole journey of CONTACT: a phone number, an e-mail, an external id, or the contact's id."""
    if zone is not None and not _is_zone(zone):
        raise click.BadParameter(f"There is no time zone {zone}.", param_hint="--zone")
    try:
        told = with_database(lambda database, settings: _tell(database, settings, contact, zone), home=home)
    except WarmlineError as error:
        raise click.ClickException(error.message) from None
    click.echo(told.headline)
    for line in _lines(told):
        click.echo(line)


async def _tell(database: Database, settings: Settings, text: str, zone: str | None) -> Told:
    reader_zone = zone or settings.default_time_zone
    now = (await make_clock(database)).now()
    async with database.reading() as uow:
        contact_id = await find_person(uow, text=text, default_country=settings.default_country)
        people = await everybody_merged_into(uow, contact_id=contact_id)
        events = [event async for event in _all_events(uow, people, reader_zone, now)]
        row = (await uow.execute(_HEAD, {"id": contact_id, "people": list(people)})).one()
    known = [
        row.name or "No name",
        masked_phone(row.phone) if row.phone else "no phone",
        f"contact {contact_id}",
    ]
    standing = f"{stage_words(row.stage)}, {row.automation}" if row.stage else "not in a campaign"
    return Told(f"{', '.join(known)}: {standing}", tuple(reversed(events)), reader_zone)


async def _all_events(
    uow: UnitOfWork, people: tuple[int, ...], zone: str, now: datetime
) -> AsyncIterator[TimelineEvent]:
    before: str | None = None
    while True:
        page = await load_timeline(uow, people=people, zone=zone, now=now, before=before, size=_BATCH)
        for event in page.rows:
            yield event
        before = page.next_cursor
        if before is None:
            return


def _lines(told: Told) -> Iterator[str]:
    zone = ZoneInfo(told.zone)
    if not told.events:
        yield "Nothing has happened yet."
    for day, events in groupby(told.events, key=lambda event: event.at.astimezone(zone).date()):
        yield f"\n{day:%a} {day.day} {day:%b %Y}, {zone_words(told.zone)}"
        for event in events:
            at = event.at.astimezone(zone)
            by = ", ".join(part for part in (event.actor, event.cause) if part)
            detail = f": {event.detail}" if event.detail else ""
            yield f"  {at:%H:%M:%S}  {event.title}{detail}" + (f"  [{by}]" if by else "")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
