"""The list of leads: people who are enrolled, owned or in the pool, newest first, by keyset."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.domain.words import stage_words
from app.inbox.queries.listing import display_name
from app.kernel.roles import Role
from app.leads.queries.ledger import read_cursor
from app.leads.views import LeadChoice, LeadList, LeadListRow
from app.web.pagination import PAGE_SIZE, page_of
from app.web.viewer import Viewer
from app.web.words import masked_phone

LONGEST_SEARCH: Final = 100
LEAST_DIGITS: Final = 3
STAGES: Final = (
    "nurturing",
    "engaged",
    "booked",
    "attended",
    "no_show",
    "closed",
    "exhausted",
    "opted_out",
    "exited",
)
_AUTOMATION: Final = {"active": "Running", "paused": "Paused", "held": "Held", "completed": "Ended"}

# The page's people are picked first, so that what is shown of them is read for one page only.
_PICKED = """
SELECT c.id
FROM contacts c
LEFT JOIN handoffs h ON h.contact_id = c.id AND h.status <> 'closed'
WHERE c.merged_into IS NULL
  AND (h.id IS NOT NULL OR c.owner_id IS NOT NULL
    OR coalesce((SELECT true FROM enrolments x WHERE x.contact_id = c.id LIMIT 1), false))
  AND (:sees_team OR CASE WHEN h.id IS NULL THEN c.owner_id IS NULL OR c.owner_id = :user_id
      ELSE h.owner_id IS NULL OR h.owner_id = :user_id END)
  AND (CAST(:before AS bigint) IS NULL OR c.id < :before)
"""
_BY_STAGE = """
  AND EXISTS (SELECT 1 FROM enrolments x WHERE x.contact_id = c.id AND x.stage = :stage
    AND NOT EXISTS (SELECT 1 FROM enrolments y WHERE y.contact_id = c.id
      AND (y.automation <> 'completed', y.id) > (x.automation <> 'completed', x.id)))
"""
_WAITING = "waiting"
_BY_WAITING = """
  AND EXISTS (SELECT 1 FROM enrolment_requests r WHERE r.contact_id = c.id AND r.status = 'waiting')
"""
_BY_NAME = " AND c.name ILIKE :pattern"
_BY_NUMBER = " AND c.id IN (SELECT contact_id FROM numbered)"
_NUMBERED = """
numbered AS MATERIALIZED (
    SELECT contact_id FROM contact_identities WHERE kind = 'phone' AND value LIKE :digits LIMIT 1000
),"""
_SHOWN = """
SELECT c.id, c.name, c.created_at, e.stage, e.automation, k.name AS campaign, u.name AS owner_name,
    (h.id IS NOT NULL AND h.owner_id IS NULL) AS is_in_pool,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone' ORDER BY i.id LIMIT 1)
        AS phone,
    (SELECT string_agg(w.name, ', ' ORDER BY r.priority DESC, r.asked_at, r.id) FROM enrolment_requests r
        JOIN campaigns w ON w.id = r.campaign_id WHERE r.contact_id = c.id AND r.status = 'waiting') AS waits_for
FROM picked
JOIN contacts c ON c.id = picked.id
LEFT JOIN handoffs h ON h.contact_id = c.id AND h.status <> 'closed'
LEFT JOIN LATERAL (SELECT x.stage, x.automation, x.campaign_id FROM enrolments x WHERE x.contact_id = c.id
    ORDER BY (x.automation = 'completed'), x.id DESC LIMIT 1) e ON true
LEFT JOIN campaigns k ON k.id = e.campaign_id
LEFT JOIN users u ON u.id = CASE WHEN h.id IS NULL THEN c.owner_id ELSE h.owner_id END
ORDER BY c.id DESC
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which leads: words of a name or digits of a number, a stage, and where the page begins."""

    search: str = ""
    stage: str = ""
    before: str | None = None

    @classmethod
    def read(cls, *, search: str, stage: str, before: str) -> Wanted:
        """Return what an address asks for; an unknown stage means every one."""
        words = " ".join(search.replace("\x00", " ").split())[:LONGEST_SEARCH]
        return cls(words, stage if stage in (*STAGES, _WAITING) else "", before or None)

    @property
    def digits(self) -> str:
        """Return the number that is looked for, without a leading 0; empty where a name is."""
        if any(character.isalpha() for character in self.search):
            return ""
        digits = "".join(
            character for character in self.search if character.isascii() and character.isdigit()
        )
        return digits.removeprefix("0") if len(digits) >= LEAST_DIGITS else ""


async def load_leads(uow: UnitOfWork, *, viewer: Viewer, wanted: Wanted) -> LeadList:
    """Return a page of leads. Raises `Invalid` for a cursor that was not made here."""
    found = await uow.execute(
        f"WITH {_NUMBERED if wanted.digits else ''} picked AS MATERIALIZED "
        f"({_PICKED}{_conditions(wanted)} ORDER BY c.id DESC LIMIT :limit) {_SHOWN}",
        {
            "user_id": viewer.user_id,
            "sees_team": viewer.is_one_of(Role.MANAGER),
            "before": read_cursor(wanted.before),
            "stage": wanted.stage,
            "pattern": f"%{_escaped(wanted.search)}%",
            "digits": f"%{wanted.digits}%",
            "limit": PAGE_SIZE + 1,
        },
    )
    page = page_of(found.all(), size=PAGE_SIZE, key=lambda row: (row.id,))
    return LeadList(
        rows=tuple(_row(row) for row in page.rows),
        stages=(
            LeadChoice("", "Every stage", not wanted.stage),
            *(LeadChoice(stage, stage_words(stage), wanted.stage == stage) for stage in STAGES),
            LeadChoice(_WAITING, "Waiting", wanted.stage == _WAITING),
        ),
        search=wanted.search,
        next_url=_url(wanted, page.next_cursor) if page.next_cursor else None,
        is_filtered=bool(wanted.search or wanted.stage),
    )


def _conditions(wanted: Wanted) -> str:
    conditions = _BY_WAITING if wanted.stage == _WAITING else _BY_STAGE if wanted.stage else ""
    if wanted.digits:
        return conditions + _BY_NUMBER
    return conditions + (_BY_NAME if wanted.search else "")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _url(wanted: Wanted, cursor: str) -> str:
    values = {"q": wanted.search, "stage": wanted.stage, "before": cursor}
    return f"/leads?{urlencode({name: value for name, value in values.items() if value})}"


def _row(row: Row[Any]) -> LeadListRow:
    came_at: datetime = row.created_at
    return LeadListRow(
        contact_id=row.id,
        name=display_name(row.name, row.phone),
        phone_masked=masked_phone(row.phone) if row.phone else "",
        stage=stage_words(row.stage),
        automation_words=_AUTOMATION.get(row.automation, ""),
        campaign=row.campaign or "",
        owner_name="In the pool" if row.is_in_pool else row.owner_name,
        came_at=came_at,
        waits_for=row.waits_for or "",
    )
