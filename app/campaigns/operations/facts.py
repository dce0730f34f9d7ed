"""The facts that decisions need besides the record: read for many journeys at once, and only what is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.advisers.settings import load_rules
from app.campaigns.domain.compiling import SIGNALS
from app.campaigns.domain.definition import CompiledVersion, Need
from app.campaigns.domain.outcomes import SentStep, outcomes_of
from app.campaigns.domain.schedule import Visit
from app.campaigns.domain.stimuli import Facts, Seen
from app.campaigns.domain.vocabulary import Stage
from app.campaigns.operations.reach import REACHES
from app.campaigns.repository import Record
from app.db.session import UnitOfWork


async def load_facts(uow: UnitOfWork, record: Record, version: CompiledVersion) -> Facts:
    """Return what is known of a locked enrolment: its contact, the person who has the lead, what its steps need."""
    row = (
        await uow.execute(
            "SELECT (SELECT count(*) FROM ledger l WHERE l.contact_id = :id AND l.enrolment_id = :enrolment_id "
            "AND l.type = 'path_entered') AS path_starts, h.id AS handoff_id, h.owner_id, h.waiting_since "
            "FROM (SELECT 1) one LEFT JOIN handoffs h ON h.contact_id = :id AND h.status <> 'closed'",
            {"id": record.contact_id, "enrolment_id": record.id},
        )
    ).one()
    facts = Facts(
        record.contact_id,
        record.zone,
        handoff_open=row.handoff_id is not None,
        owned=row.owner_id is not None,
        answered=row.waiting_since is not None,
        path_starts=row.path_starts,
    )
    return (await add_needed(uow, {record.id: facts}, [record], {record.state.version_id: version}))[
        record.id
    ]


async def add_needed(
    uow: UnitOfWork,
    facts: Mapping[int, Facts],
    records: Sequence[Record],
    versions: Mapping[int, CompiledVersion],
) -> dict[int, Facts]:
    """Return the facts by enrolment with what the steps of their versions need on top."""
    known = dict(facts)

    def needing(need: Need) -> list[Record]:
        return [r for r in records if need in versions[r.state.version_id].needs]

    if asking := needing(Need.CHANNELS):
        await _add_channels(uow, known, asking, versions)
    if asking := needing(Need.BOOKING):
        await _add_visits(uow, known, asking)
    if needing(Need.CALENDAR) or any(r.state.stage is Stage.BOOKED for r in records):
        calendar = (await load_rules(uow)).calendar
        known = {id_: replace(one, calendar=calendar) for id_, one in known.items()}
    if asking := [r for r in records if versions[r.state.version_id].needs & {Need.SIGNALS, Need.VALUES}]:
        await _add_seen(uow, known, asking)
    if asking := needing(Need.VALUES):
        await _add_values(uow, known, asking)
    return known


_CHANNELS = f"""
SELECT c.id, array_agg(ch.name) AS names
FROM unnest(CAST(:ids AS bigint[])) AS c(id) CROSS JOIN unnest(CAST(:channels AS text[])) AS ch(name)
JOIN consents k ON k.contact_id = c.id AND k.channel = ch.name AND k.granted
WHERE {REACHES} GROUP BY c.id
"""

SENDERS = """
SELECT DISTINCT ON (channel) channel, id FROM senders WHERE status <> 'off' ORDER BY channel, id
"""


async def _add_channels(
    uow: UnitOfWork,
    known: dict[int, Facts],
    records: Sequence[Record],
    versions: Mapping[int, CompiledVersion],
) -> None:
    names = sorted({name for r in records for name in versions[r.state.version_id].channels})
    senders = {row.channel: row.id for row in await uow.execute(SENDERS)}
    rows = await uow.execute(_CHANNELS, {"ids": [r.contact_id for r in records], "channels": names})
    reach = {row.id: frozenset(row.names) for row in rows}
    for record in records:
        usable = reach.get(record.contact_id, frozenset())
        known[record.id] = replace(known[record.id], channels=usable, senders=senders)


async def _add_visits(uow: UnitOfWork, known: dict[int, Facts], records: Sequence[Record]) -> None:
    booked = {r.state.booking_id: r.id for r in records if r.state.booking_id is not None}
    if not booked:
        return
    rows = await uow.execute(
        "SELECT id, starts_at, ends_at FROM bookings WHERE id = ANY(CAST(:ids AS bigint[]))",
        {"ids": list(booked)},
    )
    for row in rows:
        enrolment_id = booked[row.id]
        known[enrolment_id] = replace(known[enrolment_id], visit=Visit(row.id, row.starts_at, row.ends_at))


async def _add_seen(uow: UnitOfWork, known: dict[int, Facts], records: Sequence[Record]) -> None:
    """What a person did hangs on the contact: also what came while no journey was live, and from other channels."""
    rows = await uow.execute(
        "SELECT contact_id, enrolment_id, type, at, cause FROM ledger "
        "WHERE contact_id = ANY(CAST(:ids AS bigint[])) AND type = ANY(CAST(:kinds AS text[])) ORDER BY contact_id, id",
        {"ids": [r.contact_id for r in records], "kinds": list(SIGNALS)},
    )
    seen: dict[int, list[Seen]] = {}
    for row in rows:
        seen.setdefault(row.contact_id, []).append(Seen(row.type, row.at, row.cause))
    for record in records:
        known[record.id] = replace(known[record.id], seen=tuple(seen.get(record.contact_id, ())))


_VALUES = """
SELECT c.id, c.language, c.time_zone, c.source, c.attributes,
    (SELECT coalesce(jsonb_object_agg(k.channel, k.granted), '{}') FROM consents k WHERE k.contact_id = c.id)
        AS consents
FROM contacts c WHERE c.id = ANY(CAST(:ids AS bigint[]))
"""

_STEPS = """
SELECT s.enrolment_id, s.step, s.status, s.accepted_at FROM sends s
WHERE s.enrolment_id = ANY(CAST(:ids AS bigint[])) AND s.kind = 'campaign' ORDER BY s.id
"""

_SKIPPED = """
SELECT l.enrolment_id, l.data ->> 'step' AS step FROM ledger l
WHERE l.contact_id = ANY(CAST(:contacts AS bigint[])) AND l.enrolment_id = ANY(CAST(:ids AS bigint[]))
  AND l.type = 'skipped' AND l.data ? 'step'
"""


async def _add_values(uow: UnitOfWork, known: dict[int, Facts], records: Sequence[Record]) -> None:
    ids, contacts = [r.id for r in records], [r.contact_id for r in records]
    people = {row.id: row for row in await uow.execute(_VALUES, {"ids": contacts})}
    sends: dict[int, list[SentStep]] = {}
    for row in await uow.execute(_STEPS, {"ids": ids}):
        sends.setdefault(row.enrolment_id, []).append(SentStep(row.step, row.status, row.accepted_at))
    skipped: dict[int, list[str]] = {}
    for row in await uow.execute(_SKIPPED, {"ids": ids, "contacts": contacts}):
        skipped.setdefault(row.enrolment_id, []).append(row.step)
    for record in records:
        person = people[record.contact_id]
        facts = known[record.id]
        outcomes = outcomes_of(sends.get(record.id, ()), facts.seen, skipped.get(record.id, ()))
        attributes = person.attributes or {}
        values = {
            "contact.language": person.language,
            "contact.time_zone": person.time_zone,
            "contact.source": person.source,
            **{f"contact.attributes.{name}": value for name, value in attributes.items()},
            **{f"crm.{name}": value for name, value in (attributes.get("crm") or {}).items()},
            **{f"consent.{channel}": granted for channel, granted in person.consents.items()},
            **{f"step.{step}.outcome": outcome for step, outcome in outcomes.items()},
        }
        known[record.id] = replace(facts, values=values)
