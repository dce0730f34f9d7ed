"""Work on a run, batch by batch, until it is done.

A run goes through its file twice. First every row becomes a person, a second touch or a refusal, and all
consents are recorded; only then are people enrolled, in the order of the rows. So a `no` at the end of a file
is known before the first message of its campaign can leave.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final, Protocol

import structlog
from sqlalchemy.exc import DBAPIError

from app.clock import Clock
from app.contacts.imports.domain.mapping import chosen_mapping
from app.contacts.imports.domain.outcomes import in_chunks
from app.contacts.imports.domain.rows import LeadRow, RowReader
from app.contacts.imports.domain.sniffing import FileRefused, records, sniff
from app.contacts.imports.operations.people import RunSettings, write_people
from app.contacts.imports.operations.start import ENROLLING, LIMITS, PEOPLE
from app.contacts.imports.repository import rows, runs
from app.contacts.imports.repository.people import BatchRacedError
from app.contacts.imports.repository.runs import LeaseLostError, StoredRun
from app.db.session import Database, UnitOfWork
from app.kernel.errors import WarmlineError
from app.kernel.ids import lease_token
from app.realtime.push import NullPusher, Pushes

log = structlog.get_logger(__name__)


BATCH_ROWS: Final = 500

_TRIES_OF_A_RACED_BATCH: Final = 6

_ERRORS_AT_ONE_PLACE: Final = 3

_TRY_AGAIN_STATES: Final = frozenset({"40001", "40P01"})


@dataclass(frozen=True, slots=True)
class LeadToEnrol:
    """One row's person for the campaign's door. `ref` is the same whenever this row is offered again.

    `waits`: where the person is busy elsewhere now, they wait for their turn instead of being left out.
    """

    contact_id: int
    ref: str
    waits: bool = False


class EnrolBatch(Protocol):
    """The campaign's door, for at most 500 rows inside the caller's transaction."""

    async def __call__(
        self, uow: UnitOfWork, *, campaign_key: str, leads: Sequence[LeadToEnrol], actor: str, now: datetime
    ) -> Mapping[str, str]:
        """Return per ref `enrolled`, `touched`, `waiting:` with the reason, or why not.

        The same ref again is no new enrolment.
        """
        ...


async def work_on_next_run(
    database: Database,
    *,
    clock: Clock,
    enrol: EnrolBatch,
    settings: RunSettings,
    pushes: Pushes | None = None,
    run_id: int | None = None,
) -> int | None:
    """Take one run that waits (or whose worker died) to its end and return its id; None when there is none.

    Each batch's effects and the run's new position commit together, so a kill at any moment loses and doubles
    nothing. An error puts the run back; the third at one place puts it aside for a person.
    """
    token = lease_token()
    async with database.transaction() as uow:
        run = await runs.claim_run(uow, token=token, now=clock.now(), run_id=run_id)
    if run is None:
        return None
    worker = _RunWorker(
        database=database,
        clock=clock,
        enrol=enrol,
        settings=settings,
        pushes=pushes or NullPusher(),
        run=run,
        token=token,
    )
    await worker.work()
    return run.id


@dataclass(slots=True)
class _RunWorker:
    """Works on one run under its lease."""

    database: Database
    clock: Clock
    enrol: EnrolBatch
    settings: RunSettings
    pushes: Pushes
    run: StoredRun
    token: str

    async def work(self) -> None:
        """Work until the run is done, taken away, or stopped by an error."""
        try:
            if self.run.params["phase"] == PEOPLE:
                await self._bring_in_people()
            await self._enrol_people()
        except LeaseLostError:
            log.info("import.lease_lost", run_id=self.run.id)
        except FileRefused as refused:
            await self._close("failed", problem=refused.message, ended=True)
        except WarmlineError as refused:
            await self._close("needs_review", problem=refused.message)
        except asyncio.CancelledError:
            await asyncio.shield(self._close("waiting"))
            raise
        except Exception as error:
            log.exception("import.batch_failed", run_id=self.run.id, position=self.run.position)
            await self._put_back(error)
        else:
            await self._close("done", ended=True)
            log.info("import.finished", run_id=self.run.id, **self.run.counts)

    async def _bring_in_people(self) -> None:
        async with self.database.reading() as uow:
            stored = await runs.load_file(uow, content_hash=self.run.file_hash)
        if stored is None:
            raise FileRefused("The file of this import is not here any more. Upload it again.")
        leads = islice(self._leads(stored[1]), self.run.position, None)
        chunks = in_chunks(leads, size=BATCH_ROWS)
        reading = asyncio.create_task(asyncio.to_thread(next, chunks, None))
        try:
            while chunk := await reading:
                # The next rows are read while the database writes these.
                reading = asyncio.create_task(asyncio.to_thread(next, chunks, None))
                await self._again_when_raced(partial(self._people_batch, chunk))
        finally:
            await asyncio.gather(reading, return_exceptions=True)
        async with self.database.transaction() as uow:
            run = await runs.lock_run(uow, run_id=self.run.id, token=self.token)
            await runs.save_progress(uow, run=run, phase=ENROLLING, position=0, counts=run.counts)
        await self._reload()

    def _leads(self, content: bytes) -> Iterator[LeadRow]:
        sheet = sniff(content, limits=LIMITS)
        if list(sheet.header) != self.run.params["header"]:
            raise FileRefused(
                "The file is read differently since an update. Check its columns and start anew."
            )
        mapping = chosen_mapping(sheet.header, targets=self.run.params["targets"])
        reader = RowReader(mapping=mapping, default_country=self.settings.default_country)
        return (reader.read(record) for record in records(content, sheet=sheet, limits=LIMITS))

    async def _people_batch(self, leads: Sequence[LeadRow]) -> None:
        async with self.database.transaction() as uow:
            run = await runs.lock_run(uow, run_id=self.run.id, token=self.token)
            if run.position != leads[0].row - 1:
                raise LeaseLostError(run.id)
            written = await write_people(
                uow, run=run, leads=leads, settings=self.settings, now=self.clock.now()
            )
            counts = Counter(run.counts)
            counts.update(row.outcome for row in written)
            await runs.save_progress(uow, run=run, phase=PEOPLE, position=leads[-1].row, counts=dict(counts))
            self._tell(uow)

    async def _enrol_people(self) -> None:
        while self.run.position < (self.run.total or 0):
            await self._again_when_raced(self._enrol_batch)
            await self._reload()

    async def _enrol_batch(self) -> None:
        async with self.database.transaction() as uow:
            run = await runs.lock_run(uow, run_id=self.run.id, token=self.token)
            last = min(run.position + BATCH_ROWS, run.total or 0)
            words = await self._offer(uow, run=run, first=run.position + 1, last=last)
            await rows.save_enrolments(uow, run_id=run.id, words=words)
            counts = Counter(run.counts)
            counts.update(_enrolment_count(word) for word in words.values())
            await runs.save_progress(uow, run=run, phase=ENROLLING, position=last, counts=dict(counts))
            self._tell(uow)

    async def _offer(self, uow: UnitOfWork, *, run: StoredRun, first: int, last: int) -> dict[int, str]:
        """Offer a stretch of rows to the campaign's door; return what it said per row."""
        people = await rows.rows_to_enrol(uow, run_id=run.id, source=run.source, first=first, last=last)
        words = {row: "before" for row, _, before in people if before}
        ref = f"import:{run.file_hash[:40]}"
        waits = bool(run.params.get("waits"))
        leads = [
            LeadToEnrol(contact_id, f"{ref}:{row}", waits) for row, contact_id, before in people if not before
        ]
        if leads:
            said = await self.enrol(
                uow,
                campaign_key=run.params["campaign_key"],
                leads=leads,
                actor=f"import:{run.id}",
                now=self.clock.now(),
            )
            words.update({int(lead.ref.rpartition(":")[2]): said[lead.ref] for lead in leads})
        return words

    async def _again_when_raced(self, batch: Callable[[], Awaitable[None]]) -> None:
        """Run a batch; one that met a concurrent change has written nothing and is tried again."""
        for tries in range(1, _TRIES_OF_A_RACED_BATCH + 1):
            try:
                await batch()
            except (BatchRacedError, DBAPIError) as error:
                if tries == _TRIES_OF_A_RACED_BATCH or not _worth_another_try(error):
                    raise
                await asyncio.sleep(0.05 * tries)
            else:
                return

    async def _reload(self) -> None:
        async with self.database.reading() as uow:
            run = await runs.find_run(uow, run_id=self.run.id)
        if run is None or run.lease_token != self.token:
            raise LeaseLostError(self.run.id)
        self.run = run

    async def _close(self, status: str, *, problem: str | None = None, ended: bool = False) -> None:
        async with self.database.transaction() as uow:
            await runs.close_run(
                uow,
                run_id=self.run.id,
                token=self.token,
                status=status,
                problem=problem,
                now=self.clock.now() if ended else None,
            )
            self._tell(uow)

    def _tell(self, uow: UnitOfWork) -> None:
        """Let open pages of this import know, once the transaction has committed."""
        self.pushes.later(uow, f"import:{self.run.id}")

    async def _put_back(self, error: Exception) -> None:
        async with self.database.transaction() as uow:
            run = await runs.find_run(uow, run_id=self.run.id)
            place = run.position if run else None
            # The class alone: an error's text may quote a person's data.
            errors = await runs.insert_error(uow, run_id=self.run.id, row=place, message=type(error).__name__)
        if errors < _ERRORS_AT_ONE_PLACE:
            await self._close("waiting")
        else:
            await self._close(
                "needs_review",
                problem=f"The import stops after row {place}, three times ({type(error).__name__}).",
            )


def _enrolment_count(word: str) -> str:
    if word.startswith("waiting:"):
        return "waiting"
    return word if word in {"enrolled", "touched", "repeated", "before"} else "refused"


def _worth_another_try(error: Exception) -> bool:
    if isinstance(error, BatchRacedError):
        return True
    return getattr(getattr(error, "orig", None), "sqlstate", None) in _TRY_AGAIN_STATES
