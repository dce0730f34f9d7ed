"""The open reviews of a lead: what was to be sent, to whom, what the provider said, and who may answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.queries.listing import display_name
from app.kernel.errors import Conflict, NotFound
from app.kernel.roles import Role
from app.kernel.row_ids import is_row_id
from app.leads.reasons import channel_words
from app.leads.reviews import Attempt, answers_to, is_in_doubt, look_words, provider_words
from app.leads.views import ReviewCard
from app.web.viewer import Viewer
from app.web.words import masked_phone

# When it was tried is told in business time, by the ledger; the attempts themselves are kept in real time.
_REVIEWS: Final = """
SELECT t.id, t.title, t.owner_id AS task_owner_id, t.contact_id, t.done_at, c.name,
    CASE WHEN h.id IS NULL THEN c.owner_id ELSE h.owner_id END AS owner_id,
    s.id AS send_id, s.kind, s.channel, s.reason, u.name AS author, coalesce(m.text, s.content ->> 'text') AS text,
    coalesce((SELECT max(l.at) FROM ledger l WHERE l.contact_id = s.contact_id AND l.type = 'send_started'
        AND l.data ->> 'send_id' = s.id::text), s.status_at) AS at,
    (SELECT p.name FROM templates p WHERE p.key = s.template_key ORDER BY p.language = 'en' DESC, p.id LIMIT 1)
        AS template,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = t.contact_id AND i.kind = 'phone'
        ORDER BY i.id LIMIT 1) AS phone,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('outcome', a.outcome, 'code', a.error_code, 'text', a.error_text,
        'looks', a.looks, 'address', a.address,
        'looked_after', extract(epoch FROM a.looked_at - a.started_at)) ORDER BY a.n), '[]')
        FROM send_attempts a WHERE a.send_id = s.id) AS attempts
FROM tasks t
JOIN contacts c ON c.id = t.contact_id
LEFT JOIN handoffs h ON h.contact_id = t.contact_id AND h.status <> 'closed'
LEFT JOIN sends s ON s.id = CASE WHEN t.subject ~ '^send[:][0-9]{1,18}$' THEN substr(t.subject, 6)::bigint END
LEFT JOIN messages m ON m.send_id = s.id
LEFT JOIN users u ON u.id = s.author_id
WHERE t.kind = 'review'
"""
_OF_LEAD: Final = (
    f"{_REVIEWS} AND t.contact_id = ANY(CAST(:people AS bigint[])) AND t.done_at IS NULL ORDER BY t.id"
)
_ONE: Final = f"{_REVIEWS} AND t.id = :id"


@dataclass(frozen=True, slots=True)
class SeenReview:
    """An open review that a person may answer; `is_about_a_message` unless a journey is held without one."""

    task_id: int
    contact_id: int
    lead_name: str
    owner_id: int | None
    is_about_a_message: bool
    card: ReviewCard


async def load_reviews(uow: UnitOfWork, *, people: Sequence[int], viewer: Viewer) -> tuple[ReviewCard, ...]:
    """Return the open reviews of a lead that this person may answer, oldest first."""
    rows = await uow.execute(_OF_LEAD, {"people": list(people)})
    return tuple(_card(row) for row in rows if _may_answer(row, viewer))


async def load_review(uow: UnitOfWork, *, task_id: int, viewer: Viewer) -> SeenReview:
    """Return one review: of one's own lead, of nobody's, or of one's own message; a manager's any.

    Raises `NotFound` for a colleague's, and `Conflict` for one that is answered already.
    """
    known = is_row_id(task_id)
    row = (await uow.execute(_ONE, {"id": task_id})).one_or_none() if known else None
    if row is None or not _may_answer(row, viewer):
        raise NotFound("There is no such review, or it belongs to a colleague.")
    if row.done_at is not None:
        raise Conflict("This review is done already.")
    return SeenReview(
        task_id=row.id,
        contact_id=row.contact_id,
        lead_name=display_name(row.name, row.phone),
        owner_id=row.owner_id,
        is_about_a_message=row.send_id is not None,
        card=_card(row),
    )


def _may_answer(row: Row[Any], viewer: Viewer) -> bool:
    is_theirs = row.owner_id in (None, viewer.user_id) or row.task_owner_id == viewer.user_id
    return is_theirs or viewer.is_one_of(Role.MANAGER)


def _card(row: Row[Any]) -> ReviewCard:
    if row.send_id is None:
        return ReviewCard(task_id=row.id, question=row.title, answers=answers_to(None))
    attempts = [_attempt(one) for one in row.attempts]
    in_doubt = is_in_doubt(attempts)
    address = row.attempts[-1]["address"] if row.attempts else row.phone or ""
    return ReviewCard(
        task_id=row.id,
        question="Was this message sent?" if in_doubt else "This message could not be sent",
        why=(row.reason or "") if not in_doubt else "",
        what=_what(row),
        text=row.text or "",
        at=row.at,
        to=f"{masked_phone(address)}, {channel_words(row.channel)}",
        provider=provider_words(attempts),
        looks=look_words(attempts),
        answers=answers_to(attempts),
    )


def _what(row: Row[Any]) -> str:
    if row.kind == "adviser":
        return f"{(row.author or 'An adviser').split()[0]}'s message"
    return f"“{row.template}”" if row.template else "A message of ours"


def _attempt(stored: dict[str, Any]) -> Attempt:
    seconds = stored["looked_after"]
    return Attempt(
        outcome=stored["outcome"],
        code=stored["code"],
        text=stored["text"],
        looks=stored["looks"],
        looked_after=None if seconds is None else timedelta(seconds=float(seconds)),
    )
