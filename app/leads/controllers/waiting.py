"""Commands on a request that waits for its turn, on a lead's rest, and the door for one lead, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.accounts.operations import record_audit
from app.campaigns.imports.queries import campaign_names, open_campaigns
from app.campaigns.operations.enrol import EnrolRequest, EnrolResult, WhenBusy, enrol
from app.campaigns.operations.rest import lift_rest
from app.campaigns.waiting.operations import withdraw
from app.campaigns.waiting.turns import try_now
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Forbidden, Invalid
from app.kernel.ids import once_token
from app.kernel.roles import Role
from app.leads.controllers.answers import PLACE, AnyRequest, done, field_text
from app.leads.queries.page import OpenedLead, open_lead
from app.leads.queries.waiting import SeenRequest, load_request
from app.leads.reasons import reason_words
from app.leads.views import EnrolForm
from app.web.guards import requires
from app.web.pages import Pages
from app.web.viewer import Viewer

MAY_OVERRIDE: Final = (Role.MANAGER,)
_LONGEST_TOKEN: Final = 64


class WaitingController(Controller):
    """`/enrolment-requests/{id}`: try it now, or take it back. One's own leads and nobody's; a manager's any."""

    path = "/enrolment-requests/{request_id:int}"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @post("/try", status_code=200)
    async def try_now(
        self,
        request: AnyRequest,
        request_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Bring a request to the door at once; with a manager's reason also in spite of a rest or a conversation."""
        reason = field_text(await request.form(), "reason") or None
        if reason is not None:
            _check_override(viewer)
        async with database.transaction() as uow:
            seen = await _may_act(uow, request_id, viewer)
            result = await try_now(
                uow, request_id=request_id, override_reason=reason, actor=f"user:{viewer.user_id}", now=now
            )
            await record_audit(
                uow,
                user_id=viewer.user_id,
                action="turn_tried",
                subject_kind="enrolment_request",
                subject_id=request_id,
                outcome=result.outcome,
                override=reason,
            )
            names = await campaign_names(uow)
        return done(request, seen.contact_id, _said(result, seen.campaign, viewer, now, names))

    @post("/withdraw", status_code=200)
    async def withdraw(
        self,
        request: AnyRequest,
        request_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Take a request back."""
        reason = field_text(await request.form(), "reason") or None
        async with database.transaction() as uow:
            seen = await _may_act(uow, request_id, viewer)
            await withdraw(uow, request_id=request_id, actor=f"user:{viewer.user_id}", reason=reason, now=now)
            await record_audit(
                uow,
                user_id=viewer.user_id,
                action="request_withdrawn",
                subject_kind="enrolment_request",
                subject_id=request_id,
                reason=reason,
            )
        return done(request, seen.contact_id, f"They wait no more for “{seen.campaign}”.")


class DoorController(Controller):
    """`/leads/{id}/enrolments` and `/leads/{id}/rest`: the door for one lead."""

    path = "/leads/{contact_id:int}"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @get("/enrolments/new")
    async def new(
        self,
        request: AnyRequest,
        contact_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[str]:
        """Ask which campaign."""
        async with database.reading() as uow:
            lead = await _own_lead(uow, contact_id, viewer, now)
            form = await _form(uow, lead, token=once_token())
        return await _ask(request, pages, form, status=200)

    @post("/enrolments", status_code=200)
    async def enrol(
        self,
        request: AnyRequest,
        contact_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Bring a lead to the door of a campaign. The same form twice enrols once; a refusal says why."""
        fields = await request.form()
        campaign, reason = field_text(fields, "campaign"), field_text(fields, "reason")
        token = field_text(fields, "token")[:_LONGEST_TOKEN] or once_token()
        if reason:
            _check_override(viewer)
        async with database.transaction() as uow:
            lead = await _own_lead(uow, contact_id, viewer, now)
            form = await _form(uow, lead, token=token, campaign=campaign, reason=reason)
            names = dict(form.campaigns)
            if campaign not in names:
                raise Invalid("Choose a campaign.", field="campaign")
            result = await enrol(
                uow,
                campaign_key=campaign,
                request=EnrolRequest(
                    lead.thread.contact_id,
                    f"page:{lead.thread.contact_id}:{token}",
                    reason or None,
                    WhenBusy.WAIT if field_text(fields, "when_busy") == "wait" else WhenBusy.REFUSE,
                ),
                actor=f"user:{viewer.user_id}",
                now=now,
            )
            await record_audit(
                uow,
                user_id=viewer.user_id,
                action="enrolled_by_hand",
                subject_kind="contact",
                subject_id=lead.thread.contact_id,
                refused=result.outcome == "refused",
                campaign=campaign,
                outcome=result.outcome,
                override=reason or None,
            )
        words = _said(result, names[campaign], viewer, now, names)
        if result.outcome == "refused":
            return await _ask(request, pages, form, status=422, problem=words)
        return done(request, lead.thread.contact_id, words)

    @post("/rest/lift", status_code=200)
    async def lift(
        self,
        request: AnyRequest,
        contact_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """End a lead's rest before its time, with a reason. Managers only."""
        _check_override(viewer)
        reason = field_text(await request.form(), "reason")
        async with database.transaction() as uow:
            lead = await _own_lead(uow, contact_id, viewer, now)
            await lift_rest(
                uow,
                contact_id=lead.thread.contact_id,
                reason=reason,
                actor=f"user:{viewer.user_id}",
                now=now,
            )
            await record_audit(
                uow,
                user_id=viewer.user_id,
                action="rest_lifted",
                subject_kind="contact",
                subject_id=lead.thread.contact_id,
                reason=reason,
            )
        return done(request, lead.thread.contact_id, "Their rest is over.")


def _check_override(viewer: Viewer) -> None:
    if not viewer.is_one_of(*MAY_OVERRIDE):
        raise Forbidden("Only a manager may enrol somebody who rests or talks with one of us.")


async def _may_act(uow: UnitOfWork, request_id: int, viewer: Viewer) -> SeenRequest:
    seen = await load_request(uow, request_id=request_id)
    if seen.owner_id not in (None, viewer.user_id) and not viewer.is_one_of(Role.MANAGER):
        raise Forbidden("This lead is a colleague's. Ask them, or a manager.")
    return seen


async def _own_lead(uow: UnitOfWork, contact_id: int, viewer: Viewer, now: datetime) -> OpenedLead:
    lead = await open_lead(uow, contact_id=contact_id, viewer=viewer, now=now)
    if not lead.may_act:
        raise Forbidden("This lead is a colleague's. Ask them, or a manager.")
    return lead


async def _form(
    uow: UnitOfWork, lead: OpenedLead, *, token: str, campaign: str = "", reason: str = ""
) -> EnrolForm:
    return EnrolForm(
        contact_id=lead.thread.contact_id,
        lead_name=lead.thread.name,
        campaigns=tuple((one.key, one.name) for one in await open_campaigns(uow)),
        campaign=campaign,
        reason=reason,
        token=token,
        may_override=lead.viewer.is_one_of(*MAY_OVERRIDE),
    )


def _said(result: EnrolResult, campaign: str, viewer: Viewer, now: datetime, names: Mapping[str, str]) -> str:
    why = reason_words(result.reason, zone=viewer.time_zone, now=now, campaigns=names)
    match result.outcome:
        case "enrolled":
            return f"Enrolled in “{campaign}”."
        case "touched" | "repeated":
            return f"“{campaign}” runs for them already."
        case "waiting":
            return f"They wait for their turn: {why}."
        case _:
            return f"Not enrolled: {why}."


async def _ask(
    request: AnyRequest, pages: Pages, form: EnrolForm, *, status: int, problem: str = ""
) -> Response[str]:
    if "hx-request" not in request.headers:
        return await pages.page(
            "leads/enrolment.html", current=PLACE, status=status, form=form, problem=problem
        )
    answer = pages.fragment("leads/_enrolment_form.html", status=status, form=form, problem=problem)
    answer.headers.update({"HX-Retarget": "#dialog", "HX-Reswap": "innerHTML"})
    return answer
