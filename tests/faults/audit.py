"""The audit: what the phones received against what the engine says, every invariant, and what is stuck."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.integrity.runner import look
from tests.faults.stage import Stage


@dataclass(slots=True)
class Audit:
    """What an audit found; `problems` says in words whatever is not as it has to be."""

    messages: int = 0
    """Campaign messages that phones received."""
    people: int = 0
    duplicates: int = 0
    unmatched: int = 0
    """Messages that no accepted attempt explains, and accepted attempts without a message."""
    unexplained: int = 0
    """Sends that neither ended nor wait for a reason."""
    violations: int = 0
    stuck: int = 0
    problems: list[str] = field(default_factory=list)


async def audit(stage: Stage) -> Audit:
    """Look at everything once."""
    found = Audit()
    await _compare_with_phones(stage, found)
    await _look_at_sends(stage, found)
    report = await look(stage.database)
    found.violations, found.stuck = report.violations, report.stuck_count
    for finding in (*report.invariants, *report.stuck):
        found.problems += [f"{finding.key}: {offender.detail}" for offender in finding.offenders]
    return found


async def violations(stage: Stage) -> list[str]:
    """Return what breaks an invariant at this moment, in the middle of everything."""
    report = await look(stage.database)
    return [
        f"{finding.key}: {offender.detail}" for finding in report.invariants for offender in finding.offenders
    ]


async def _compare_with_phones(stage: Stage, found: Audit) -> None:
    tallies = await stage.simulator.counts(group="to,content_sid")
    campaign = [t for t in tallies if t.group["content_sid"] is not None]
    found.messages = sum(t.accepted for t in campaign)
    found.people = len({t.group["to"] for t in campaign})
    doubled = [t for t in campaign if t.accepted > 1]
    found.duplicates = sum(t.accepted - 1 for t in doubled)
    found.problems += [
        f"received {t.accepted} times: {t.group['content_sid']} {', '.join(t.sids)}" for t in doubled
    ]
    at_the_phone = {
        (str(t.group["attempt"]), sid)
        for t in await stage.simulator.counts(group="attempt")
        for sid in t.sids
    }
    known = {
        (row.id, row.provider_message_id)
        for row in await stage.rows(
            "SELECT id, provider_message_id FROM send_attempts WHERE outcome IN ('accepted', 'failed') "
            "AND provider_message_id IS NOT NULL"
        )
    }
    found.unmatched = len(at_the_phone ^ known)
    found.problems += [
        f"a message without its attempt: {attempt}" for attempt, _ in sorted(at_the_phone - known)
    ]
    found.problems += [
        f"an attempt without its message: {attempt}" for attempt, _ in sorted(known - at_the_phone)
    ]


async def _look_at_sends(stage: Stage, found: Audit) -> None:
    """A send has ended; or it waits, and its journey is paused, held, over, or has a timer for it."""
    rows = await stage.rows(
        """
SELECT s.id, s.status, s.reason, e.automation FROM sends s LEFT JOIN enrolments e ON e.id = s.enrolment_id
WHERE s.status NOT IN ('accepted', 'sent', 'delivered', 'read', 'failed', 'undelivered', 'skipped', 'superseded')
  AND NOT (s.status = 'waiting' AND s.reason IS NOT NULL
           AND (e.automation <> 'active' OR e.next_run_at IS NOT NULL))
"""
    )
    found.unexplained = len(rows)
    found.problems += [
        f"send {row.id}: {row.status} ({row.reason}), journey {row.automation}" for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ReplyAudit:
    """What became of the leads who answered."""

    replies: int
    after_reply: int
    """Campaign messages whose attempt began after the reply was in our hands."""
    on_the_wire: int
    """Messages that were accepted after the reply, of attempts that had begun before it: allowed."""
    handoffs: int
    not_paused: int


async def audit_replies(stage: Stage, sids: list[str]) -> ReplyAudit:
    """Compare the replies' moments with those of attempts and of the provider, all in real time."""
    accepted_ms = {r.attempt: r.at_ms for r in await stage.simulator.requests() if r.sid is not None}
    rows = await stage.rows(
        """
SELECT g.contact_id, a.id AS attempt,
    (a.started_at > g.processed_at) AS began_after,
    extract(epoch FROM g.processed_at)::float8 * 1000 AS processed_ms
FROM signals g
LEFT JOIN sends s ON s.contact_id = g.contact_id AND s.kind = 'campaign'
LEFT JOIN send_attempts a ON a.send_id = s.id
WHERE g.kind = 'inbound' AND g.provider_message_id = ANY(CAST(:sids AS text[]))
""",
        sids=sids,
    )
    people = sorted({row.contact_id for row in rows if row.contact_id is not None})
    late = [r for r in rows if r.attempt in accepted_ms and accepted_ms[r.attempt] > r.processed_ms]
    (state,) = await stage.rows(
        "SELECT (SELECT count(*) FROM handoffs WHERE contact_id = ANY(CAST(:ids AS bigint[]))) AS handoffs, "
        "(SELECT count(*) FROM enrolments WHERE contact_id = ANY(CAST(:ids AS bigint[])) "
        "AND automation IN ('active', 'held')) AS not_paused",
        ids=people,
    )
    return ReplyAudit(
        replies=len(people),
        after_reply=sum(r.began_after for r in rows if r.attempt is not None),
        on_the_wire=sum(not r.began_after for r in late),
        handoffs=state.handoffs,
        not_paused=state.not_paused,
    )
