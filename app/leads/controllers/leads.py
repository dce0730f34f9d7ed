"""Leads over HTTP: the list, and one lead with its journey."""

from __future__ import annotations

from datetime import datetime

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from app.db.session import Database
from app.inbox.queries.panel import load_panel
from app.kernel.roles import Role
from app.leads.controllers.answers import PLACE
from app.leads.queries.listing import Wanted, load_leads
from app.leads.queries.page import load_lead, open_lead
from app.web.guards import requires
from app.web.pages import Pages
from app.web.shell import ShellMaker
from app.web.viewer import Viewer


class LeadController(Controller):
    """`/leads`: one's own leads and those nobody owns; a manager's all."""

    path = "/leads"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @get()
    async def index(
        self,
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        q: FromQuery[str] = "",
        stage: FromQuery[str] = "",
        before: FromQuery[str] = "",
    ) -> Response[str]:
        """Show the list, searched by name or number."""
        async with database.reading() as uow:
            leads = await load_leads(
                uow, viewer=viewer, wanted=Wanted.read(search=q, stage=stage, before=before)
            )
        return await pages.page("leads/index.html", current=PLACE, leads=leads)

    @get("/{contact_id:int}")
    async def show(
        self,
        contact_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        shells: NamedDependency[ShellMaker],
        now: NamedDependency[datetime],
        before: FromQuery[str] = "",
    ) -> Response[str]:
        """Show one lead: the conversation, and the journey beside it."""
        async with database.reading() as uow:
            opened = await open_lead(uow, contact_id=contact_id, viewer=viewer, now=now)
            lead = await load_lead(
                uow,
                lead=opened,
                organisation=shells.organisation,
                before=before or None,
                with_conversation=True,
                now=now,
            )
        topics = tuple(dict.fromkeys([*lead.topics, *opened.thread.topics]))
        return await pages.page("leads/show.html", current=PLACE, topics=topics, lead=lead)

    @get("/{contact_id:int}/journey")
    async def journey(
        self,
        contact_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        shells: NamedDependency[ShellMaker],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Return all that the engine may have changed."""
        async with database.reading() as uow:
            opened = await open_lead(uow, contact_id=contact_id, viewer=viewer, now=now)
            lead = await load_lead(
                uow, lead=opened, organisation=shells.organisation, with_conversation=True, now=now
            )
        return pages.fragment("leads/_journey.html", lead=lead)

    @get("/{contact_id:int}/panel")
    async def panel(
        self,
        contact_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Return what is known about a lead, for the side of the queue."""
        async with database.reading() as uow:
            opened = await open_lead(uow, contact_id=contact_id, viewer=viewer, now=now)
            panel = await load_panel(uow, contact_id=opened.thread.contact_id, zone=viewer.time_zone, now=now)
        return pages.fragment("leads/_panel.html", panel=panel)
