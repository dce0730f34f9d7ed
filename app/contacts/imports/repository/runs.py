"""Runs under a lease, and the files that imports read. Leases are real time (the database's clock)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.db.session import UnitOfWork
from app.kernel.row_ids import is_row_id

KIND: Final = "import"

LEASE_SECONDS: Final = 60

STALE_AFTER_DAYS: Final = 7

_RUN_COLUMNS: Final = (
    "id, status, source, title, file_hash, params, position, total, counts, lease_token, problem, "
    "created_by, created_at, started_at, finished_at"
)


class LeaseLostError(Exception):
    """The run is no longer ours: stopped by a person, or taken over after our lease ran out."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it stands in the database. One that reads no file has an empty `file_hash`."""

    id: int
    status: str
    source: str
    title: str
    file_hash: str
    params: Mapping[str, Any]
    position: int
    total: int | None
    counts: Mapping[str, int]
    lease_token: str | None
    problem: str | None
    created_by: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


async def store_file(uow: UnitOfWork, *, content_hash: str, name: str, content: bytes, now: datetime) -> None:
    """Keep the bytes; the same content again keeps its first name."""
    await uow.execute(
        "INSERT INTO run_files (content_hash, name, content, created_at) "
        "VALUES (:hash, :name, :content, :now) "
        "ON CONFLICT (content_hash) DO NOTHING",
        {"hash": content_hash, "name": name, "content": content, "now": now},
    )


async def load_file(uow: UnitOfWork, *, content_hash: str) -> tuple[str, bytes] | None:
    """Return (name, content), or None for a file that was never stored."""
    row = (
        await uow.execute(
            "SELECT name, content FROM run_files WHERE content_hash = :hash", {"hash": content_hash}
        )
    ).one_or_none()
    return (row.name, bytes(row.content)) if row else None


async def insert_run(
    uow: UnitOfWork,
    *,
    kind: str = KIND,
    source: str,
    title: str,
    file_hash: str | None,
    params: Mapping[str, Any],
    total: int,
    created_by: int | None,
    now: datetime,
) -> int | None:
    """Return the new run's id, or None when a run of the same source is open."""
    row = (
        await uow.execute(
            "INSERT INTO runs "
            "(kind, status, source, title, file_hash, params, total, created_by, created_at) "
            "VALUES (:kind, 'waiting', :source, :title, :hash, CAST(:params AS jsonb), :total, :user, :now) "
            "ON CONFLICT DO NOTHING RETURNING id",
            {
                "kind": kind,
                "source": source,
                "title": title,
                "hash": file_hash,
                "params": json.dumps(params),
                "total": total,
                "user": created_by,
                "now": now,
            },
        )
    ).one_or_none()
    return row.id if row else None


async def open_run_of(uow: UnitOfWork, *, file_hash: str, campaign_key: str) -> int | None:
    """Return the open run of a file into a campaign, under whatever mapping."""
    row = (
        await uow.execute(
            "SELECT id FROM runs WHERE kind = :kind AND file_hash = :hash "
            "AND params->>'campaign_key' = :campaign "
            "AND status IN ('waiting','running','paused','needs_review') ORDER BY id LIMIT 1",
            {"kind": KIND, "hash": file_hash, "campaign": campaign_key},
        )
    ).one_or_none()
    return row.id if row else None


async def find_run(uow: UnitOfWork, *, run_id: int, kind: str = KIND) -> StoredRun | None:
    """Return one run of a kind without locking it."""
    if not is_row_id(run_id):
        return None
    row = (
        await uow.execute(
            f"SELECT {_RUN_COLUMNS} FROM runs WHERE id = :id AND kind = :kind",
            {"id": run_id, "kind": kind},
        )
    ).one_or_none()
    return _run(row) if row else None


async def latest_runs(uow: UnitOfWork, *, limit: int) -> list[StoredRun]:
    """Return the latest import runs, newest first."""
    rows = await uow.execute(
        f"SELECT {_RUN_COLUMNS} FROM runs WHERE kind = :kind ORDER BY id DESC LIMIT :limit",
        {"kind": KIND, "limit": limit},
    )
    return [_run(row) for row in rows]


async def claim_run(
    uow: UnitOfWork, *, token: str, now: datetime, run_id: int | None = None, kind: str = KIND
) -> StoredRun | None:
    """Take the oldest run that waits or whose worker has gone silent; None when there is none to take.

    With `run_id` only that run is taken. One that stood still for a week is put aside for a person instead.
    """
    row = (
        await uow.execute(
            f"""
            UPDATE runs SET
              status = CASE WHEN progressed_at < clock_timestamp() - make_interval(days => :stale)
                       THEN 'needs_review' ELSE 'running' END,
              problem = CASE WHEN progressed_at < clock_timestamp() - make_interval(days => :stale)
                        THEN 'This stood still for a week. Check it and start it again.' END,
              lease_token = :token, version = version + 1,
              lease_expires_at = clock_timestamp() + make_interval(secs => :lease),
              started_at = coalesce(started_at, :now), progressed_at = clock_timestamp()
            WHERE id = (
              SELECT id FROM runs
              WHERE kind = :kind AND (CAST(:run AS bigint) IS NULL OR id = :run)
                AND (status = 'waiting' OR (status = 'running' AND lease_expires_at < clock_timestamp()))
              ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
            RETURNING {_RUN_COLUMNS}
            """,
            {
                "kind": kind,
                "run": run_id,
                "token": token,
                "lease": LEASE_SECONDS,
                "now": now,
                "stale": STALE_AFTER_DAYS,
            },
        )
    ).one_or_none()
    return _run(row) if row and row.status == "running" else None


async def lock_run(uow: UnitOfWork, *, run_id: int, token: str) -> StoredRun:
    """Lock the run for a batch; raise LeaseLostError when the lease is no longer this worker's."""
    row = (
        await uow.execute(
            f"SELECT {_RUN_COLUMNS} FROM runs WHERE id = :id AND lease_token = :token "
            "AND status = 'running' FOR NO KEY UPDATE",
            {"id": run_id, "token": token},
        )
    ).one_or_none()
    if row is None:
        raise LeaseLostError(run_id)
    return _run(row)


async def save_progress(
    uow: UnitOfWork, *, run: StoredRun, phase: str, position: int, counts: Mapping[str, int]
) -> None:
    """Move the position (compare-and-set on the lease and the old position) and renew the lease."""
    result = await uow.execute(
        "UPDATE runs SET position = :position, counts = CAST(:counts AS jsonb), version = version + 1, "
        "params = jsonb_set(params, '{phase}', to_jsonb(CAST(:phase AS text))), "
        "progressed_at = clock_timestamp(), "
        "lease_expires_at = clock_timestamp() + make_interval(secs => :lease) "
        "WHERE id = :id AND lease_token = :token AND position = :old AND status = 'running'",
        {
            "id": run.id,
            "token": run.lease_token,
            "old": run.position,
            "position": position,
            "counts": json.dumps(counts),
            "phase": phase,
            "lease": LEASE_SECONDS,
        },
    )
    if result.rowcount != 1:
        raise LeaseLostError(run.id)


async def close_run(
    uow: UnitOfWork, *, run_id: int, token: str, status: str, problem: str | None, now: datetime | None
) -> None:
    """Give the lease back and set where the run stands; `now` only when it has come to its end."""
    await uow.execute(
        "UPDATE runs SET status = :status, problem = :problem, finished_at = :now, lease_token = NULL, "
        "lease_expires_at = NULL, progressed_at = clock_timestamp(), version = version + 1 "
        "WHERE id = :id AND lease_token = :token",
        {"id": run_id, "token": token, "status": status, "problem": problem, "now": now},
    )


async def change_status(
    uow: UnitOfWork,
    *,
    run_id: int,
    before: Sequence[str],
    after: str,
    now: datetime | None,
    kind: str = KIND,
) -> bool:
    """Set a run's status by a person's command; False when it does not stand where that is possible."""
    result = await uow.execute(
        "UPDATE runs SET status = :after, finished_at = :now, problem = NULL, lease_token = NULL, "
        "lease_expires_at = NULL, progressed_at = clock_timestamp(), version = version + 1 "
        "WHERE id = :id AND kind = :kind AND status = ANY(:before)",
        {"id": run_id, "kind": kind, "before": list(before), "after": after, "now": now},
    )
    return result.rowcount == 1


async def insert_error(uow: UnitOfWork, *, run_id: int, row: int | None, message: str) -> int:
    """Record what stopped a batch; return how many errors the run has had at this same place."""
    await uow.execute(
        "INSERT INTO run_errors (run_id, row, message) VALUES (:id, :row, :message)",
        {"id": run_id, "row": row, "message": message},
    )
    found = await uow.execute(
        "SELECT count(*) AS n FROM run_errors WHERE run_id = :id AND row IS NOT DISTINCT FROM :row",
        {"id": run_id, "row": row},
    )
    return int(found.scalar_one())


def _run(row: Any) -> StoredRun:
    return StoredRun(**{**row._mapping, "file_hash": row.file_hash or ""})
