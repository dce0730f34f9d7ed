"""Reviews over HTTP: what became of a message, or what is to become of a journey, as a person answers it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from app.campaigns.operations.operate import resolve_review
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Invalid, NotFound
from app.kernel.roles import Role
from app.leads.controllers.answers import PLACE, AnyRequest, done, field_text
from app.leads.queries.page import open_lead
from app.leads.queries.reviews import SeenReview, load_review
from app.leads.reviews import JOURNEY_DONE, VERDICT_DONE
from app.realtime.push import Pusher
from app.web.guards import requires
from app.web.pages import Pages
from app.web.viewer import Viewer


class ReviewController(Controller):
    """`/reviews/{id}`: of one's own leads, nobody's, and one's own messages; a manager's all."""

    path = "/reviews/{task_id:int}"
    guards = [requires(Role.ADVISER, Role.MANAGER)]

    @get()
    async def show(
        self,
        task_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pages: NamedDependency[Pages],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Lead to the question, first on the lead's page; alone where the lead has gone to a colleague meanwhile."""
        async with database.reading() as uow:
            review = await load_review(uow, task_id=task_id, viewer=viewer)
            if await _sees_lead(uow, review, viewer, now):
                return Redirect(f"/leads/{review.contact_id}", status_code=303)
        return await pages.page("leads/review.html", current=PLACE, review=review)

    @post(status_code=200)
    async def resolve(
        self,
        request: AnyRequest,
        task_id: FromPath[int],
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        pusher: NamedDependency[Pusher],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Carry out the answer. Of two people who answer at once the second is refused (409)."""
        verdict = field_text(await request.form(), "verdict")
        async with database.transaction() as uow:
            review = await load_review(uow, task_id=task_id, viewer=viewer)
            check_verdict(review, verdict)
            await resolve_review(
                uow,
                task_id=task_id,
                verdict=verdict,
                provider_message_id=None,
                actor=f"user:{viewer.user_id}",
                now=now,
            )
            owner = "pool" if review.owner_id is None else f"user:{review.owner_id}"
            for topic in sorted({owner, f"user:{viewer.user_id}", "team", f"lead:{review.contact_id}"}):
                pusher.later(uow, topic)
        async with database.reading() as uow:
            goes_to_lead = await _sees_lead(uow, review, viewer, now)
        words = VERDICT_DONE[verdict] if review.is_about_a_message else JOURNEY_DONE
        return done(request, review.contact_id if goes_to_lead else None, words)


def check_verdict(review: SeenReview, verdict: str) -> None:
    """Raise `Invalid` for an answer that the question does not have."""
    if verdict not in {answer.verdict for answer in review.card.answers}:
        labels = ", ".join(answer.label.lower() for answer in review.card.answers)
        raise Invalid(f"Choose one of: {labels}.", field="verdict")


async def _sees_lead(uow: UnitOfWork, review: SeenReview, viewer: Viewer, now: datetime) -> bool:
    try:
        await open_lead(uow, contact_id=review.contact_id, viewer=viewer, now=now)
    except NotFound:
        return False
    return True
