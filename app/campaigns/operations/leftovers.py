"""Processing stored receipts: at once in the request that brought them, and by the sweep for what was left over."""

from __future__ import annotations

import asyncio

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.campaigns.operations.signal import process_inbound
from app.campaigns.operations.status import process_status
from app.db.session import Database

log = structlog.get_logger(__name__)

SIDE_BY_SIDE = 4  # well below a worker's pool of connections
TRIES_IN_ORDER = 3  # one that fails again and again keeps later ones waiting no longer
MOST_TRIES = 30  # of faults; a report that only waits for its message is given up by its age


async def process_receipt(database: Database, *, signal_id: int, kind: str) -> bool:
    """Process one receipt; True where it was done here and now. A fault leaves it for the sweep, with growing pauses.

    What one person wrote is processed in the order in which it came: older receipts of the address go first.
    """
    if kind == "inbound":
        for older in await _older_from_there(database, signal_id):
            await _try(database, older, kind)
    return await _try(database, signal_id, kind)


async def _older_from_there(database: Database, signal_id: int) -> list[int]:
    async with database.reading() as uow:
        rows = await uow.execute(
            "SELECT o.id FROM signals s JOIN signals o ON o.address = s.address AND o.id < s.id "
            "WHERE s.id = :id AND o.kind = 'inbound' AND o.processed_at IS NULL AND o.tries < :tries ORDER BY o.id",
            {"id": signal_id, "tries": TRIES_IN_ORDER},
        )
        return [row.id for row in rows]


async def _try(database: Database, signal_id: int, kind: str) -> bool:
    try:
        if kind == "inbound":
            return await process_inbound(database, signal_id=signal_id)
        return await process_status(database, signal_id=signal_id)
    except Exception as error:  # whatever went wrong, the receipt stands and is tried again
        log.exception("signal.failed", signal_id=signal_id, kind=kind)
        await _note(database, signal_id, type(error).__name__)
        return False


async def process_leftovers(database: Database, *, most: int = 100) -> int:
    """Process receipts that nobody has processed yet, a few side by side; return how many were done.

    What people wrote comes before reports about our own messages; each kind oldest first.
    """
    async with database.reading() as uow:
        rows = (
            await uow.execute(
                "SELECT id, kind FROM signals WHERE processed_at IS NULL AND not_before <= clock_timestamp() "
                "AND (tries < :most_tries OR outcome = 'parked') ORDER BY (kind = 'inbound') DESC, id LIMIT :most",
                {"most": most, "most_tries": MOST_TRIES},
            )
        ).all()
    turns = asyncio.Semaphore(SIDE_BY_SIDE)

    async def process(signal_id: int, kind: str) -> bool:
        async with turns:
            return await process_receipt(database, signal_id=signal_id, kind=kind)

    return sum(await asyncio.gather(*(process(row.id, row.kind) for row in rows)))


async def _note(database: Database, signal_id: int, problem: str) -> None:
    """Count the try; where even that fails (the database is away), the receipt is simply still unprocessed."""
    try:
        async with database.transaction() as uow:
            await uow.execute(
                "UPDATE signals SET tries = tries + 1, problem = :problem, "
                "not_before = clock_timestamp() "
                "+ least(interval '1 hour', interval '1 second' * power(2, least(tries, 12))) "
                "WHERE id = :id AND processed_at IS NULL",
                {"id": signal_id, "problem": problem},
            )
    except (SQLAlchemyError, OSError) as error:
        log.warning("signal.not_noted", signal_id=signal_id, error=type(error).__name__)
