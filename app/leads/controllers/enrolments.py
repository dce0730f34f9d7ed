"""The commands on an enrolment over HTTP."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.campaigns.domain.vocabulary import Outcome, Stim
from app.campaigns.operations.operate import close_journey, operate, resume_by_adviser
from app.contacts.cooldowns.domain import lost_words
from app.contacts.cooldowns.settings import load_lengths
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Forbidden, Invalid
from app.kernel.local_time import moment_of
from app.kernel.roles import Role
from app.leads.controllers.answers import PLACE, AnyRequest, done, field_text
from app.leads.queries.enrolments import SeenEnrolment, load_enrolment
from app.leads.views import ClosingForm
from app.web.guards import requires
from app.web.pages import Pages
from app.web.viewer import Viewer

CLOSED_BY_PEOPLE: Final = (Outcome.WON, Outcome.LOST, Outcome.NOT_NOW)


class EnrolmentController(Controller):
    """`/enrolments/{id}`: what a person may tell a journey. Refused where the transition table has no row."""

    path = "/enrolments/{enrolment_id:int}"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @post("/pause", status_code=200)
    async def pause(
        self,
        request: AnyRequest,
        enrolment_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Pause the campaign for one lead."""
        return await _operate(request, enrolment_id, Stim.OPERATOR_PAUSED, viewer, database, now, "Paused.")

    @post("/hold", status_code=200)
    async def hold(
        self,
        request: AnyRequest,
        enrolment_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Hold a journey until it is released."""
        return await _operate(request, enrolment_id, Stim.OPERATOR_HELD, viewer, database, now, "Held.")

    @post("/release", status_code=200)
    async def release(
        self,
        request: AnyRequest,
        enrolment_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Release a hold: automation is what it was before."""
        return await _operate(
            request, enrolment_id, Stim.OPERATOR_RELEASED, viewer, database, now, "Released."
        )

    @post("/resume", status_code=200)
    async def resume(
        self,
        request: AnyRequest,
        enrolment_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Give a lead back to the campaign where it left off; an open handoff closes with it."""
        async with database.transaction() as uow:
            seen = await _may_act(uow, enrolment_id, viewer)
            actor = f"user:{viewer.user_id}"
            if seen.came_from_conversation:
                await resume_by_adviser(uow, contact_id=seen.contact_id, actor=actor, now=now)
            else:
                await operate(
                    uow,
                    enrolment_id=enrolment_id,
                    stim=Stim.OPERATOR_RESUMED,
                    actor=actor,
                    reason=None,
                    now=now,
                )
        return done(request, seen.contact_id, "Back to the campaign.")

    @post("/close", status_code=200)
    async def close(
        self,
        request: AnyRequest,
        enrolment_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """End a journey: won, lost or not now. Without an outcome the question comes back, in a dialog."""
        fields = await request.form()
        outcome, until = field_text(fields, "outcome"), field_text(fields, "not_now_until")
        async with database.reading() as uow:
            seen = await _may_act(uow, enrolment_id, viewer)
            lengths = await load_lengths(uow)
        form = ClosingForm(
            enrolment_id=enrolment_id,
            lead_name=seen.lead_name,
            outcome=outcome,
            not_now_until=until,
            earliest_date=(now.astimezone(ZoneInfo(viewer.time_zone)).date() + timedelta(days=1)).isoformat(),
            lost_words=lost_words(lengths),
        )
        if not outcome:
            return await _ask(request, pages, form, status=200)
        try:
            chosen = _outcome(outcome)
            date_given = _until(chosen, until, viewer.time_zone, now)
        except Invalid as error:
            return await _ask(request, pages, form, status=error.status, problem=error.message)
        async with database.transaction() as uow:
            seen = await _may_act(uow, enrolment_id, viewer)
            await close_journey(
                uow,
                contact_id=seen.contact_id,
                outcome=chosen,
                not_now_until=date_given,
                actor=f"user:{viewer.user_id}",
                now=now,
            )
        return done(request, seen.contact_id, "Journey closed.")


async def _operate(
    request: AnyRequest,
    enrolment_id: int,
    stim: Stim,
    viewer: Viewer,
    database: Database,
    now: datetime,
    words: str,
) -> Response[Any]:
    reason = field_text(await request.form(), "reason") or None
    async with database.transaction() as uow:
        seen = await _may_act(uow, enrolment_id, viewer)
        await operate(
            uow, enrolment_id=enrolment_id, stim=stim, actor=f"user:{viewer.user_id}", reason=reason, now=now
        )
    return done(request, seen.contact_id, words)


async def _may_act(uow: UnitOfWork, enrolment_id: int, viewer: Viewer) -> SeenEnrolment:
    seen = await load_enrolment(uow, enrolment_id=enrolment_id)
    if seen.owner_id not in (None, viewer.user_id) and not viewer.is_one_of(Role.MANAGER):
        raise Forbidden("This lead is a colleague's. Ask them, or a manager.")
    return seen


def _outcome(text: str) -> Outcome:
    for outcome in CLOSED_BY_PEOPLE:
        if outcome.value == text:
            return outcome
    raise Invalid("Choose how it ended.", field="outcome")


def _until(outcome: Outcome, text: str, zone: str, now: datetime) -> datetime | None:
    """Return the moment the date begins in the reader's zone; None where it does not matter. Raises `Invalid`."""
    if outcome is not Outcome.NOT_NOW:
        return None
    try:
        day = date.fromisoformat(text)
        at = moment_of(datetime.combine(day, time()), zone=ZoneInfo(zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid("Say until when to leave them alone.", field="not_now_until") from None
    if at <= now:
        raise Invalid("Choose a date that lies ahead.", field="not_now_until")
    return at


async def _ask(
    request: AnyRequest, pages: Pages, form: ClosingForm, *, status: int, problem: str = ""
) -> Response[str]:
    if "hx-request" not in request.headers:
        return await pages.page(
            "leads/closing.html", current=PLACE, status=status, form=form, problem=problem
        )
    answer = pages.fragment("leads/_closing_form.html", status=status, form=form, problem=problem)
    answer.headers.update({"HX-Retarget": "#dialog", "HX-Reswap": "innerHTML"})
    return answer
