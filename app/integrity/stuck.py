"""What does not move by itself and should: each kind is one query of `contact_id` and `detail`.

How long something may take is real time: a fast demo clock makes no worker slower. Only a run that never began
has no real time to count from; it is judged by the business clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.campaigns.invariants import I3


@dataclass(frozen=True, slots=True)
class StuckKind:
    """One way to be stuck. `sql` returns `contact_id` (null where nobody is concerned) and `detail`."""

    key: str
    title: str
    sql: str


STUCK: Final[tuple[StuckKind, ...]] = (
    StuckKind("no_owner", "Active journeys that nothing will move", I3.sql),
    StuckKind(
        "unknown",
        "Sends of unknown outcome for more than 15 minutes",
        """
SELECT s.contact_id, 'send ' || s.id || ': unknown since ' || to_char(a.since, 'YYYY-MM-DD HH24:MI') || ' UTC' AS detail
FROM sends s
LEFT JOIN LATERAL (SELECT max(coalesce(finished_at, started_at)) AS since FROM send_attempts
    WHERE send_id = s.id) a ON true
WHERE s.status = 'unknown' AND coalesce(a.since, '-infinity') < clock_timestamp() - interval '15 minutes'
""",
    ),
    StuckKind(
        "needs_review",
        "Sends that a person has to look at",
        """
SELECT s.contact_id, 'send ' || s.id || ': ' || coalesce(s.reason, 'needs review') AS detail
FROM sends s WHERE s.status = 'needs_review'
""",
    ),
    StuckKind(
        "nobody_cares",
        "Paused or held journeys with neither a handoff, a task nor a date",
        """
SELECT e.contact_id, 'enrolment ' || e.id || ': ' || e.automation || coalesce(' (' || e.pause_reason || ')', '')
    AS detail
FROM enrolments e
WHERE e.automation IN ('paused', 'held') AND e.resume_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.contact_id = e.contact_id AND h.status <> 'closed')
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.contact_id = e.contact_id AND t.done_at IS NULL)
""",
    ),
    StuckKind(
        "runs",
        "Runs that make no progress, or wait for a person",
        """
SELECT CAST(NULL AS bigint) AS contact_id, 'run ' || r.id || ': ' || r.status || ' at ' || r.position AS detail
FROM runs r
WHERE r.status = 'needs_review'
   OR (r.status IN ('waiting', 'running') AND coalesce(r.lease_expires_at, '-infinity') < clock_timestamp()
       AND CASE WHEN r.progressed_at IS NOT NULL THEN r.progressed_at < clock_timestamp() - interval '5 minutes'
           ELSE r.created_at < coalesce((SELECT d.demo_base + (clock_timestamp() - d.real_base) * d.rate
               FROM demo_clock d), clock_timestamp()) - interval '5 minutes' END)
""",
    ),
    StuckKind(
        "queued",
        "Sends queued and not started for more than 5 minutes",
        """
SELECT s.contact_id, 'send ' || s.id || ': queued since ' || to_char(s.not_before, 'YYYY-MM-DD HH24:MI') || ' UTC'
    AS detail
FROM sends s WHERE s.status = 'queued' AND s.not_before < clock_timestamp() - interval '5 minutes'
""",
    ),
    StuckKind(
        "signals",
        "Signals not processed for more than a minute",
        """
SELECT g.contact_id, 'signal ' || g.id || ': ' || g.kind || coalesce(', ' || g.problem, '') AS detail
FROM signals g
WHERE g.processed_at IS NULL AND g.received_at < clock_timestamp() - interval '1 minute'
  AND NOT (g.kind = 'status' AND g.outcome IS NOT DISTINCT FROM 'parked')
""",
    ),
    StuckKind(
        "attempts",
        "Attempts without an outcome past their lease",
        """
SELECT s.contact_id, 'attempt ' || a.id || ' of send ' || a.send_id || ': lease over' AS detail
FROM send_attempts a
LEFT JOIN sends s ON s.id = a.send_id
WHERE a.outcome IS NULL AND a.lease_expires_at < clock_timestamp()
""",
    ),
)
