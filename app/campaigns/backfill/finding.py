"""What a backfill looks for, a stretch of enrolments at a time: ends without a rest, journeys begun inside one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from app.campaigns.backfill.domain import rest_reason
from app.contacts.cooldowns.domain import CooldownLengths, rest_ends
from app.db.session import UnitOfWork

PAUSE_REASON: Final = "cooldown"


@dataclass(frozen=True, slots=True)
class MissingRest:
    """A rest that a past end should have left. Moments are UTC."""

    enrolment_id: int
    contact_id: int
    reason: str
    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class BegunInside:
    """A live journey that began while its person was to rest; `rests_until` is when that is over."""

    enrolment_id: int
    contact_id: int
    rests_until: datetime


# The person is whoever the contact became part of. When it ended is told by the ledger, where there is one.
_ENDS = """
WITH RECURSIVE ended AS (
    SELECT e.id, e.contact_id, e.stage, e.exit_reason, e.ledger_at FROM enrolments e
    WHERE e.id > :after AND e.id <= :through AND e.automation = 'completed'
      AND NOT EXISTS (SELECT 1 FROM cooldowns d WHERE d.enrolment_id = e.id)
    ORDER BY e.id LIMIT :most
), people AS (
    SELECT DISTINCT c.id AS was, c.id, c.merged_into FROM contacts c JOIN ended ON ended.contact_id = c.id
    UNION SELECT p.was, c.id, c.merged_into FROM contacts c JOIN people p ON c.id = p.merged_into
)
SELECT ended.id, people.id AS contact_id, ended.stage, ended.exit_reason,
    coalesce((SELECT l.at FROM ledger l WHERE l.contact_id = ended.contact_id AND l.enrolment_id = ended.id
        AND l.type IN ('closed', 'exhausted', 'exited', 'opted_out') ORDER BY l.seq LIMIT 1),
        ended.ledger_at) AS ended_at,
    (SELECT max(h.not_now_until) FROM handoffs h WHERE h.contact_id IN (ended.contact_id, people.id)
        AND h.enrolment_id = ended.id AND h.outcome = 'not_now') AS until
FROM ended JOIN people ON people.was = ended.contact_id AND people.merged_into IS NULL
ORDER BY ended.id
"""

# Whom a person let in knowingly, who was asked about once, and who began before the rest was over are different
# things: only the last is found, and once.
_INSIDE = """
SELECT e.id, e.contact_id, max(d.ends_at) AS rests_until
FROM enrolments e
JOIN campaigns k ON k.id = e.campaign_id AND NOT k.cooldown_exempt
JOIN (
    SELECT contact_id, enrolment_id, starts_at, ends_at FROM cooldowns WHERE lifted_at IS NULL
    UNION ALL SELECT contact_id, enrolment_id, starts_at, ends_at
    FROM jsonb_to_recordset(CAST(:supposed AS jsonb)) AS r(
        contact_id bigint, enrolment_id bigint, starts_at timestamptz, ends_at timestamptz)
) d ON d.contact_id = e.contact_id AND d.enrolment_id IS DISTINCT FROM e.id
    AND d.starts_at <= e.created_at AND e.created_at < d.ends_at
    AND d.ends_at > :now
WHERE e.id > :after AND e.id <= :through AND e.automation <> 'completed'
  AND (CAST(:ids AS bigint[]) IS NULL OR e.id = ANY(CAST(:ids AS bigint[])))
  AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.contact_id = e.contact_id AND l.enrolment_id = e.id
    AND l.type = 'enrolled' AND coalesce(l.data ->> 'override', '') <> '')
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.contact_id = e.contact_id AND t.kind = 'review'
    AND t.enrolment_id = e.id AND t.subject LIKE 'enrolment%cooldown')
GROUP BY e.id, e.contact_id
ORDER BY e.id LIMIT :most
"""


async def find_missing_rests(
    uow: UnitOfWork, *, after: int, through: int, most: int, lengths: CooldownLengths
) -> tuple[Sequence[MissingRest], int]:
    """Return the rests that ended enrolments of a stretch should have had, and the last enrolment looked at.

    The stretch begins after the id `after` and is over where the second value is `through`.
    """
    rows = (await uow.execute(_ENDS, {"after": after, "through": through, "most": most})).all()
    missing: list[MissingRest] = []
    for row in rows:
        reason = rest_reason(stage=row.stage, exit_reason=row.exit_reason)
        if reason is None:
            continue
        ends_at = rest_ends(lengths, reason=reason, begins_at=row.ended_at, until=row.until, zone=uow.zone)
        if ends_at is not None:
            missing.append(MissingRest(row.id, row.contact_id, reason, row.ended_at, ends_at))
    return missing, rows[-1].id if len(rows) == most else through


async def find_begun_inside(
    uow: UnitOfWork,
    *,
    after: int,
    through: int,
    most: int,
    now: datetime,
    only: Collection[int] | None = None,
    supposed: Sequence[MissingRest] = (),
) -> tuple[Sequence[BegunInside], int]:
    """Return live journeys begun inside a rest that runs still, which no person let in or was asked about; and the
    last enrolment looked at. `supposed` are rests that are not written yet and count as well.
    """
    rows = (
        await uow.execute(
            _INSIDE,
            {
                "after": after,
                "through": through,
                "most": most,
                "now": now,
                "ids": None if only is None else sorted(only),
                "supposed": msgspec.json.encode(supposed).decode(),
            },
        )
    ).all()
    found = [BegunInside(row.id, row.contact_id, row.rests_until) for row in rows]
    return found, rows[-1].id if len(rows) == most else through
