"""The inbox over HTTP: the page, its live parts, and what the composer sends.

A part of an address that names a thread is a conversation's id, or `lead-<contact>` where nobody wrote yet.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from litestar import Controller, Response, get, post
from litestar.connection import Request
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, SkipValidation
from litestar.response import Redirect

from app.db.session import Database
from app.inbox import operations
from app.inbox.domain.answering import draft_is_kept
from app.inbox.domain.thread_key import parse_key
from app.inbox.forms import MessageForm, message_form, seen_version
from app.inbox.operations import Outlets
from app.inbox.queries.composer import load_composer
from app.inbox.queries.listing import Selection, selection
from app.inbox.queries.open_thread import open_thread
from app.inbox.queries.pages import author_of, load_list, load_page
from app.inbox.queries.thread import load_thread
from app.kernel.errors import WarmlineError
from app.kernel.hints import HintPort
from app.kernel.roles import Role
from app.realtime.push import Pusher
from app.web.guards import requires
from app.web.pages import Pages
from app.web.shell import ShellMaker
from app.web.viewer import Viewer

PLACE = "inbox"
AnyRequest = Request[Any, Any, Any]


class InboxController(Controller):
    """`/inbox`: conversations of one's own, of the pool, and those one may see besides."""

    path = "/inbox"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @get()
    async def index(
        self,
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
        tab: FromQuery[str] = "",
        q: FromQuery[str] = "",
        after: FromQuery[str] = "",
    ) -> Response[str]:
        """Show the conversations, none of them open."""
        chosen = _chosen(viewer, tab, q, after)
        async with database.reading() as uow:
            inbox = await load_list(uow, viewer=viewer, chosen=chosen, now=now)
        return await pages.page("inbox/index.html", current=PLACE, topics=inbox.topics, inbox=inbox)

    @get("/list")
    async def conversations(
        self,
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
        tab: FromQuery[str] = "",
        q: FromQuery[str] = "",
        after: FromQuery[str] = "",
        opened: FromQuery[str] = "",
    ) -> Response[str]:
        """Return the list alone."""
        chosen = _chosen(viewer, tab, q, after)
        current = str(parse_key(opened)) if opened else ""
        async with database.reading() as uow:
            inbox = await load_list(uow, viewer=viewer, chosen=chosen, current=current, now=now)
        return pages.fragment("inbox/_list.html", inbox=inbox)

    @get("/{key:str}")
    async def show(
        self,
        key: FromPath[str],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        shells: NamedDependency[ShellMaker],
        now: NamedDependency[datetime],
        tab: FromQuery[str] = "",
        q: FromQuery[str] = "",
        after: FromQuery[str] = "",
        before: FromQuery[str] = "",
    ) -> Response[str]:
        """Show one conversation beside the list."""
        async with database.reading() as uow:
            inbox = await load_page(
                uow,
                viewer=viewer,
                chosen=_chosen(viewer, tab, q, after),
                key=parse_key(key),
                organisation=shells.organisation,
                now=now,
                before=before or None,
            )
        topics = _topics(inbox.topics, inbox.thread.topics if inbox.thread else ())
        return await pages.page("inbox/index.html", current=PLACE, topics=topics, inbox=inbox)

    @get("/{key:str}/thread")
    async def thread(
        self,
        key: FromPath[str],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Return the newest messages of a thread."""
        async with database.reading() as uow:
            opened = await open_thread(uow, key=parse_key(key), author=author_of(viewer), now=now)
            thread = await load_thread(uow, opened=opened, zone=viewer.time_zone, now=now)
        return pages.fragment("inbox/_thread.html", thread=thread)

    @get("/{key:str}/head")
    async def head(
        self,
        key: FromPath[str],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Return the line above a thread: owner, clock, what may be done."""
        author = author_of(viewer)
        async with database.reading() as uow:
            opened = await open_thread(uow, key=parse_key(key), author=author, now=now)
        return pages.fragment("inbox/_head.html", head=opened.head(author))

    @get("/{key:str}/composer")
    async def composer(
        self,
        key: FromPath[str],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        shells: NamedDependency[ShellMaker],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Return the composer as the window stands now."""
        async with database.reading() as uow:
            opened = await open_thread(uow, key=parse_key(key), author=author_of(viewer), now=now)
            composer = await load_composer(uow, opened=opened, organisation=shells.organisation)
        return pages.fragment("inbox/_composer.html", composer=composer)

    @post("/{key:str}/messages")
    async def send(
        self,
        request: AnyRequest,
        key: FromPath[str],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        shells: NamedDependency[ShellMaker],
        hints: NamedDependency[SkipValidation[HintPort]],
        pusher: NamedDependency[Pusher],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Send a message. Refused, it comes back with what is wrong (422) or what is new (409)."""
        form = message_form(await request.form())
        try:
            await _send(key, form, viewer, database, shells, Outlets(hints, pusher), now)
        except WarmlineError as error:
            if not draft_is_kept(error):
                raise
            if _is_htmx(request):
                return pages.fragment("inbox/_note.html", status=error.status, problem=error.message)
            return await _page_again(
                key, form, error, viewer=viewer, database=database, pages=pages, shells=shells, now=now
            )
        return _done(request, key)

    @post("/{key:str}/messages/{message_id:int}/retry")
    async def retry(
        self,
        request: AnyRequest,
        key: FromPath[str],
        message_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        hints: NamedDependency[SkipValidation[HintPort]],
        pusher: NamedDependency[Pusher],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Send a failed message again, as the same message."""
        author = author_of(viewer)
        async with database.transaction() as uow:
            opened = await open_thread(uow, key=parse_key(key), author=author, now=now)
            await operations.retry_message(
                uow,
                contact_id=opened.contact_id,
                message_id=message_id,
                author=author,
                outlets=Outlets(hints, pusher),
                now=now,
            )
        return _done(request, key)

    @post("/{key:str}/read")
    async def read(
        self,
        request: AnyRequest,
        key: FromPath[str],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        hints: NamedDependency[SkipValidation[HintPort]],
        pusher: NamedDependency[Pusher],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Mark a thread as read up to the version that was on the screen."""
        seen = seen_version(await request.form())
        async with database.transaction() as uow:
            opened = await open_thread(uow, key=parse_key(key), author=author_of(viewer), now=now)
            await operations.mark_read(
                uow, contact_id=opened.contact_id, seen_version=seen, outlets=Outlets(hints, pusher)
            )
        return _done(request, key)


async def _send(
    key: str,
    form: MessageForm,
    viewer: Viewer,
    database: Database,
    shells: ShellMaker,
    outlets: Outlets,
    now: datetime,
) -> None:
    author = author_of(viewer)
    async with database.transaction() as uow:
        opened = await open_thread(uow, key=parse_key(key), author=author, now=now)
        await operations.send_message(
            uow,
            contact_id=opened.contact_id,
            author=author,
            client_id=form.client_id,
            seen_version=form.conversation_version,
            draft=form.draft,
            organisation=shells.organisation,
            outlets=outlets,
            now=now,
        )


async def _page_again(
    key: str,
    form: MessageForm,
    error: WarmlineError,
    *,
    viewer: Viewer,
    database: Database,
    pages: Pages,
    shells: ShellMaker,
    now: datetime,
) -> Response[str]:
    """For browsers without script: the page with the new messages, what was written, and why it was refused."""
    async with database.reading() as uow:
        inbox = await load_page(
            uow,
            viewer=viewer,
            chosen=_chosen(viewer, "", "", ""),
            key=parse_key(key),
            organisation=shells.organisation,
            now=now,
            draft=form.text,
            problem=error.message,
        )
    topics = _topics(inbox.topics, inbox.thread.topics if inbox.thread else ())
    return await pages.page(
        "inbox/index.html", current=PLACE, topics=topics, status=error.status, inbox=inbox
    )


def _done(request: AnyRequest, key: str) -> Response[Any]:
    """The page fetches what changed by itself; without script it is shown anew."""
    if _is_htmx(request):
        return Response(None, status_code=204)
    return Redirect(f"/inbox/{parse_key(key)}", status_code=303)


def _chosen(viewer: Viewer, tab: str, search: str, after: str) -> Selection:
    return selection(tab=tab, search=search, after=after, author=author_of(viewer))


def _topics(*parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(topic for part in parts for topic in part))


def _is_htmx(request: AnyRequest) -> bool:
    return "hx-request" in request.headers
