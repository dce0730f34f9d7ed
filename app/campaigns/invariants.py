"""Invariants of enrolments, their ledger and the sends that belong to them."""

from __future__ import annotations

from typing import Final

from app.campaigns.domain.enrolment import COVERED
from app.db.invariants import Invariant

# Two witnesses: the kind of an event, and the automation it set. Either stops; either lets go on. An attempt that
# the ledger never saw start would escape both, so it is a finding as well.
I2: Final = Invariant(
    id="I2",
    title="No campaign attempt started after a pause, exit or hold without a resume between",
    sql="""
WITH told AS (
    SELECT contact_id, enrolment_id, seq, type, data,
        max(seq) FILTER (WHERE type IN ('paused', 'held', 'closed', 'exhausted', 'opted_out', 'exited')
            OR set ->> 'automation' <> 'active') OVER before AS stopped,
        max(seq) FILTER (WHERE type IN ('enrolled', 'resumed') OR set ->> 'automation' = 'active')
            OVER before AS going
    FROM ledger
    WHERE enrolment_id IS NOT NULL
    WINDOW before AS (PARTITION BY contact_id, enrolment_id ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT contact_id, 'enrolment ' || enrolment_id || ': attempt ' || coalesce(data ->> 'attempt', '?')
    || ' started at ' || seq || ' after a stop at ' || stopped AS detail
FROM told
WHERE type = 'send_started' AND stopped > coalesce(going, 0)
UNION ALL
SELECT s.contact_id, 'enrolment ' || coalesce(s.enrolment_id::text, '?') || ': attempt ' || a.id
    || ' is not in the ledger'
FROM send_attempts a
JOIN sends s ON s.id = a.send_id AND s.kind = 'campaign'
LEFT JOIN (SELECT enrolment_id, data ->> 'attempt' AS attempt FROM ledger
    WHERE type = 'send_started' AND enrolment_id IS NOT NULL) l
    ON l.enrolment_id = s.enrolment_id AND l.attempt = a.id
WHERE l.attempt IS NULL
""",
)

# A lock names what holds it: `send:12` until that send is settled, `park:…` under its own lease.
I3: Final = Invariant(
    id="I3",
    title="Every active enrolment has exactly one owner: its unreleased send or park, or a timer",
    sql="""
SELECT e.contact_id, 'enrolment ' || e.id || ': ' || CASE
    WHEN e.lock_token IS NULL THEN 'neither a lock nor a timer'
    ELSE 'locked by ' || e.lock_token || ' (' || coalesce(s.status, 'which does not exist') || ')' END AS detail
FROM enrolments e
LEFT JOIN sends s ON s.enrolment_id = e.id
    AND s.id = CASE WHEN e.lock_token ~ '^send[:][0-9]{1,18}$' THEN substr(e.lock_token, 6)::bigint END
WHERE e.automation = 'active'
  AND CASE WHEN e.lock_token IS NULL THEN e.next_run_at IS NULL
      WHEN e.lock_token LIKE 'park%' THEN e.lock_expires_at IS NULL
      ELSE s.id IS NULL OR s.status NOT IN ('queued', 'sending', 'unknown') END
""",
)


def _fold_sql() -> str:
    """Return the fold in SQL: the last value of each covered column by seq, compared with the record."""
    differences = ",\n    ".join(
        f"CASE WHEN f.{name} IS DISTINCT FROM e.{name} THEN '{name}' END" for name in COVERED
    )
    told = ", ".join(f"f.{name}" for name in COVERED)
    stored = ", ".join(f"e.{name}" for name in COVERED)
    return f"""
WITH folded AS (
    SELECT l.contact_id, l.enrolment_id, jsonb_object_agg(kv.key, kv.value ORDER BY l.seq) AS state
    FROM ledger l CROSS JOIN LATERAL jsonb_each(l.set) kv
    WHERE l.enrolment_id IS NOT NULL
    GROUP BY l.contact_id, l.enrolment_id
)
SELECT e.contact_id, 'enrolment ' || e.id || ': ' || CASE WHEN folded.state IS NULL THEN 'not in the ledger'
    ELSE 'differs in ' || concat_ws(', ',
    {differences}) END AS detail
FROM enrolments e
LEFT JOIN folded ON folded.enrolment_id = e.id AND folded.contact_id = e.contact_id
LEFT JOIN LATERAL jsonb_populate_record(CAST(NULL AS enrolments), folded.state) f ON true
WHERE folded.state IS NULL OR ({told}) IS DISTINCT FROM ({stored})
"""


I4: Final = Invariant(id="I4", title="Folding the ledger gives the state record", sql=_fold_sql())

# The end of a journey (an opt-out, an exit) stops the machine as a pause does.
I5: Final = Invariant(
    id="I5",
    title="Every processed human signal whose enrolment was active has its pause in the same transaction",
    sql="""
SELECT g.contact_id, 'signal ' || g.id || ' of enrolment ' || coalesce(g.enrolment_id::text, '?')
    || ': no pause with it' AS detail
FROM signals g
WHERE g.processed_at IS NOT NULL AND g.human
  AND (g.was_active OR (g.was_active IS NULL AND g.enrolment_id IS NOT NULL))
  AND NOT EXISTS (
    SELECT 1 FROM ledger l
    WHERE l.enrolment_id = g.enrolment_id AND l.xid = g.processed_xid
      AND l.type IN ('paused', 'opted_out', 'closed', 'exited'))
""",
)

# Usable: a channel that the version's messages use, with an address and without a standing suppression. A cool-down
# that the enrolment itself wrote at its end begins no earlier than that end, so it is not the one it began inside. One
# that was written later (a backfill) could not be kept before, and one that was lifted was over.
I6: Final = Invariant(
    id="I6",
    title="No live enrolment without a usable channel; none begun inside a cool-down known then, without an override",
    sql="""
WITH used AS (
    SELECT DISTINCT v.id AS version_id, channel.name
    FROM campaign_versions v
    CROSS JOIN LATERAL jsonb_path_query(v.definition, 'strict $.paths.**{2 to last} ? (@.kind == "message")',
        silent => true) step
    CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(step -> 'channels', '["whatsapp"]')) channel(name)
)
SELECT e.contact_id, 'enrolment ' || e.id || ': no usable channel' AS detail
FROM enrolments e
WHERE e.automation <> 'completed'
  AND NOT EXISTS (
    SELECT 1 FROM used u
    WHERE u.version_id = e.version_id
      AND EXISTS (SELECT 1 FROM contact_identities i WHERE i.contact_id = e.contact_id
        AND (CASE WHEN u.name = 'email' THEN i.kind = 'email'
             ELSE i.kind = 'phone' OR (i.kind = 'whatsapp_user' AND u.name = 'whatsapp') END))
      AND NOT EXISTS (SELECT 1 FROM suppressions s WHERE s.contact_id = e.contact_id
        AND s.lifted_at IS NULL AND s.channel IN ('all', u.name)))
UNION ALL
SELECT e.contact_id, 'enrolment ' || e.id || ': begun inside cool-down ' || c.id || ' (' || c.reason || ')'
FROM enrolments e
JOIN cooldowns c ON c.contact_id = e.contact_id AND c.enrolment_id IS DISTINCT FROM e.id
    AND c.starts_at <= e.created_at AND e.created_at < c.ends_at
    AND (c.written_at IS NULL OR c.written_at < e.created_at) AND (c.lifted_at IS NULL OR c.lifted_at > e.created_at)
JOIN campaigns k ON k.id = e.campaign_id
WHERE NOT k.cooldown_exempt
  AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.contact_id = e.contact_id AND l.enrolment_id = e.id
    AND l.type = 'enrolled' AND coalesce(l.data ->> 'override', '') <> '')
""",
)

# (contact, enrolment, seq) is unique, so the lowest, the highest and the number tell whether one is missing.
I10: Final = Invariant(
    id="I10",
    title="The ledger's numbers are contiguous for each enrolment",
    sql="""
SELECT coalesce(e.contact_id, l.contact_id) AS contact_id, 'enrolment ' || coalesce(e.id, l.enrolment_id) || ': '
    || CASE WHEN e.id IS NULL THEN 'events of an enrolment that does not exist'
        WHEN l.enrolment_id IS NULL THEN 'no events'
        WHEN l.contacts > 1 OR l.contact_id <> e.contact_id THEN 'events under another contact'
        ELSE l.events || ' events, numbered ' || coalesce(l.lowest, 0) || ' to ' || coalesce(l.highest, 0)
            || ', the record says ' || e.ledger_seq END AS detail
FROM enrolments e
FULL JOIN (
    SELECT enrolment_id, min(contact_id) AS contact_id, count(DISTINCT contact_id) AS contacts, count(*) AS events,
        count(seq) AS numbered, min(seq) AS lowest, max(seq) AS highest
    FROM ledger WHERE enrolment_id IS NOT NULL GROUP BY enrolment_id
) l ON l.enrolment_id = e.id
WHERE e.id IS NULL OR l.enrolment_id IS NULL OR l.contacts > 1 OR l.contact_id <> e.contact_id
   OR l.numbered <> l.events OR l.lowest <> 1 OR l.highest <> l.events OR l.highest <> e.ledger_seq
""",
)

I11: Final = Invariant(
    id="I11",
    title="Every campaign send belongs to a step its version has, and to its enrolment's contact",
    sql="""
WITH message_steps AS (
    SELECT DISTINCT v.id AS version_id, v.campaign_id, path.key AS path, step ->> 'key' AS step
    FROM campaign_versions v
    CROSS JOIN LATERAL jsonb_each(v.definition -> 'paths') path
    CROSS JOIN LATERAL jsonb_path_query(path.value, 'strict $.** ? (@.kind == "message")', silent => true) step
)
SELECT s.contact_id, 'send ' || s.id || ': ' || concat_ws(', ',
    CASE WHEN e.id IS NULL THEN 'no enrolment' END,
    CASE WHEN e.contact_id <> s.contact_id THEN 'the enrolment is of contact ' || e.contact_id END,
    CASE WHEN e.campaign_id <> s.campaign_id THEN 'the enrolment is in campaign ' || e.campaign_id END,
    CASE WHEN e.generation <> s.generation THEN 'the enrolment is generation ' || e.generation END,
    CASE WHEN m.step IS NULL THEN 'version ' || coalesce(s.version_id::text, '?') || ' has no message '
        || coalesce(s.path, '?') || '/' || coalesce(s.step, '?') END) AS detail
FROM sends s
LEFT JOIN enrolments e ON e.id = s.enrolment_id
LEFT JOIN message_steps m ON m.version_id = s.version_id AND m.campaign_id = s.campaign_id
    AND m.path = s.path AND m.step = s.step
WHERE s.kind = 'campaign'
  AND (e.id IS NULL OR m.step IS NULL
    OR (e.contact_id, e.campaign_id, e.generation) IS DISTINCT FROM (s.contact_id, s.campaign_id, s.generation))
""",
)

INVARIANTS: Final[tuple[Invariant, ...]] = (I2, I3, I4, I5, I6, I10, I11)
