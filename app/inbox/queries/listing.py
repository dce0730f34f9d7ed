"""The list of conversations: whose they are, what was said last, who waits.

A conversation belongs here once the person wrote to us, a handoff was opened, or an adviser wrote; what only
the campaign said is on the lead's page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.domain.answering import Author
from app.inbox.domain.words import last_words
from app.inbox.queries.clocks import CLOCK_COLUMNS, clock_of
from app.inbox.queries.places import place_of, read_place
from app.inbox.views import ConversationRow, InboxTab
from app.kernel.roles import Role
from app.web.pagination import Page, page_of
from app.web.words import masked_phone

PAGE: Final = 40
LONGEST_SEARCH: Final = 100
_NUMBER: Final = re.compile(r"[-+0-9 ().]+")
TABS: Final = ("mine", "pool", "all")
_LABELS: Final = {"mine": "Mine", "pool": "Pool", "all": "All"}

_FROM = """
FROM conversations t JOIN contacts c ON c.id = t.contact_id
LEFT JOIN handoffs h ON h.contact_id = t.contact_id AND h.status <> 'closed'
WHERE t.last_message_at IS NOT NULL
  AND (t.last_inbound_at IS NOT NULL OR h.id IS NOT NULL
    OR EXISTS (SELECT 1 FROM handoffs o WHERE o.contact_id = t.contact_id)
    OR EXISTS (SELECT 1 FROM sends s WHERE s.contact_id = t.contact_id AND s.kind = 'adviser'))
  AND (:sees_team OR coalesce(CASE WHEN h.id IS NULL THEN c.owner_id ELSE h.owner_id END, :user_id) = :user_id)
"""
_IN_TAB: Final = {
    "mine": " AND h.owner_id = :user_id",
    "pool": " AND h.id IS NOT NULL AND h.owner_id IS NULL",
    "all": "",
}
_MATCHES = """
  AND (c.name ILIKE :pattern OR t.last_text ILIKE :pattern
    OR (:digits <> '' AND EXISTS (SELECT 1 FROM contact_identities i WHERE i.contact_id = c.id
        AND i.kind = 'phone' AND i.value LIKE '%' || :digits || '%')))
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which conversations: a tab, words or digits, and where the page begins."""

    tab: str
    search: str = ""
    after: str | None = None

    def url(self, path: str, **more: str | None) -> str:
        """Return an address under which the same selection stays; `more` replaces parts of it."""
        parts = {"tab": self.tab, "q": self.search, "after": self.after, **more}
        kept = {name: value for name, value in parts.items() if value}
        return f"{path}?{urlencode(kept)}" if kept else path


def selection(*, tab: str, search: str, after: str | None, author: Author) -> Selection:
    """Return what was asked for; without a tab that is one's own, for managers everybody's."""
    fallback = "all" if author.role.is_one_of(Role.MANAGER) else "mine"
    return Selection(tab if tab in TABS else fallback, search.strip()[:LONGEST_SEARCH], after or None)


async def conversation_rows(
    uow: UnitOfWork, *, author: Author, chosen: Selection, current: str, now: datetime
) -> Page[ConversationRow]:
    """Return one page, newest first. `current` is the key of the open one. Raises `Invalid` for a bad cursor."""
    place = read_place(chosen.after)
    words = _FROM + _IN_TAB[chosen.tab] + (_MATCHES if chosen.search else "")
    if place is not None:
        words += " AND (t.last_message_at, t.id) < (:at, :id)"
    rows = await uow.execute(
        "SELECT t.id, t.contact_id, c.name, t.last_text, t.last_kind, t.last_direction, t.last_message_at, "
        f"    t.unread, {CLOCK_COLUMNS}, (SELECT i.value FROM contact_identities i "
        "        WHERE i.contact_id = c.id AND i.kind = 'phone' ORDER BY i.id LIMIT 1) AS phone "
        f"{words} ORDER BY t.last_message_at DESC, t.id DESC LIMIT :limit",
        {
            **_who(author),
            **(_pattern(chosen.search) if chosen.search else {}),
            **({"at": place[0], "id": place[1]} if place is not None else {}),
            "limit": PAGE + 1,
        },
    )
    page = page_of(rows.all(), size=PAGE, key=lambda row: place_of(row.last_message_at, row.id))
    return Page(tuple(_row(row, chosen, current, now) for row in page.rows), page.next_cursor)


async def tabs(uow: UnitOfWork, *, author: Author, chosen: Selection) -> tuple[InboxTab, ...]:
    """Return the tabs with their counts: open handoffs of one's own and of the pool, all conversations in sight."""
    counts = (
        await uow.execute(
            "SELECT (SELECT count(*) FROM handoffs WHERE status <> 'closed' AND owner_id = :user_id) AS mine, "
            "(SELECT count(*) FROM handoffs WHERE status <> 'closed' AND owner_id IS NULL) AS pool, "
            f"(SELECT count(*) {_FROM}) AS all_of_them",
            _who(author),
        )
    ).one()
    by_key = {"mine": counts.mine, "pool": counts.pool, "all": counts.all_of_them}
    return tuple(
        InboxTab(
            key=key,
            label=_LABELS[key],
            href=chosen.url("/inbox", tab=key, after=None),
            count=by_key[key],
            is_current=key == chosen.tab,
        )
        for key in TABS
    )


def display_name(name: str | None, phone: str | None) -> str:
    """Return how a person is called on screens: by name, else by a number that cannot be copied."""
    return name or (masked_phone(phone) if phone else "Unknown person")


def _who(author: Author) -> dict[str, Any]:
    return {"user_id": author.user_id, "sees_team": author.role.is_one_of(Role.MANAGER)}


def _pattern(search: str) -> dict[str, str]:
    plain = search.replace("\x00", "").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    digits = "".join(c for c in search if c in "0123456789") if _NUMBER.fullmatch(search) else ""
    # Fewer digits would match half of all numbers; a leading 0 is the country's own way to write one.
    return {"pattern": f"%{plain}%", "digits": digits.lstrip("0") if len(digits) >= 3 else ""}


def _row(row: Row[Any], chosen: Selection, current: str, now: datetime) -> ConversationRow:
    return ConversationRow(
        conversation_id=row.id,
        name=display_name(row.name, row.phone),
        href=chosen.url(f"/inbox/{row.id}"),
        last_text=last_words(text=row.last_text, kind=row.last_kind),
        last_at=row.last_message_at,
        is_last_ours=row.last_direction == "out",
        unread=row.unread,
        clock=clock_of(row, now),
        is_current=str(row.id) == current,
    )
