"""The one door into a campaign. Every way in (import, form, API, a turn that came) calls `enrol_batch` or `enrol`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from app.campaigns.domain.decide import decide_booked, decide_enrolment
from app.campaigns.domain.door import EnrolRequest, EnrolResult, Standing, Verdict, WhenBusy, judge
from app.campaigns.domain.enrolment import COVERED, Decision
from app.campaigns.domain.stimuli import Facts
from app.campaigns.events import WaitingChanged
from app.campaigns.operations.standing import OpenCampaign, load_campaign, load_standing, lock_contacts
from app.campaigns.repository import INSERT_COLUMNS, INSERT_TYPES
from app.campaigns.waiting.repository import (
    NewRequest,
    Settled,
    keep_requests,
    recompute_turns,
    settle_requests,
    waiting_of,
)
from app.campaigns.waiting.settings import load_policy
from app.contacts.information import merge_information
from app.db.session import UnitOfWork
from app.kernel.errors import Invalid
from app.kernel.local_time import days_later
from app.ledger.repository import LedgerRow, append_events

__all__ = ["EnrolRequest", "EnrolResult", "WhenBusy", "enrol", "enrol_batch"]


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
    the unique index on live enrolments stands behind that. Refusals, second touches and those who begin to wait are
    in the ledger. Raises `NotFound` for an unknown campaign and `Invalid` for one without a version or a sender.
    """
    if len(requests) > 500:
        raise Invalid("At most 500 people are enrolled at once.")
    campaign = await load_campaign(uow, campaign_key)
    merged_into = await lock_contacts(uow, {r.contact_id for r in requests})
    followed = [replace(r, contact_id=merged_into.get(r.contact_id, r.contact_id)) for r in requests]
    for request in followed:
        if request.information is not None:
            await merge_information(uow, contact_id=request.contact_id, brought=request.information, now=now)
    door = _Door(uow, campaign, await load_standing(uow, campaign, followed, now), actor, now)
    return await door.answer(followed)


class _Door:
    """One batch at the door of one campaign, under its contacts' locks."""

    def __init__(
        self,
        uow: UnitOfWork,
        campaign: OpenCampaign,
        standing: Mapping[tuple[int, str], Standing],
        actor: str,
        now: datetime,
    ) -> None:
        self._uow = uow
        self._campaign = campaign
        self._standing = standing
        self._actor = actor
        self._now = now

    async def answer(self, requests: Sequence[EnrolRequest]) -> list[EnrolResult]:
        verdicts = self._judge_all(requests)
        begun = [(r, v) for r, v in zip(requests, verdicts, strict=True) if v.outcome == "enrolled"]
        ids = await self._begin(begun)
        kept = await self._keep_waiting(requests, verdicts)
        await self._end_waiting(ids)
        results = [
            EnrolResult(
                request.ref,
                request.contact_id,
                verdict.outcome,
                ids[request.contact_id] if verdict.outcome == "enrolled" else verdict.enrolment_id,
                verdict.reason,
            )
            for request, verdict in zip(requests, verdicts, strict=True)
        ]
        await self._log(results, kept)
        return results

    def _judge_all(self, requests: Sequence[EnrolRequest]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        begun: set[int] = set()
        for request in requests:
            standing = self._standing.get((request.contact_id, request.ref))
            if standing is None:
                verdict = Verdict("refused", "unknown_contact")
            elif request.contact_id in begun:
                verdict = Verdict("touched", "twice_in_this_batch")
            else:
                verdict = judge(request, standing, exempt_because=self._campaign.exempt_because)
            if verdict.outcome == "enrolled":
                begun.add(request.contact_id)
            verdicts.append(verdict)
        return verdicts

    async def _begin(self, begun: Sequence[tuple[EnrolRequest, Verdict]]) -> dict[int, int]:
        """Insert the enrolments with their first ledger events; return enrolment ids by contact id."""
        if not begun:
            return {}
        decisions = {request.contact_id: self._decide(request) for request, _ in begun}
        rows = [self._row(request, decisions[request.contact_id]) for request, _ in begun]
        inserted = await self._uow.execute(_INSERT, {"rows": msgspec.json.encode(rows).decode()})
        ids = {row.contact_id: row.id for row in inserted}
        overrides = {request.contact_id: verdict.override for request, verdict in begun}
        await append_events(
            self._uow,
            [
                LedgerRow(
                    contact_id,
                    event.type,
                    self._now,
                    self._actor,
                    event.cause,
                    ids[contact_id],
                    n,
                    {**event.data, "override": overrides[contact_id]}
                    if event.type == "enrolled" and overrides[contact_id]
                    else event.data,
                    event.set,
                )
                for contact_id, decision in decisions.items()
                for n, event in enumerate(decision.events, start=1)
            ],
        )
        return ids

    def _decide(self, request: EnrolRequest) -> Decision:
        standing = self._standing[request.contact_id, request.ref]
        facts = Facts(request.contact_id, standing.zone or self._uow.zone)
        begins = partial(decide_booked, booked=request.booked) if request.booked else decide_enrolment
        return begins(
            version=self._campaign.version,
            sender_id=self._campaign.sender_id,
            generation=standing.generation,
            facts=facts,
            actor=self._actor,
            now=self._now,
        )

    def _row(self, request: EnrolRequest, decision: Decision) -> dict[str, Any]:
        return {
            "contact_id": request.contact_id,
            "campaign_id": self._campaign.id,
            "ref": request.ref,
            "created_at": self._now,
            "ledger_seq": len(decision.events),
            **{name: getattr(decision.state, name) for name in COVERED},
        }

    async def _keep_waiting(
        self, requests: Sequence[EnrolRequest], verdicts: Sequence[Verdict]
    ) -> set[tuple[int, str]]:
        """Keep a request for everybody who begins to wait; return whom and under which ref."""
        new: dict[int, NewRequest] = {}
        for request, verdict in zip(requests, verdicts, strict=True):
            standing = self._standing.get((request.contact_id, request.ref))
            if verdict.outcome == "waiting" and standing is not None and not standing.waits:
                new.setdefault(
                    request.contact_id, NewRequest(request.contact_id, request.ref, verdict.reason or "")
                )
        if new:
            policy = await load_policy(self._uow)
            await keep_requests(
                self._uow,
                campaign_id=self._campaign.id,
                requests=list(new.values()),
                actor=self._actor,
                expires_at=days_later(self._now, policy.expire_after_days, zone=ZoneInfo(self._uow.zone)),
                now=self._now,
            )
        for contact_id in new:
            self._uow.emit(WaitingChanged(contact_id))
        return {(one.contact_id, one.ref) for one in new.values()}

    async def _end_waiting(self, ids: Mapping[int, int]) -> None:
        """Whoever is in waits no more for this campaign; what waits for others waits for this one's end now."""
        if not ids:
            return
        here = await waiting_of(self._uow, contact_ids=ids, campaign_id=self._campaign.id)
        await settle_requests(
            self._uow,
            settled=[Settled(one.id, "enrolled", ids[one.contact_id]) for one in here],
            status="admitted",
            actor=self._actor,
            now=self._now,
        )
        await recompute_turns(self._uow, contact_ids=ids, now=self._now)

    async def _log(self, results: Sequence[EnrolResult], kept: set[tuple[int, str]]) -> None:
        """Ledger refusals, second touches, and who begins to wait, as events of the contact."""
        await append_events(
            self._uow,
            [
                LedgerRow(
                    result.contact_id,
                    "touched" if result.outcome == "touched" else "enrol_refused",
                    self._now,
                    self._actor,
                    result.reason,
                    data={
                        "campaign": self._campaign.key,
                        "ref": result.ref,
                        **({"waits": True} if result.outcome == "waiting" else {}),
                    },
                )
                for result in results
                if (result.contact_id, result.ref) in self._standing
                and (
                    result.outcome in ("touched", "refused")
                    or (result.outcome == "waiting" and (result.contact_id, result.ref) in kept)
                )
            ],
        )


_INSERT = f"""
INSERT INTO enrolments (contact_id, campaign_id, ref, created_at, ledger_seq, ledger_at, {INSERT_COLUMNS})
SELECT contact_id, campaign_id, ref, created_at, ledger_seq, created_at, {INSERT_COLUMNS}
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r(
    contact_id bigint, campaign_id bigint, ref text, created_at timestamptz, ledger_seq integer, {INSERT_TYPES})
RETURNING id, contact_id
"""
