"""The inbox page: the list, and one conversation when one is open."""

from __future__ import annotations

from datetime import datetime

from app.db.session import UnitOfWork
from app.inbox.domain.answering import Author
from app.inbox.domain.thread_key import ThreadKey
from app.inbox.queries.composer import load_composer
from app.inbox.queries.listing import Selection, conversation_rows, tabs
from app.inbox.queries.open_thread import open_thread
from app.inbox.queries.panel import load_panel
from app.inbox.queries.thread import load_thread
from app.inbox.views import InboxPage
from app.web.viewer import Viewer

_EMPTY = {
    "mine": "No conversation is yours at the moment. The queue says who comes next.",
    "pool": "The pool is empty: every lead has somebody.",
    "all": "No conversations here yet. An answer from a lead appears by itself.",
}


async def load_list(
    uow: UnitOfWork, *, viewer: Viewer, chosen: Selection, current: str = "", now: datetime
) -> InboxPage:
    """Return the page's left side: tabs with counts and the conversations."""
    author = author_of(viewer)
    page = await conversation_rows(uow, author=author, chosen=chosen, current=current, now=now)
    path = f"/inbox/{current}" if current else "/inbox"
    return InboxPage(
        tabs=await tabs(uow, author=author, chosen=chosen),
        rows=page.rows,
        topics=("inbox", "pool", f"user:{viewer.user_id}"),
        list_url=chosen.url("/inbox/list", opened=current),
        search=chosen.search,
        tab=chosen.tab,
        earlier_url=chosen.url(path, after=page.next_cursor) if page.next_cursor else None,
        empty_words=_EMPTY[chosen.tab],
    )


async def load_page(
    uow: UnitOfWork,
    *,
    viewer: Viewer,
    chosen: Selection,
    key: ThreadKey,
    organisation: str,
    now: datetime,
    before: str | None = None,
    draft: str = "",
    problem: str = "",
) -> InboxPage:
    """Return the whole page with one conversation open. Raises `NotFound` where it may not be seen."""
    opened = await open_thread(uow, key=key, author=author_of(viewer), now=now)
    current = str(opened.conversation_id or opened.key)
    left = await load_list(uow, viewer=viewer, chosen=chosen, current=current, now=now)
    return InboxPage(
        tabs=left.tabs,
        rows=left.rows,
        topics=left.topics,
        list_url=left.list_url,
        search=left.search,
        tab=left.tab,
        earlier_url=left.earlier_url,
        empty_words=left.empty_words,
        head=opened.head(author_of(viewer)),
        thread=await load_thread(uow, opened=opened, zone=viewer.time_zone, now=now, before=before),
        composer=await load_composer(
            uow, opened=opened, organisation=organisation, draft=draft, problem=problem
        ),
        panel=await load_panel(uow, contact_id=opened.contact_id, zone=viewer.time_zone, now=now),
    )


def author_of(viewer: Viewer) -> Author:
    """Return the signed-in person as one who writes."""
    return Author(viewer.user_id, viewer.role)
