"""Write the people of one batch of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.contacts.imports.domain.details import details_of
from app.contacts.imports.domain.outcomes import (
    Identity,
    Outcome,
    Person,
    RowOutcome,
    identities_in,
    resolve,
    standing_consents,
    stored_people,
)
from app.contacts.imports.domain.rows import LeadRow
from app.contacts.imports.repository import people, rows
from app.contacts.imports.repository.people import StandingConsent
from app.contacts.imports.repository.rows import RowRecord
from app.contacts.imports.repository.runs import StoredRun
from app.db.session import UnitOfWork


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What an installation fills in where a file says nothing: country of phones, language."""

    default_country: str
    default_language: str = "en"


async def write_people(
    uow: UnitOfWork, *, run: StoredRun, leads: Sequence[LeadRow], settings: RunSettings, now: datetime
) -> list[RowRecord]:
    """Write the people, identities, consents and outcomes of one batch; return its lines of `run_rows`."""
    before = await rows.rows_done_before(
        uow, run_id=run.id, source=run.source, first=leads[0].row, last=leads[-1].row
    )
    fresh = [lead for lead in leads if lead.row not in before]
    found = await people.find_identities(uow, identities=identities_in(fresh))
    await people.lock_contacts(uow, contact_ids=found.values())
    known: dict[Identity, Person] = stored_people(found)
    outcomes = resolve(fresh, known=known)
    ids = await _write_contacts(uow, outcomes=outcomes, settings=settings, now=now)
    await people.insert_identities(
        uow,
        owners=[(identity, ids[o.person]) for o in outcomes if o.person for identity in o.new_identities],
        now=now,
    )
    await _write_consents(uow, run=run, outcomes=outcomes, ids=ids, now=now)
    written = [_row_record(outcome, ids) for outcome in outcomes]
    written += [_unchanged(lead, before[lead.row]) for lead in leads if lead.row in before]
    await rows.insert_rows(uow, run_id=run.id, rows=written)
    return written


async def _write_contacts(
    uow: UnitOfWork, *, outcomes: Sequence[RowOutcome], settings: RunSettings, now: datetime
) -> dict[Person, int]:
    """Insert new people, fill blanks of known ones; return the contact id of each person."""
    details = details_of(outcomes)
    new = [person for person in details if person.contact_id is None]
    ids = {person: person.contact_id for person in details if person.contact_id is not None}
    filled = {ids[person]: details[person] for person in ids}
    if filled:
        await people.fill_blanks(uow, people=filled, now=now)
    if new:
        reserved = await people.reserve_contact_ids(uow, count=len(new))
        ids.update(zip(new, reserved, strict=True))
        begun = {ids[person]: details[person] for person in new}
        await people.insert_contacts(uow, people=begun, default_language=settings.default_language, now=now)
    return ids


async def _write_consents(
    uow: UnitOfWork,
    *,
    run: StoredRun,
    outcomes: Sequence[RowOutcome],
    ids: Mapping[Person, int],
    now: datetime,
) -> None:
    consents = [
        StandingConsent(contact_id=ids[person], channel=channel, granted=granted)
        for (person, channel), granted in standing_consents(outcomes).items()
    ]
    # One file is one word: its `no` wins over its `yes`, also when they stand in different batches.
    await people.save_consents(
        uow, consents=consents, source=f"import:{run.file_hash[:40]}", at=run.created_at
    )


def _row_record(outcome: RowOutcome, ids: Mapping[Person, int]) -> RowRecord:
    return RowRecord(
        row=outcome.lead.row,
        line=outcome.lead.line,
        outcome=outcome.outcome.value,
        contact_id=ids[outcome.person] if outcome.person else None,
        reason=outcome.reason,
        warnings=outcome.warnings,
    )


def _unchanged(lead: LeadRow, contact_id: int) -> RowRecord:
    return RowRecord(
        row=lead.row,
        line=lead.line,
        outcome=Outcome.UNCHANGED.value,
        contact_id=contact_id,
        reason=None,
        warnings=(),
    )
