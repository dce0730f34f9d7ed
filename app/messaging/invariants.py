"""Invariants of sends, their attempts and what was reported about them."""

from __future__ import annotations

from typing import Final

from app.db.invariants import Invariant

# An attempt with a provider's id reached the provider, whatever its outcome says; a failed one has ended.
I1: Final = Invariant(
    id="I1",
    title="No send has two accepted attempts",
    sql="""
SELECT s.contact_id, 'send ' || s.id || ': ' || count(*) || ' accepted attempts ('
    || string_agg(a.id, ', ' ORDER BY a.n) || ')' AS detail
FROM send_attempts a
JOIN sends s ON s.id = a.send_id
WHERE a.outcome = 'accepted'
   OR (a.provider_message_id IS NOT NULL AND coalesce(a.outcome, 'open') NOT IN ('failed', 'rejected'))
GROUP BY s.contact_id, s.id
HAVING count(*) > 1
""",
)

# The ledger's ids rise in the order of one send's events, for its enrolment is locked while they are written.
# A second acceptance says `again`: it raises nothing, and I1 finds it.
I12: Final = Invariant(
    id="I12",
    title="Message and send status never moved backwards",
    sql="""
WITH reported AS (
    SELECT contact_id, id, type, data ->> 'send_id' AS send_id,
        CASE type WHEN 'send_accepted' THEN 1 WHEN 'delivered' THEN 2 ELSE 3 END AS rank
    FROM ledger
    WHERE type IN ('send_accepted', 'delivered', 'read') AND data ? 'send_id' AND NOT data ? 'again'
), ordered AS (
    SELECT *, max(rank) OVER (
        PARTITION BY contact_id, send_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM reported
), attempted AS (
    SELECT send_id, bool_or(outcome = 'accepted') AS accepted FROM send_attempts GROUP BY send_id
)
SELECT contact_id, 'send ' || send_id || ': ' || type || ' after a later state' AS detail
FROM ordered WHERE rank < reached
UNION ALL
SELECT s.contact_id, 'send ' || s.id || ': ' || s.status || CASE WHEN coalesce(a.accepted, false)
    THEN ' with an accepted attempt' ELSE ' without an accepted attempt' END
FROM sends s
LEFT JOIN attempted a ON a.send_id = s.id
WHERE (s.status IN ('accepted', 'sent', 'delivered', 'read') AND NOT coalesce(a.accepted, false))
   OR (s.status IN ('waiting', 'queued', 'sending', 'unknown', 'needs_review') AND coalesce(a.accepted, false))
""",
)

INVARIANTS: Final[tuple[Invariant, ...]] = (I1, I12)
