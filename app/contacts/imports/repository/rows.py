"""What became of each row of a run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.contacts.imports.repository.runs import KIND
from app.db.session import UnitOfWork


@dataclass(frozen=True, slots=True)
class RowRecord:
    """One line of `run_rows`."""

    row: int
    line: int
    outcome: str
    contact_id: int | None
    reason: str | None
    warnings: tuple[str, ...]


async def insert_rows(uow: UnitOfWork, *, run_id: int, rows: Sequence[RowRecord]) -> None:
    """Write what became of a batch's rows."""
    await uow.execute(
        "INSERT INTO run_rows (run_id, row, line, outcome, contact_id, reason, warnings) "
        "SELECT :run, row, line, outcome, contact_id, reason, CAST(warnings AS jsonb) "
        "FROM unnest(CAST(:rows AS bigint[]), CAST(:lines AS bigint[]), CAST(:outcomes AS text[]), "
        "CAST(:contacts AS bigint[]), CAST(:reasons AS text[]), CAST(:warnings AS text[])) "
        "AS r(row, line, outcome, contact_id, reason, warnings)",
        {
            "run": run_id,
            "rows": [row.row for row in rows],
            "lines": [row.line for row in rows],
            "outcomes": [row.outcome for row in rows],
            "contacts": [row.contact_id for row in rows],
            "reasons": [row.reason for row in rows],
            "warnings": [json.dumps(row.warnings) for row in rows],
        },
    )


async def rows_done_before(
    uow: UnitOfWork, *, run_id: int, source: str, first: int, last: int
) -> dict[int, int]:
    """Return row → contact of rows that an earlier run of the same source has turned into people."""
    rows = await uow.execute(
        "SELECT DISTINCT ON (b.row) b.row, coalesce(c.merged_into, c.id) AS contact_id "
        "FROM runs r JOIN run_rows b ON b.run_id = r.id JOIN contacts c ON c.id = b.contact_id "
        "WHERE r.kind = :kind AND r.source = :source AND r.id <> :run "
        "AND b.row BETWEEN :first AND :last AND b.outcome <> 'conflict' ORDER BY b.row, b.run_id",
        {"kind": KIND, "source": source, "run": run_id, "first": first, "last": last},
    )
    return {row.row: row.contact_id for row in rows}


async def rows_to_enrol(
    uow: UnitOfWork, *, run_id: int, source: str, first: int, last: int
) -> list[tuple[int, int, bool]]:
    """Return (row, contact, offered before) of the rows of a stretch that are about a person."""
    rows = await uow.execute(
        "SELECT b.row, b.contact_id, EXISTS (SELECT 1 FROM runs r JOIN run_rows e ON e.run_id = r.id "
        "WHERE r.kind = :kind AND r.source = :source AND r.id <> :run AND e.row = b.row "
        "AND e.enrolment IN ('enrolled', 'touched', 'repeated', 'before')) AS before "
        "FROM run_rows b WHERE b.run_id = :run AND b.row BETWEEN :first AND :last "
        "AND b.contact_id IS NOT NULL AND b.outcome <> 'conflict' ORDER BY b.row",
        {"kind": KIND, "source": source, "run": run_id, "first": first, "last": last},
    )
    return [(row.row, row.contact_id, row.before) for row in rows]


async def save_enrolments(uow: UnitOfWork, *, run_id: int, words: Mapping[int, str]) -> None:
    """Write per row what the campaign's door said."""
    await uow.execute(
        "UPDATE run_rows b SET enrolment = w.word "
        "FROM unnest(CAST(:rows AS bigint[]), CAST(:words AS text[])) AS w(row, word) "
        "WHERE b.run_id = :run AND b.row = w.row",
        {"run": run_id, "rows": list(words), "words": list(words.values())},
    )
