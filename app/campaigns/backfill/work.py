"""The backfill of cool-downs: a durable run, batch by batch.

First every past end that has no rest gets the one it should have had, by the lengths in force when the run began.
Then live journeys that began inside a rest which runs still are paused, each with a question for a person. A run
again writes nothing anew and asks nobody twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import structlog

from app.accounts.operations import record_audit
from app.campaigns.backfill.finding import (
    PAUSE_REASON,
    BegunInside,
    find_begun_inside,
    find_missing_rests,
)
from app.campaigns.domain.vocabulary import Stim
from app.campaigns.operations.effects import open_review
from app.campaigns.operations.operate import operate
from app.campaigns.operations.standing import lock_contacts
from app.campaigns.waiting.operations import give_turns
from app.clock import Clock
from app.contacts.cooldowns.domain import CooldownLengths
from app.contacts.cooldowns.settings import load_lengths
from app.contacts.imports.repository import runs
from app.contacts.imports.repository.runs import LeaseLostError, StoredRun
from app.db.session import Database, UnitOfWork
from app.kernel.errors import CommandRefused, Conflict, NotFound
from app.kernel.ids import lease_token
from app.ledger.repository import append_contact_event

log = structlog.get_logger(__name__)

KIND: Final = "cooldown_backfill"
BATCH: Final = 500
ENDS, LIVE = "ends", "live"
ACTOR: Final = "backfill"
_ERRORS_AT_ONE_PLACE: Final = 3


async def start_backfill(uow: UnitOfWork, *, user_id: int | None, now: datetime) -> int:
    """Begin a run over every enrolment there is now and return its id.

    Raises `Conflict` (`facts["run_id"]`) while one has not ended.
    """
    last = (await uow.execute("SELECT coalesce(max(id), 0) AS id FROM enrolments")).scalar_one()
    run_id = await runs.insert_run(
        uow,
        kind=KIND,
        source="every_end",
        title="Cool-downs of past ends",
        file_hash=None,
        params={"phase": ENDS, "lengths": msgspec.to_builtins(await load_lengths(uow))},
        total=last,
        created_by=user_id,
        now=now,
    )
    if run_id is None:
        found = await uow.execute(
            "SELECT id FROM runs WHERE kind = :kind AND status IN ('waiting','running','paused','needs_review')",
            {"kind": KIND},
        )
        raise Conflict("A backfill of cool-downs has not ended yet.", run_id=found.scalar_one())
    return run_id


async def resume_backfill(uow: UnitOfWork, *, run_id: int) -> None:
    """Let a backfill that was put aside go on where it stopped; one that is at work is left alone."""
    await runs.change_status(
        uow, run_id=run_id, before=("needs_review", "paused"), after="waiting", now=None, kind=KIND
    )


async def read_backfill(uow: UnitOfWork, *, run_id: int) -> StoredRun:
    """Return a backfill as it stands. Raises `NotFound`."""
    run = await runs.find_run(uow, run_id=run_id, kind=KIND)
    if run is None:
        raise NotFound("There is no such backfill.")
    return run


async def carry_on_backfill(database: Database, *, clock: Clock, run_id: int | None = None) -> int | None:
    """Take the backfill that waits, or whose worker died, to its end and return its id; None when there is none.

    A batch's effects and the new position commit together. The third error at one place puts the run aside.
    """
    token = lease_token()
    async with database.transaction() as uow:
        run = await runs.claim_run(uow, token=token, now=clock.now(), run_id=run_id, kind=KIND)
    if run is None:
        return None
    await _Worker(database, clock, run.id, token).work()
    return run.id


@dataclass(frozen=True, slots=True)
class _Worker:
    """Works on one run under its lease."""

    database: Database
    clock: Clock
    run_id: int
    token: str

    async def work(self) -> None:
        """Work until the run is done, taken away, or stopped by an error."""
        try:
            while await self._batch():
                pass
        except LeaseLostError:
            log.info("backfill.lease_lost", run_id=self.run_id)
        except asyncio.CancelledError:
            await asyncio.shield(self._close("waiting"))
            raise
        except Exception as error:
            log.exception("backfill.batch_failed", run_id=self.run_id)
            await self._put_back(error)

    async def _batch(self) -> bool:
        """Do one batch in one transaction; False once the run is done."""
        now = self.clock.now()
        async with self.database.transaction() as uow:
            run = await runs.lock_run(uow, run_id=self.run_id, token=self.token)
            through = run.total or 0
            phase = run.params["phase"]
            batch = _write_rests if phase == ENDS else _pause_journeys
            last, done = await batch(uow, run, through, now)
            is_over = phase == LIVE and last >= through
            if phase == ENDS and last >= through:
                phase, last = LIVE, 0
            counts = Counter(run.counts)
            counts.update(done)
            await runs.save_progress(uow, run=run, phase=phase, position=last, counts=dict(counts))
            if is_over:
                await self._end(uow, now)
        return not is_over

    async def _end(self, uow: UnitOfWork, now: datetime) -> None:
        await runs.close_run(uow, run_id=self.run_id, token=self.token, status="done", problem=None, now=now)
        run = await read_backfill(uow, run_id=self.run_id)
        await record_audit(
            uow,
            user_id=run.created_by,
            action="cooldowns_backfilled",
            subject_kind="run",
            subject_id=run.id,
            counts=dict(run.counts),
        )

    async def _close(self, status: str, problem: str | None = None) -> None:
        async with self.database.transaction() as uow:
            await runs.close_run(
                uow, run_id=self.run_id, token=self.token, status=status, problem=problem, now=None
            )

    async def _put_back(self, error: Exception) -> None:
        async with self.database.transaction() as uow:
            place = (await read_backfill(uow, run_id=self.run_id)).position
            errors = await runs.insert_error(uow, run_id=self.run_id, row=place, message=type(error).__name__)
        if errors < _ERRORS_AT_ONE_PLACE:
            await self._close("waiting")
        else:
            await self._close("needs_review", f"It stops after enrolment {place} ({type(error).__name__}).")


async def _write_rests(
    uow: UnitOfWork, run: StoredRun, through: int, now: datetime
) -> tuple[int, Mapping[str, int]]:
    """Write the rests that a stretch of past ends should have left; an end that has one keeps it."""
    missing, last = await find_missing_rests(
        uow,
        after=run.position,
        through=through,
        most=BATCH,
        lengths=msgspec.convert(run.params["lengths"], CooldownLengths),
    )
    merged = await lock_contacts(uow, {one.contact_id for one in missing})
    rows = [
        {**msgspec.to_builtins(one), "contact_id": merged.get(one.contact_id, one.contact_id)}
        for one in missing
    ]
    await uow.execute(
        _WRITE, {"rows": msgspec.json.encode(rows).decode(), "actor": f"run:{run.id}", "now": now}
    )
    await give_turns(uow, contact_ids={row["contact_id"] for row in rows}, now=now)
    return last, Counter(["rests"] * len(missing) + [f"rests_{one.reason}" for one in missing])


async def _pause_journeys(
    uow: UnitOfWork, run: StoredRun, through: int, now: datetime
) -> tuple[int, Mapping[str, int]]:
    """Pause what began inside a rest, and ask about each; what changed meanwhile is seen under the locks."""
    found, last = await find_begun_inside(uow, after=run.position, through=through, most=BATCH, now=now)
    await lock_contacts(uow, {one.contact_id for one in found})
    still, _ = await find_begun_inside(
        uow,
        after=run.position,
        through=through,
        most=BATCH,
        now=now,
        only=[one.enrolment_id for one in found],
    )
    paused = [await _ask_about(uow, one, now) for one in still]
    return last, {"asked": len(still), "paused": sum(paused)}


async def _ask_about(uow: UnitOfWork, one: BegunInside, now: datetime) -> bool:
    """Pause one journey and ask a person; True where it was running. One that is paused or held stays as it is."""
    paused = True
    try:
        await operate(
            uow,
            enrolment_id=one.enrolment_id,
            stim=Stim.OPERATOR_PAUSED,
            actor=ACTOR,
            reason=PAUSE_REASON,
            now=now,
        )
    except CommandRefused:
        paused = False
    await open_review(
        uow,
        subject=f"enrolment:{one.enrolment_id}:{PAUSE_REASON}",
        title=f"This journey began while they were to rest, until {_local_date(one, uow.zone)}. Shall it go on?",
        contact_id=one.contact_id,
        enrolment_id=one.enrolment_id,
        now=now,
    )
    await append_contact_event(
        uow,
        contact_id=one.contact_id,
        type="task_opened",
        at=now,
        actor=ACTOR,
        kind="review",
        ref=PAUSE_REASON,
        until=one.rests_until.isoformat(),
    )
    return paused


def _local_date(one: BegunInside, zone: str) -> str:
    return one.rests_until.astimezone(ZoneInfo(zone)).date().isoformat()


_WRITE = """
INSERT INTO cooldowns (contact_id, reason, enrolment_id, starts_at, ends_at, created_by, written_at)
SELECT r.contact_id, r.reason, r.enrolment_id, r.starts_at, r.ends_at, :actor, :now
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    contact_id bigint, reason text, enrolment_id bigint, starts_at timestamptz, ends_at timestamptz)
WHERE NOT EXISTS (SELECT 1 FROM cooldowns d WHERE d.enrolment_id = r.enrolment_id)
ORDER BY r.enrolment_id
"""
