"""What a lead waits for, and whose lead it is: for the lead's page, and for the commands on a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.queries.listing import display_name
from app.kernel.errors import NotFound
from app.kernel.row_ids import is_row_id
from app.leads.reasons import plan_words
from app.leads.views import LeadAction, WaitingCard

_WAITING: Final = """
SELECT r.id, k.name AS campaign, r.reason, r.not_before, r.asked_at, r.asked_by, r.expires_at, o.name AS other,
    u.name AS author
FROM enrolment_requests r
JOIN campaigns k ON k.id = r.campaign_id
LEFT JOIN campaigns o ON r.reason = concat('live_in', chr(58), o.key)
LEFT JOIN users u ON r.asked_by = concat('user', chr(58), u.id)
WHERE r.status = 'waiting' AND r.contact_id = ANY(CAST(:people AS bigint[]))
ORDER BY r.priority DESC, r.asked_at, r.id
"""
_SEEN: Final = """
SELECT r.contact_id, c.name, k.name AS campaign, CASE WHEN h.id IS NULL THEN c.owner_id ELSE h.owner_id END AS owner_id,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone' ORDER BY i.id LIMIT 1)
        AS phone
FROM enrolment_requests r
JOIN contacts c ON c.id = r.contact_id
JOIN campaigns k ON k.id = r.campaign_id
LEFT JOIN handoffs h ON h.contact_id = r.contact_id AND h.status <> 'closed'
WHERE r.id = :id
"""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the commands on it need it. `owner_id` is who has the lead; None where nobody does."""

    contact_id: int
    lead_name: str
    campaign: str
    owner_id: int | None


async def load_request(uow: UnitOfWork, *, request_id: int) -> SeenRequest:
    """Return a request. Raises `NotFound`."""
    known = is_row_id(request_id)
    row = (await uow.execute(_SEEN, {"id": request_id})).one_or_none() if known else None
    if row is None:
        raise NotFound("There is no such request.")
    return SeenRequest(row.contact_id, display_name(row.name, row.phone), row.campaign, row.owner_id)


async def load_waiting(
    uow: UnitOfWork,
    *,
    people: Sequence[int],
    may_act: bool,
    may_override: bool,
    zone: str,
    now: datetime,
) -> tuple[WaitingCard, ...]:
    """Return what a lead waits for, the next turn first, with the commands that this person may give."""
    rows = await uow.execute(_WAITING, {"people": list(people)})
    return tuple(
        WaitingCard(
            request_id=row.id,
            campaign=row.campaign,
            until_words=until_words(row, zone=zone, now=now),
            asked_words=f"Asked for by {_who(row)}, {plan_words(row.asked_at, zone=zone, now=now)}",
            expires_at=row.expires_at,
            is_in_vain=row.not_before is not None and row.not_before >= row.expires_at,
            actions=_actions(row, may_override=may_override) if may_act else (),
        )
        for row in rows
    )


def until_words(row: Row[Any], *, zone: str, now: datetime) -> str:
    """Return what a request waits for, as the middle of a sentence."""
    kind = row.reason.partition(":")[0]
    match kind:
        case "live_in":
            return f"after “{row.other or 'the other campaign'}” ends"
        case "with_an_adviser":
            return "after the conversation with one of us"
        case _ if row.not_before is not None and row.not_before > now:
            return f"not before {plan_words(row.not_before, zone=zone, now=now)}"
        case _:
            return "next"


def _who(row: Row[Any]) -> str:
    if row.author:
        return str(row.author)
    kind, _, number = row.asked_by.partition(":")
    return f"import {number}" if kind == "import" else str(row.asked_by).replace("_", " ")


def _actions(row: Row[Any], *, may_override: bool) -> tuple[LeadAction, ...]:
    url = f"/enrolment-requests/{row.id}"
    actions = [LeadAction(key=f"try-{row.id}", label="Try now", icon="play", url=f"{url}/try")]
    if may_override and not row.reason.startswith("live_in"):
        actions.append(
            LeadAction(
                key=f"override-{row.id}",
                label="Enrol all the same",
                icon="log-in",
                url=f"{url}/try",
                confirm_title=f"Enrol them in “{row.campaign}” now?",
                confirm_text="They rest, or talk with one of us. The campaign begins to write to them all the same; "
                "your reason is kept with the enrolment.",
                reason_label="Why?",
            )
        )
    actions.append(
        LeadAction(
            key=f"withdraw-{row.id}",
            label="Withdraw",
            icon="x",
            url=f"{url}/withdraw",
            confirm_title=f"Let them wait no more for “{row.campaign}”?",
            confirm_text="The same list does not bring the request back.",
            reason_label="Why?",
        )
    )
    return tuple(actions)
