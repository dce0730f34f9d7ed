"""Runs the checks over one snapshot of the database and says what they found. It repairs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.db.invariants import Invariant
from app.db.session import Database, UnitOfWork
from app.integrity.registry import INVARIANTS
from app.integrity.stuck import STUCK, StuckKind

MOST_SHOWN = 20
"""How many offending rows of each check are kept; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Offender:
    """One offending row: ids and states, nothing personal."""

    contact_id: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `offenders` are the first of `count`."""

    key: str
    title: str
    count: int
    offenders: tuple[Offender, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One look at everything: each invariant, and what is stuck."""

    invariants: tuple[Finding, ...]
    stuck: tuple[Finding, ...]

    @property
    def violations(self) -> int:
        """Return how many rows break an invariant."""
        return sum(finding.count for finding in self.invariants)

    @property
    def stuck_count(self) -> int:
        """Return how many things are stuck."""
        return sum(finding.count for finding in self.stuck)

    def as_json(self) -> dict[str, object]:
        """Return the counts: `violations`, `invariants` by id, `stuck`."""
        return {
            "violations": self.violations,
            "invariants": {finding.key: finding.count for finding in self.invariants},
            "stuck": self.stuck_count,
        }


async def look(database: Database) -> Report:
    """Run every check over one snapshot, so that work going on meanwhile is never half seen."""
    async with database.reading() as uow:
        await uow.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # A plan that this connection kept from emptier tables would be slow.
        await uow.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        return Report(
            invariants=tuple([await check(uow, one) for one in INVARIANTS]), stuck=await find_stuck(uow)
        )


async def check(uow: UnitOfWork, invariant: Invariant) -> Finding:
    """Run one invariant."""
    return await _find(uow, key=invariant.id, title=invariant.title, sql=invariant.sql)


async def find_stuck(uow: UnitOfWork, kinds: Sequence[StuckKind] = STUCK) -> tuple[Finding, ...]:
    """Return what is stuck, one finding for each kind."""
    return tuple([await _find(uow, key=kind.key, title=kind.title, sql=kind.sql) for kind in kinds])


async def _find(uow: UnitOfWork, *, key: str, title: str, sql: str) -> Finding:
    rows = (await uow.execute(sql)).all()
    offenders = tuple(Offender(row.contact_id, row.detail) for row in rows[:MOST_SHOWN])
    return Finding(key, title, len(rows), offenders)
