"""The one door into a campaign. Every way in (import, form, API) calls `enrol_batch` or `enrol`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from app.campaigns.domain.decide import decide_enrolment
from app.campaigns.domain.definition import CompiledVersion, MessageStep
from app.campaigns.domain.enrolment import COVERED, Decision
from app.campaigns.domain.stimuli import Facts
from app.campaigns.operations.reach import REACHES
from app.campaigns.repository import INSERT_COLUMNS, INSERT_TYPES
from app.campaigns.versions import load_versions
from app.db.session import UnitOfWork
from app.kernel.errors import Invalid, NotFound
from app.ledger.repository import LedgerRow, append_events


@dataclass(frozen=True, slots=True)
class EnrolRequest:
    """One wish to enrol. `ref` makes it repeatable: the same ref returns the earlier enrolment, also an ended one."""

    contact_id: int
    ref: str
    override_reason: str | None = None


@dataclass(frozen=True, slots=True)
class EnrolResult:
    """What became of it: `enrolled`, `touched` (live in this campaign), `repeated` (same ref) or `refused`."""

    ref: str
    contact_id: int
    outcome: str
    enrolment_id: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Campaign:
    id: int
    key: str
    cooldown_exempt: bool
    version: CompiledVersion
    sender_id: int

    @property
    def channels(self) -> list[str]:
        """The channels that its messages can use."""
        return sorted(
            {
                channel
                for path in self.version.paths.values()
                for step in path.steps
                if isinstance(step, MessageStep)
                for channel in step.channels
            }
        )


@dataclass(frozen=True, slots=True)
class _Standing:
    """What the doorkeeper needs to know of one contact, read under the contact's lock."""

    zone: str | None
    same_ref: int | None
    live_id: int | None
    live_campaign_id: int | None
    live_campaign: str | None
    cooldown_until: datetime | None
    suppressed: bool
    usable: bool
    generation: int
    with_a_person: bool


async def enrol(
    uow: UnitOfWork, *, campaign_key: str, request: EnrolRequest, actor: str, now: datetime
) -> EnrolResult:
    """Enrol one contact; see `enrol_batch`."""
    return (await enrol_batch(uow, campaign_key=campaign_key, requests=[request], actor=actor, now=now))[0]


async def enrol_batch(
    uow: UnitOfWork, *, campaign_key: str, requests: Sequence[EnrolRequest], actor: str, now: datetime
) -> list[EnrolResult]:
    """Enrol contacts, at most 500 at a time, and return a result for each request in order.

    Contacts are locked by ascending id (after following merges), so no other door can enrol them meanwhile;
    the unique index on live enrolments stands behind that. Refusals and second touches are in the ledger.
    Raises `NotFound` for an unknown campaign and `Invalid` for one without a version or a sender.
    """
    if len(requests) > 500:
        raise Invalid("At most 500 people are enrolled at once.")
    campaign = await _load_campaign(uow, campaign_key)
    merged_into = await _lock_contacts(uow, {r.contact_id for r in requests})
    followed = [
        EnrolRequest(merged_into.get(r.contact_id, r.contact_id), r.ref, r.override_reason) for r in requests
    ]
    standing = await _load_standing(uow, campaign, followed, now)
    results: list[EnrolResult] = []
    begun: dict[int, EnrolRequest] = {}
    for request in followed:
        facts = standing.get((request.contact_id, request.ref))
        if facts is None:
            results.append(EnrolResult(request.ref, request.contact_id, "refused", reason="unknown_contact"))
        elif request.contact_id in begun:
            results.append(
                EnrolResult(request.ref, request.contact_id, "touched", reason="twice_in_this_batch")
            )
        else:
            result = _judge(campaign, request, facts)
            if result.outcome == "enrolled":
                begun[request.contact_id] = request
            results.append(result)
    ids = await _begin(uow, campaign, list(begun.values()), standing, actor, now)
    await _log_the_rest(uow, campaign, results, standing, actor, now)
    return [
        EnrolResult(r.ref, r.contact_id, r.outcome, ids.get(r.contact_id, r.enrolment_id), r.reason)
        if r.outcome == "enrolled"
        else r
        for r in results
    ]


def _judge(campaign: _Campaign, request: EnrolRequest, facts: _Standing) -> EnrolResult:
    """Decide at the door, most telling reason first."""

    def refused(reason: str) -> EnrolResult:
        return EnrolResult(request.ref, request.contact_id, "refused", None, reason)

    if facts.same_ref is not None:
        return EnrolResult(request.ref, request.contact_id, "repeated", facts.same_ref)
    if facts.live_id is not None and facts.live_campaign_id == campaign.id:
        return EnrolResult(request.ref, request.contact_id, "touched", facts.live_id)
    if facts.suppressed:
        return refused("suppressed")
    if not facts.usable:
        return refused("no_usable_channel")
    if facts.live_id is not None:
        return refused(f"live_in:{facts.live_campaign}")
    if facts.cooldown_until is not None and not campaign.cooldown_exempt and request.override_reason is None:
        return refused(f"in_cooldown_until:{facts.cooldown_until.isoformat()}")
    if facts.with_a_person and request.override_reason is None:
        return refused("with_an_adviser")  # the machine does not write over the head of who talks with them
    return EnrolResult(request.ref, request.contact_id, "enrolled")


async def _load_campaign(uow: UnitOfWork, key: str) -> _Campaign:
    row = (
        await uow.execute(
            "SELECT id, key, cooldown_exempt, current_version_id, status FROM campaigns WHERE key = :key",
            {"key": key},
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no campaign `{key}`.")
    if row.current_version_id is None or row.status == "archived":
        raise Invalid(f"Campaign `{key}` has no published version.")
    version = (await load_versions(uow, [row.current_version_id]))[row.current_version_id]
    sender = (
        await uow.execute("SELECT id FROM senders WHERE channel = 'whatsapp' ORDER BY id LIMIT 1")
    ).one_or_none()
    if sender is None:
        raise Invalid("There is no WhatsApp sender to send from.")
    return _Campaign(row.id, row.key, row.cooldown_exempt, version, sender.id)


async def _lock_contacts(uow: UnitOfWork, ids: set[int]) -> dict[int, int]:
    """Lock contacts by ascending id and return where merged ones went; survivors are locked too."""
    merged: dict[int, int] = {}
    wanted = ids
    while wanted:
        rows = await uow.execute(
            "SELECT id, merged_into FROM contacts WHERE id = ANY(CAST(:ids AS bigint[])) "
            "ORDER BY id FOR NO KEY UPDATE",
            {"ids": sorted(wanted)},
        )
        step = {row.id: row.merged_into for row in rows if row.merged_into is not None}
        merged = {start: step.get(end, end) for start, end in {**merged, **step}.items()}
        wanted = set(step.values()) - set(step)
    return merged


_STANDING = f"""
SELECT r.contact_id, r.ref, c.time_zone,
    (SELECT e.id FROM enrolments e WHERE e.campaign_id = :campaign_id AND e.ref = r.ref) AS same_ref,
    live.id AS live_id, live.campaign_id AS live_campaign_id, k.key AS live_campaign,
    (SELECT max(d.ends_at) FROM cooldowns d
     WHERE d.contact_id = c.id AND d.starts_at <= :now AND d.ends_at > :now) AS cooldown_until,
    EXISTS (SELECT 1 FROM suppressions s
     WHERE s.contact_id = c.id AND s.lifted_at IS NULL AND s.channel = 'all') AS suppressed,
    EXISTS (SELECT 1 FROM unnest(CAST(:channels AS text[])) AS ch(name)
     JOIN consents n ON n.contact_id = c.id AND n.channel = ch.name AND n.granted
     WHERE {REACHES}) AS usable,
    coalesce((SELECT max(e.generation) FROM enrolments e
     WHERE e.contact_id = c.id AND e.campaign_id = :campaign_id), 0) + 1 AS generation,
    EXISTS (SELECT 1 FROM handoffs h WHERE h.contact_id = c.id AND h.status <> 'closed') AS with_a_person
FROM jsonb_to_recordset(CAST(:requests AS jsonb)) AS r(contact_id bigint, ref text)
JOIN contacts c ON c.id = r.contact_id
LEFT JOIN enrolments live ON live.contact_id = c.id AND live.automation <> 'completed'
LEFT JOIN campaigns k ON k.id = live.campaign_id
"""


async def _load_standing(
    uow: UnitOfWork, campaign: _Campaign, requests: Sequence[EnrolRequest], now: datetime
) -> dict[tuple[int, str], _Standing]:
    wanted = [{"contact_id": r.contact_id, "ref": r.ref} for r in requests]
    rows = await uow.execute(
        _STANDING,
        {
            "campaign_id": campaign.id,
            "now": now,
            "channels": campaign.channels,
            "requests": msgspec.json.encode(wanted).decode(),
        },
    )
    return {
        (row.contact_id, row.ref): _Standing(
            row.time_zone,
            row.same_ref,
            row.live_id,
            row.live_campaign_id,
            row.live_campaign,
            row.cooldown_until,
            row.suppressed,
            row.usable,
            row.generation,
            row.with_a_person,
        )
        for row in rows
    }


_INSERT = f"""
INSERT INTO enrolments (contact_id, campaign_id, ref, created_at, ledger_seq, ledger_at, {INSERT_COLUMNS})
SELECT contact_id, campaign_id, ref, created_at, ledger_seq, created_at, {INSERT_COLUMNS}
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    contact_id bigint, campaign_id bigint, ref text, created_at timestamptz, ledger_seq integer, {INSERT_TYPES})
RETURNING id, contact_id
"""


async def _begin(
    uow: UnitOfWork,
    campaign: _Campaign,
    requests: Sequence[EnrolRequest],
    standing: dict[tuple[int, str], _Standing],
    actor: str,
    now: datetime,
) -> dict[int, int]:
    """Insert the enrolments with their first ledger events; return enrolment ids by contact id."""
    if not requests:
        return {}
    decisions: dict[int, Decision] = {}
    rows: list[dict[str, Any]] = []
    for request in requests:
        facts = standing[request.contact_id, request.ref]
        decision = decide_enrolment(
            version=campaign.version,
            sender_id=campaign.sender_id,
            generation=facts.generation,
            facts=Facts(request.contact_id, facts.zone or uow.zone),
            actor=actor,
            now=now,
        )
        decisions[request.contact_id] = decision
        rows.append(
            {
                "contact_id": request.contact_id,
                "campaign_id": campaign.id,
                "ref": request.ref,
                "created_at": now,
                "ledger_seq": len(decision.events),
                **{name: getattr(decision.state, name) for name in COVERED},
            }
        )
    inserted = await uow.execute(_INSERT, {"rows": msgspec.json.encode(rows).decode()})
    ids = {row.contact_id: row.id for row in inserted}
    overrides = {r.contact_id: r.override_reason for r in requests if r.override_reason}
    await append_events(
        uow,
        [
            LedgerRow(
                contact_id,
                event.type,
                now,
                actor,
                event.cause,
                ids[contact_id],
                n,
                {**event.data, "override": overrides[contact_id]}
                if event.type == "enrolled" and contact_id in overrides
                else event.data,
                event.set,
            )
            for contact_id, decision in decisions.items()
            for n, event in enumerate(decision.events, start=1)
        ],
    )
    return ids


async def _log_the_rest(
    uow: UnitOfWork,
    campaign: _Campaign,
    results: Sequence[EnrolResult],
    standing: dict[tuple[int, str], _Standing],
    actor: str,
    now: datetime,
) -> None:
    """Ledger the refusals and second touches, as events of the contact."""
    await append_events(
        uow,
        [
            LedgerRow(
                result.contact_id,
                "touched" if result.outcome == "touched" else "enrol_refused",
                now,
                actor,
                result.reason,
                data={"campaign": campaign.key, "ref": result.ref},
            )
            for result in results
            if result.outcome in ("touched", "refused") and (result.contact_id, result.ref) in standing
        ],
    )
