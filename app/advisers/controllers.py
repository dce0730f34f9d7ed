"""What people do with handoffs, as resources: an acceptance, an assignment, an outcome; and their own switch."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, Protocol, runtime_checkable

from litestar import Controller, Response, Router, post
from litestar.connection import Request
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect

from app.advisers import queries
from app.advisers.forms import (
    MAX_NOTE_CHARS,
    ME,
    AssignmentForm,
    AvailabilityForm,
    OutcomeForm,
    person_id,
    start_of_day,
)
from app.advisers.operations.availability import set_availability
from app.advisers.operations.outcome import lock_lead, log_outcome
from app.advisers.operations.ownership import accept, assign_to, take
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Forbidden, Invalid, NotFound
from app.kernel.origins import own_path
from app.kernel.roles import Role
from app.web.guards import requires
from app.web.viewer import Viewer

WORKS_LEADS: Final = requires(Role.ADVISER, Role.MANAGER)

AnyRequest = Request[Any, Any, Any]


@runtime_checkable
class LiveEnrolment(Protocol):
    """What this slice must know of campaigns, which stand above it."""

    async def __call__(self, uow: UnitOfWork, *, contact_id: int) -> bool:
        """Say whether a contact has a live enrolment."""
        ...


def handoff_screens(*, live_enrolment: LiveEnrolment) -> Router:
    """Return the routes of this slice; the composition root says who knows of live enrolments."""

    def give() -> LiveEnrolment:
        return live_enrolment

    return Router(
        path="/",
        route_handlers=[HandoffController, AvailabilityController],
        dependencies={"live_enrolment": Provide(give, sync_to_thread=False)},
    )


class HandoffController(Controller):
    """`/handoffs/{id}`: what is done with one handoff."""

    path = "/handoffs/{handoff_id:int}"
    guards = [WORKS_LEADS]

    @post("/acceptance")
    async def accept(
        self,
        request: AnyRequest,
        handoff_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Take care of a lead that is one's own."""
        async with database.transaction() as uow:
            await accept(uow, handoff_id=handoff_id, user_id=viewer.user_id, now=now)
        return _done(request, "Accepted.")

    @post("/assignment")
    async def assign(
        self,
        request: AnyRequest,
        handoff_id: FromPath[int],
        data: URLEncodedBody[AssignmentForm],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Take a lead from the pool, or, as a manager, give it to somebody or back to the pool."""
        takes = data.adviser_id in {ME, str(viewer.user_id)}
        if not takes and not viewer.is_one_of(Role.MANAGER):
            raise Forbidden("Only managers move leads between people.")
        async with database.transaction() as uow:
            if takes:
                await take(uow, handoff_id=handoff_id, user_id=viewer.user_id, now=now)
            else:
                await assign_to(
                    uow,
                    handoff_id=handoff_id,
                    owner_id=person_id(data.adviser_id) if data.adviser_id else None,
                    actor=f"user:{viewer.user_id}",
                    override_reason=data.override_reason,
                    now=now,
                )
        return _done(request, "The lead is yours." if takes else "The lead has moved.")

    @post("/outcome")
    async def log_outcome(
        self,
        request: AnyRequest,
        handoff_id: FromPath[int],
        data: URLEncodedBody[OutcomeForm],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
        live_enrolment: NamedDependency[LiveEnrolment],
    ) -> Response[Any]:
        """Log how it ended; the owner, a manager, or for a lead in the pool any adviser."""
        if len(data.note) > MAX_NOTE_CHARS:
            raise Invalid("The note is too long.", field="note")
        until = start_of_day(data.not_now_until, zone=viewer.time_zone)
        async with database.transaction() as uow:
            contact_id = await lock_lead(uow, handoff_id=handoff_id)
            await _check_may_end(uow, handoff_id, viewer)
            await log_outcome(
                uow,
                handoff_id=handoff_id,
                outcome=data.outcome,
                not_now_until=until,
                has_live_enrolment=await live_enrolment(uow, contact_id=contact_id),
                note=data.note,
                actor=f"user:{viewer.user_id}",
                now=now,
            )
        return _done(request, "Outcome logged.")


class AvailabilityController(Controller):
    """`/me/availability`: one's own switch."""

    path = "/me/availability"
    guards = [WORKS_LEADS]

    @post()
    async def set(
        self,
        request: AnyRequest,
        data: URLEncodedBody[AvailabilityForm],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Begin or stop taking new leads."""
        is_taking = bool(data.is_taking)
        async with database.transaction() as uow:
            await set_availability(uow, user_id=viewer.user_id, taking_leads=is_taking, now=now)
        return _done(request, "You get new leads." if is_taking else "You get no new leads.")


async def _check_may_end(uow: UnitOfWork, handoff_id: int, viewer: Viewer) -> None:
    handoff = await queries.handoff_owner(uow, handoff_id=handoff_id)
    if handoff is None:
        raise NotFound("There is no such handoff.")
    if handoff.owner_id not in {None, viewer.user_id} and not viewer.is_one_of(Role.MANAGER):
        raise Forbidden("This lead is a colleague's. Ask them, or a manager.")


def _done(request: AnyRequest, words: str) -> Response[Any]:
    """Answer htmx with nothing to swap (the page's live parts fetch themselves anew), a plain form with its page."""
    if "hx-request" in request.headers:
        trigger = json.dumps({"resync": {}, "toast": {"text": words}})
        return Response(None, status_code=204, headers={"HX-Trigger": trigger})
    return Redirect(_came_from(request), status_code=303)


def _came_from(request: AnyRequest) -> str:
    """Return the page the form was on, by the path of the Referer; a form's own page leads to the queue."""
    _, _, rest = request.headers.get("referer", "").partition("://")
    _, slash, path = rest.partition("/")
    page = own_path(slash + path) or "/"
    return "/queue" if page.startswith("/handoffs/") else page
