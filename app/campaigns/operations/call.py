"""The fence right before a provider call: what was true when the attempt was written must still be true."""

from __future__ import annotations

from app.campaigns.operations.start import StartedCall
from app.db.session import Database

_WANTED = """
SELECT s.status = 'sending' AND NOT EXISTS (SELECT 1 FROM send_attempts b WHERE b.send_id = s.id AND b.n > a.n)
    AND a.outcome IS NULL AND (s.enrolment_id IS NULL OR (e.automation = 'active' AND e.lock_token = 'send:' || s.id
        AND NOT EXISTS (SELECT 1 FROM signals g
            WHERE g.processed_at IS NULL AND g.kind = 'inbound' AND g.address = a.address))) AS wanted
FROM send_attempts a JOIN sends s ON s.id = a.send_id LEFT JOIN enrolments e ON e.id = s.enrolment_id
WHERE a.id = :attempt
"""


async def still_wanted(database: Database, call: StartedCall) -> bool:
    """Say whether a call that had to wait may still be made.

    Nobody has said meanwhile that this message was accepted after all, or that this attempt is over; and for a
    campaign's message, nobody answered and nobody paused the journey. Messages of people are wanted whatever the
    journey does.
    """
    async with database.reading() as uow:
        row = (await uow.execute(_WANTED, {"attempt": call.attempt_id})).one_or_none()
    return bool(row and row.wanted)
