"""The queue over HTTP, and the questions it asks before a handoff is given away or ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from litestar import Controller, Response, get
from litestar.connection import Request
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from app.contacts.cooldowns.settings import load_lengths
from app.db.session import Database
from app.kernel.errors import Forbidden
from app.kernel.roles import Role
from app.queue.queries import Filters, assignment_form, load_handoff, load_queue, outcome_form
from app.web.guards import requires
from app.web.pages import Pages
from app.web.viewer import Viewer

PLACE = "queue"

AnyRequest = Request[Any, Any, Any]


class QueueController(Controller):
    """`/queue`: one list, worked from the top."""

    path = "/queue"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @get()
    async def index(
        self,
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
        segment: FromQuery[str] = "",
        stage: FromQuery[str] = "",
    ) -> Response[str]:
        """Show the queue with the panel of its first lead."""
        filters = Filters.read(segment=segment, stage=stage)
        async with database.reading() as uow:
            queue = await load_queue(uow, viewer=viewer, filters=filters, with_panel=True, now=now)
        topics = (*queue.topics, *(queue.panel.topics if queue.panel else ()))
        return await pages.page("queue/index.html", current=PLACE, topics=topics, queue=queue)

    @get("/rows")
    async def rows(
        self,
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
        segment: FromQuery[str] = "",
        stage: FromQuery[str] = "",
    ) -> Response[str]:
        """Return the list alone, as it is now."""
        filters = Filters.read(segment=segment, stage=stage)
        async with database.reading() as uow:
            queue = await load_queue(uow, viewer=viewer, filters=filters, with_panel=False, now=now)
        return pages.fragment("queue/rows.html", queue=queue)


class HandoffQuestions(Controller):
    """The dialogs about one handoff: one's own and the pool's; managers reach all."""

    path = "/handoffs/{handoff_id:int}"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @get("/assignment/new")
    async def who_takes_it(
        self,
        request: AnyRequest,
        handoff_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
    ) -> Response[str]:
        """Ask who takes the lead, with the loads that routing sees."""
        if not viewer.is_one_of(Role.MANAGER):
            raise Forbidden("Only managers move leads between people.")
        async with database.reading() as uow:
            handoff = await load_handoff(uow, handoff_id=handoff_id, viewer=viewer)
            form = await assignment_form(uow, handoff=handoff)
        return await _dialog(request, pages, "assignment", form)

    @get("/outcome/new")
    async def how_it_ended(
        self,
        request: AnyRequest,
        handoff_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Ask how it ended."""
        async with database.reading() as uow:
            handoff = await load_handoff(uow, handoff_id=handoff_id, viewer=viewer)
            lengths = await load_lengths(uow)
        tomorrow = now.astimezone(ZoneInfo(viewer.time_zone)).date() + timedelta(days=1)
        return await _dialog(
            request,
            pages,
            "outcome",
            outcome_form(handoff, earliest_date=tomorrow.isoformat(), lengths=lengths),
        )


async def _dialog(request: AnyRequest, pages: Pages, name: str, form: object) -> Response[str]:
    """Return a form as a dialog's content, or as a page of its own without script."""
    if "hx-request" in request.headers:
        return pages.fragment(f"queue/_{name}_form.html", form=form)
    return await pages.page(f"queue/{name}.html", current=PLACE, form=form)
