"""Start, stop and resume imports."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from app.contacts.imports.domain.mapping import ColumnMapping, chosen_mapping
from app.contacts.imports.domain.sniffing import FileRefused, Limits, records, sniff
from app.contacts.imports.repository import runs
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Conflict, Invalid, NotFound

log = structlog.get_logger(__name__)


LIMITS: Final = Limits()

PEOPLE: Final = "people"

ENROLLING: Final = "enrolling"


@dataclass(frozen=True, slots=True)
class LeadFile:
    """A file that can be read as a lead list."""

    name: str
    content: bytes
    content_hash: str


@dataclass(frozen=True, slots=True)
class PreparedImport:
    """A file whose columns are settled: `total` rows are to be read by `mapping`."""

    file: LeadFile
    mapping: ColumnMapping
    header: tuple[str, ...]
    total: int


# Reading a file takes its time: it is done in a thread, and before a transaction begins, never within one.


async def read_file(*, name: str, content: bytes) -> LeadFile:
    """Return a file that can be read as a lead list. Raises FileRefused."""
    return await asyncio.to_thread(_read_file, name, content)


async def stored_file(database: Database, *, content_hash: str) -> LeadFile:
    """Return a file that was kept. Raises NotFound."""
    async with database.reading() as uow:
        stored = await runs.load_file(uow, content_hash=content_hash)
    if stored is None:
        raise NotFound("This file is not here any more. Upload it again.")
    return LeadFile(stored[0], stored[1], content_hash)


async def prepare_import(file: LeadFile, *, targets: Sequence[str]) -> PreparedImport:
    """Settle the columns and count the rows.

    Raises Invalid for a mapping with open questions, and FileRefused for a file without rows.
    """
    return await asyncio.to_thread(_prepare, file, targets)


async def keep_file(uow: UnitOfWork, *, file: LeadFile, now: datetime) -> None:
    """Store a file; one with the same content is stored once."""
    await runs.store_file(uow, content_hash=file.content_hash, name=file.name, content=file.content, now=now)


async def start_import(
    uow: UnitOfWork,
    *,
    prepared: PreparedImport,
    campaign_key: str,
    user_id: int | None,
    waits: bool = True,
    now: datetime,
) -> int:
    """Create the run of a stored file and return its id; any worker takes it from there.

    With `waits`, people who are in another campaign (or talk with one of us) wait for their turn; else they are
    left out.

    Raises Conflict (`facts["run_id"]`) when the same file is being imported into the same campaign. A finished
    import may be started again: it changes nothing for rows that were imported before.
    """
    content_hash, mapping = prepared.file.content_hash, prepared.mapping
    if (
        open_run := await runs.open_run_of(uow, file_hash=content_hash, campaign_key=campaign_key)
    ) is not None:
        raise _in_progress(open_run)
    run_id = await runs.insert_run(
        uow,
        source=source_of(content_hash=content_hash, targets=mapping.as_targets(), campaign_key=campaign_key),
        title=prepared.file.name,
        file_hash=content_hash,
        params={
            "campaign_key": campaign_key,
            "targets": list(mapping.as_targets()),
            "header": list(prepared.header),
            "phase": PEOPLE,
            "waits": waits,
        },
        total=prepared.total,
        created_by=user_id,
        now=now,
    )
    if run_id is None:
        raise _in_progress(await runs.open_run_of(uow, file_hash=content_hash, campaign_key=campaign_key))
    log.info("import.started", run_id=run_id, rows=prepared.total, campaign_key=campaign_key)
    return run_id


async def stop_import(uow: UnitOfWork, *, run_id: int, now: datetime) -> None:
    """Cancel a run that has not finished. What it has done so far stays. Raises NotFound and Conflict."""
    await _run_exists(uow, run_id)
    if not await runs.change_status(
        uow,
        run_id=run_id,
        before=("waiting", "running", "paused", "needs_review"),
        after="cancelled",
        now=now,
    ):
        raise Conflict("This import has already ended.")


async def resume_import(uow: UnitOfWork, *, run_id: int) -> None:
    """Let a run that was put aside for review go on where it stopped. Raises NotFound and Conflict."""
    await _run_exists(uow, run_id)
    if not await runs.change_status(
        uow, run_id=run_id, before=("needs_review", "paused"), after="waiting", now=None
    ):
        raise Conflict("This import does not wait for a review.")


async def _run_exists(uow: UnitOfWork, run_id: int) -> None:
    if await runs.find_run(uow, run_id=run_id) is None:
        raise NotFound("There is no such import.")


def source_of(*, content_hash: str, targets: Sequence[str], campaign_key: str) -> str:
    """Return what makes two runs the same work: content, mapping and campaign."""
    return hashlib.sha256("\n".join([content_hash, campaign_key, *targets]).encode()).hexdigest()


def _read_file(name: str, content: bytes) -> LeadFile:
    sniff(content, limits=LIMITS)
    return LeadFile(name[:200] or "leads.csv", content, hashlib.sha256(content).hexdigest())


def _prepare(file: LeadFile, targets: Sequence[str]) -> PreparedImport:
    sheet = sniff(file.content, limits=LIMITS)
    try:
        mapping = chosen_mapping(sheet.header, targets=targets)
    except ValueError as error:
        raise Invalid("The columns do not fit this file. Choose what each column is.") from error
    if mapping.problems:
        raise Invalid(mapping.problems[0].message)
    total = sum(1 for _ in records(file.content, sheet=sheet, limits=LIMITS))
    if total == 0:
        raise FileRefused("The file has headers and no leads.")
    return PreparedImport(file, mapping, sheet.header, total)


def _in_progress(run_id: int | None) -> Conflict:
    return Conflict("This file is being imported into this campaign now.", run_id=run_id)
