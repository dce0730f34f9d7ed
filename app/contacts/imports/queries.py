"""What the screens and the command show of an import: a file's check, a run's state, its rows."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

from app.contacts.imports.domain.mapping import (
    ColumnMapping,
    Problem,
    Target,
    chosen_mapping,
    propose_mapping,
)
from app.contacts.imports.domain.messages import (
    OUTCOMES,
    enrolment_words,
    reason_words,
    warning_words,
)
from app.contacts.imports.domain.outcomes import (
    Identity,
    Outcome,
    Person,
    RowOutcome,
    identities_in,
    in_chunks,
    resolve,
    stored_people,
)
from app.contacts.imports.domain.rows import LeadRow, RowReader
from app.contacts.imports.domain.sniffing import Record, Sheet, records, sniff
from app.contacts.imports.operations.start import ENROLLING, LIMITS
from app.contacts.imports.repository import people, runs
from app.db.session import Database, UnitOfWork
from app.kernel.csv_export import BYTE_ORDER_MARK, csv_line
from app.kernel.errors import Invalid, NotFound
from app.kernel.phones import PHONE_NOT_VALID, normalise_phone

CHECKED_ROWS: Final = 2_000
SHOWN_ROWS: Final = 100
_JUDGED_AT_ONCE: Final = 500
_DOWNLOADED_AT_ONCE: Final = 1_000
_SAMPLES: Final = 2


@dataclass(frozen=True, slots=True)
class CheckedColumn:
    """One column of a file under check, with a few of its values."""

    index: int
    header: str
    target: str
    samples: tuple[str, ...]
    has_problem: bool


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """What would become of one row, in words. `phone` is E.164 (templates mask it)."""

    row: int
    line: int
    name: str
    phone: str
    email: str
    outcome: str
    outcome_words: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileCheck:
    """A stored file under a mapping. `rows` begins with those that need a look; `checked` were judged."""

    content_hash: str
    name: str
    columns: tuple[CheckedColumn, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    counts: Mapping[str, int]
    rows: tuple[CheckedRow, ...]
    checked: int
    is_whole: bool
    with_whatsapp: int


@dataclass(frozen=True, slots=True)
class RunRowView:
    """What became of one row of a run, in words."""

    row: int
    line: int | None
    outcome: str
    outcome_words: str
    notes: tuple[str, ...]
    contact_id: int | None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its page shows it. `done` of `total` counts rows in the present part of the work."""

    id: int
    status: str
    title: str
    campaign_key: str
    part: int
    done: int
    total: int
    counts: Mapping[str, int]
    problem: str
    created_at: datetime
    finished_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Say whether work on it is still to come."""
        return self.status in {"waiting", "running", "paused", "needs_review"}


@dataclass(slots=True)
class Tally:
    """Counts what a judged file would become, row by row; memory grows with its people, not its rows."""

    counts: Counter[str] = field(default_factory=Counter)
    whatsapp: dict[Person, bool] = field(default_factory=dict)

    def add(self, outcome: RowOutcome) -> None:
        """Count one row; a `no` wins over a `yes`."""
        self.counts[outcome.outcome.value] += 1
        said = outcome.lead.consents.get("whatsapp")
        if outcome.person is not None and said is not None:
            self.whatsapp[outcome.person] = self.whatsapp.get(outcome.person, True) and said

    @property
    def with_whatsapp(self) -> int:
        """Return how many people the file lets us write to over WhatsApp."""
        return sum(self.whatsapp.values())


def mapping_for(sheet: Sheet, *, targets: Sequence[str] | None) -> ColumnMapping:
    """Return the mapping a person chose, or the proposal where nothing was chosen. Raises Invalid."""
    if not targets:
        return propose_mapping(sheet.header)
    try:
        return chosen_mapping(sheet.header, targets=targets)
    except ValueError as error:
        raise Invalid("The columns do not fit this file. Choose what each column is.") from error


async def check_file(
    uow: UnitOfWork, *, content_hash: str, targets: Sequence[str] | None, default_country: str
) -> FileCheck:
    """Return what the first rows of a stored file would become; nothing is written. Raises NotFound."""
    stored = await runs.load_file(uow, content_hash=content_hash)
    if stored is None:
        raise NotFound("This file is not here any more. Upload it again.")
    name, content = stored
    sheet = sniff(content, limits=LIMITS)
    mapping = mapping_for(sheet, targets=targets)
    head = await asyncio.to_thread(lambda: list(islice(records(content, sheet=sheet), CHECKED_ROWS + 1)))
    outcomes: list[RowOutcome] = []
    tally = Tally()
    if not mapping.problems:
        judged = judge(
            uow, records=iter(head[:CHECKED_ROWS]), mapping=mapping, default_country=default_country
        )
        async for outcome in judged:
            outcomes.append(outcome)
            tally.add(outcome)
    return FileCheck(
        content_hash=content_hash,
        name=name,
        columns=_columns(mapping, head, default_country=default_country),
        problems=mapping.problems,
        warnings=tuple(warning_words(code) for code in sheet.warnings),
        counts=tally.counts,
        rows=tuple(_checked_row(outcome) for outcome in sorted(outcomes, key=_urgency)[:SHOWN_ROWS]),
        checked=min(len(head), CHECKED_ROWS),
        is_whole=len(head) <= CHECKED_ROWS,
        with_whatsapp=tally.with_whatsapp,
    )


async def judge(
    uow: UnitOfWork, *, records: Iterator[Record], mapping: ColumnMapping, default_country: str
) -> AsyncIterator[RowOutcome]:
    """Yield what each record would become, against the stored people and the rows before it."""
    reader = RowReader(mapping=mapping, default_country=default_country)
    known: dict[Identity, Person] = {}
    chunks = in_chunks((reader.read(record) for record in records), size=_JUDGED_AT_ONCE)
    while chunk := await asyncio.to_thread(_next, chunks):
        unknown = [identity for identity in identities_in(chunk) if identity not in known]
        known.update(stored_people(await people.find_identities(uow, identities=unknown)))
        for outcome in resolve(chunk, known=known):
            yield outcome


async def run_view(uow: UnitOfWork, *, run_id: int) -> RunView:
    """Return one import. Raises NotFound."""
    run = await runs.find_run(uow, run_id=run_id)
    if run is None:
        raise NotFound("There is no such import.")
    return _run_view(run)


async def recent_runs(uow: UnitOfWork, *, limit: int = 20) -> tuple[RunView, ...]:
    """Return the latest imports, newest first."""
    return tuple(_run_view(run) for run in await runs.latest_runs(uow, limit=limit))


async def notable_rows(
    uow: UnitOfWork, *, run_id: int, campaigns: Mapping[str, str] | None = None, limit: int = SHOWN_ROWS
) -> tuple[RunRowView, ...]:
    """Return rows that did not simply become leads: conflicts first, then rejected, then refused and waiting ones.

    `campaigns` are names by key.
    """
    rows = await uow.execute(
        "SELECT row, line, outcome, contact_id, enrolment, reason, warnings FROM run_rows "
        "WHERE run_id = :run AND (outcome IN ('conflict', 'rejected') "
        "OR enrolment NOT IN ('enrolled', 'touched', 'repeated', 'before')) "
        "ORDER BY array_position(ARRAY['conflict', 'rejected'], outcome), row LIMIT :limit",
        {"run": run_id, "limit": limit},
    )
    return tuple(_run_row(row, uow.zone, campaigns or {}) for row in rows)


async def download_rows(
    database: Database,
    *,
    run_id: int,
    only_problems: bool = False,
    campaigns: Mapping[str, str] | None = None,
) -> AsyncIterator[str]:
    """Yield a CSV of a run's outcomes with the cells of its file, neutralised, a page of rows at a time.

    Between two pages no connection is held: whoever reads slowly takes none away from others.
    """
    async with database.reading() as uow:
        run = await runs.find_run(uow, run_id=run_id)
        stored = await runs.load_file(uow, content_hash=run.file_hash) if run else None
    if run is None or stored is None:
        raise NotFound("There is no such import.")
    sheet = await asyncio.to_thread(sniff, stored[1], limits=LIMITS)
    yield BYTE_ORDER_MARK + csv_line(["row", "line", "outcome", "enrolment", "why", "lead", *sheet.header])
    found = records(stored[1], sheet=sheet)
    while chunk := await asyncio.to_thread(lambda: list(islice(found, _DOWNLOADED_AT_ONCE))):
        async with database.reading() as uow:
            outcomes = await _outcomes_of(
                uow, run_id=run_id, first=chunk[0].row, last=chunk[-1].row, campaigns=campaigns or {}
            )
        yield "".join(_csv_rows(chunk, outcomes, only_problems=only_problems))


def _csv_rows(
    chunk: Sequence[Record], outcomes: Mapping[int, tuple[RunRowView, str]], *, only_problems: bool
) -> Iterator[str]:
    for record in chunk:
        view = outcomes.get(record.row)
        if view is not None and not (only_problems and view[0].outcome not in {"rejected", "conflict"}):
            yield _csv_row(record, *view)


async def _outcomes_of(
    uow: UnitOfWork, *, run_id: int, first: int, last: int, campaigns: Mapping[str, str]
) -> dict[int, tuple[RunRowView, str]]:
    rows = await uow.execute(
        "SELECT row, line, outcome, contact_id, enrolment, reason, warnings FROM run_rows "
        "WHERE run_id = :run AND row BETWEEN :first AND :last",
        {"run": run_id, "first": first, "last": last},
    )
    return {
        row.row: (
            _run_row(row, uow.zone, campaigns),
            enrolment_words(row.enrolment, zone=uow.zone, campaigns=campaigns),
        )
        for row in rows
    }


def _csv_row(record: Record, view: RunRowView, enrolment: str) -> str:
    why = " ".join(note for note in view.notes if note != enrolment)
    return csv_line(
        [record.row, record.line, view.outcome_words, enrolment, why, view.contact_id, *record.cells]
    )


def _columns(
    mapping: ColumnMapping, head: Sequence[Record], *, default_country: str
) -> tuple[CheckedColumn, ...]:
    in_question = {index for problem in mapping.problems for index in problem.columns}
    return tuple(
        CheckedColumn(
            index=column.index,
            header=column.header,
            target=column.target.value,
            samples=tuple(
                _as_read(value, column.target, default_country) for value in _samples(head, column.index)
            ),
            has_problem=column.index in in_question,
        )
        for column in mapping.columns
    )


def _samples(head: Sequence[Record], index: int) -> tuple[str, ...]:
    values = (" ".join(record.cells[index].split())[:60] for record in head if index < len(record.cells))
    return tuple(islice(dict.fromkeys(value for value in values if value), _SAMPLES))


def _as_read(value: str, target: Target, default_country: str) -> str:
    """Return a phone as it is understood (templates mask it), anything else as it is written."""
    if target is not Target.PHONE:
        return value
    return normalise_phone(value, default_country=default_country).e164 or value


def _checked_row(outcome: RowOutcome) -> CheckedRow:
    lead: LeadRow = outcome.lead
    return CheckedRow(
        row=lead.row,
        line=lead.line,
        name=lead.name or "",
        phone=lead.phone or "",
        email=lead.email or "",
        outcome=outcome.outcome.value,
        outcome_words=OUTCOMES[outcome.outcome],
        notes=_notes(outcome.reason, outcome.warnings),
    )


def _urgency(outcome: RowOutcome) -> tuple[int, int]:
    """Order for the eye: conflicts, rejected, rows with warnings, the others; then by row."""
    order = {Outcome.CONFLICT: 0, Outcome.REJECTED: 1}
    # Unassigned numbers are common in young number ranges and hide what matters.
    telling = any(code != PHONE_NOT_VALID for code in outcome.warnings)
    return order.get(outcome.outcome, 2 if telling else 3), outcome.lead.row


def _run_row(row: Any, zone: str, campaigns: Mapping[str, str]) -> RunRowView:
    refused = row.enrolment not in {None, "enrolled", "touched", "repeated", "before"}
    notes = _notes(row.reason, row.warnings)
    return RunRowView(
        row=row.row,
        line=row.line,
        outcome=row.outcome,
        outcome_words=OUTCOMES.get(row.outcome, row.outcome),
        notes=(enrolment_words(row.enrolment, zone=zone, campaigns=campaigns), *notes) if refused else notes,
        contact_id=row.contact_id,
    )


def _notes(reason: str | None, warnings: Sequence[str]) -> tuple[str, ...]:
    words = [reason_words(reason)] if reason else []
    return tuple(dict.fromkeys([*words, *(warning_words(code) for code in warnings)]))


def _run_view(run: runs.StoredRun) -> RunView:
    return RunView(
        id=run.id,
        status=run.status,
        title=run.title,
        campaign_key=run.params["campaign_key"],
        part=2 if run.params["phase"] == ENROLLING else 1,
        done=run.position,
        total=run.total or 0,
        counts=run.counts,
        problem=run.problem or "",
        created_at=run.created_at,
        finished_at=run.finished_at,
    )


def _next(chunks: Iterator[list[LeadRow]]) -> list[LeadRow]:
    return next(chunks, [])
