"""What reacts to what, on one page.

Reactions run before the commit, in the same transaction as their event, and may emit further events. Pushes and
the next assignment go out after the commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.advisers.events import (
    AvailabilityChanged,
    CapacityFreed,
    HandoffAccepted,
    HandoffAnswered,
    HandoffAssigned,
    HandoffClosed,
    HandoffOpened,
    HandoffTouched,
    OutcomeLogged,
    OutcomeNoted,
    SlaBreached,
    SlaWarned,
)
from app.advisers.operations.assignment import assign_waiting
from app.campaigns.backfill.answers import close_answered
from app.campaigns.domain.vocabulary import Outcome
from app.campaigns.events import JourneyChanged, JourneyEnded, WaitingChanged
from app.campaigns.operations.operate import close_journey, pause_for_human_words
from app.campaigns.operations.rest import rest_after_handoff
from app.campaigns.operations.unanswered import reopen_unanswered
from app.campaigns.waiting.operations import give_turns
from app.clock import Clock
from app.db.session import Database, Reaction, UnitOfWork
from app.inbox.events import AdviserMessageSent
from app.kernel.soon import Soon
from app.ledger.repository import append_note
from app.messaging.events import AdviserSendFailed, InboundReceived, SendChanged
from app.realtime.push import Pushes


@dataclass(frozen=True, slots=True)
class Wiring:
    """What reactions reach besides the transaction they run in."""

    database: Database
    clock: Clock
    pusher: Pushes
    soon: Soon | None = None
    """Where the assignment runs that nobody waits for; None: at once, right after the commit."""


def reactions(wiring: Wiring) -> Mapping[type, Sequence[Reaction]]:
    """Return the reactions of each kind of event, in the order in which they run."""
    screens = Screens(wiring.pusher)
    routing = Routing(wiring)
    journeys = Journeys(wiring)
    return {
        InboundReceived: [screens.thread_changed],
        SendChanged: [screens.thread_changed],
        JourneyChanged: [screens.journey_changed, journeys.close_answered],
        JourneyEnded: [journeys.give_turns],
        WaitingChanged: [screens.waiting_changed],
        HandoffOpened: [screens.pool_changed, routing.assign],
        HandoffTouched: [screens.handoff_changed],
        HandoffAssigned: [screens.handoff_changed],
        HandoffAccepted: [screens.handoff_changed],
        HandoffAnswered: [screens.handoff_changed],
        HandoffClosed: [screens.handoff_changed, journeys.rest, journeys.give_turns],
        SlaWarned: [screens.handoff_changed],
        SlaBreached: [screens.handoff_changed],
        CapacityFreed: [routing.assign],
        AvailabilityChanged: [screens.availability_changed, routing.assign],
        OutcomeLogged: [journeys.close],
        OutcomeNoted: [journeys.note],
        AdviserMessageSent: [journeys.pause],
        AdviserSendFailed: [screens.thread_changed, routing.answer_failed],
    }


class Screens:
    """Pushes: which topics a change concerns. Ids only."""

    def __init__(self, pusher: Pushes) -> None:
        self._pusher = pusher

    async def thread_changed(
        self, uow: UnitOfWork, event: InboundReceived | SendChanged | AdviserSendFailed
    ) -> None:
        """A bubble was added or got another tick."""
        for topic in (f"lead:{event.contact_id}", "inbox"):
            self._pusher.later(uow, topic, contact_id=event.contact_id)

    async def journey_changed(self, uow: UnitOfWork, event: JourneyChanged) -> None:
        """A lead's page tells another state."""
        self._pusher.later(uow, f"lead:{event.contact_id}", enrolment_id=event.enrolment_id)

    async def waiting_changed(self, uow: UnitOfWork, event: WaitingChanged) -> None:
        """A lead's page tells what they wait for."""
        self._pusher.later(uow, f"lead:{event.contact_id}")

    async def pool_changed(self, uow: UnitOfWork, event: HandoffOpened) -> None:
        """Somebody waits in the pool."""
        for topic in ("pool", "team", "inbox", f"lead:{event.contact_id}"):
            self._pusher.later(uow, topic, handoff_id=event.handoff_id)

    async def handoff_changed(
        self,
        uow: UnitOfWork,
        event: HandoffTouched
        | HandoffAssigned
        | HandoffAccepted
        | HandoffAnswered
        | HandoffClosed
        | SlaWarned
        | SlaBreached,
    ) -> None:
        """A handoff moved, or its clock did: its owner's queue, the one before it, the pool and the team look again."""
        owners = {event.owner_id, getattr(event, "previous_owner_id", None)}
        topics = {f"user:{owner}" for owner in owners if owner is not None}
        if None in owners:
            topics.add("pool")
        for topic in sorted(topics | {"team", "inbox", f"lead:{event.contact_id}"}):
            self._pusher.later(uow, topic, handoff_id=event.handoff_id)

    async def availability_changed(self, uow: UnitOfWork, event: AvailabilityChanged) -> None:
        """An adviser's switch was moved."""
        self._pusher.later(uow, f"user:{event.user_id}")
        self._pusher.later(uow, "team")


class Routing:
    """The assignment: its own transaction, right after the commit that made it possible."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    async def assign(
        self, uow: UnitOfWork, event: HandoffOpened | CapacityFreed | AvailabilityChanged
    ) -> None:
        """Assign the team's waiting handoffs once this transaction has committed."""
        team = event.team

        async def run() -> None:
            async with self._wiring.database.transaction() as later:
                await assign_waiting(later, team=team, now=self._wiring.clock.now())

        soon = self._wiring.soon

        async def run_soon() -> None:
            if soon is None:
                await run()
            else:
                soon.run(f"assign:{team}", run)

        uow.after_commit(f"assign:{team}", run_soon)

    async def answer_failed(self, uow: UnitOfWork, event: AdviserSendFailed) -> None:
        """The answer did not arrive, so the lead waits again.

        In a transaction of its own: a report about a message must not fail because a reply comes at the same moment.
        The sweep finds what is lost here.
        """

        async def run() -> None:
            async with self._wiring.database.transaction() as later:
                await reopen_unanswered(later, contact_id=event.contact_id, now=self._wiring.clock.now())

        uow.after_commit(f"answer_failed:{event.contact_id}", run)


class Journeys:
    """What an enrolment learns of people's doings."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    async def close(self, uow: UnitOfWork, event: OutcomeLogged) -> None:
        """The outcome that a person logged ends the journey, and with it the handoff."""
        await close_journey(
            uow,
            contact_id=event.contact_id,
            outcome=Outcome(event.outcome),
            not_now_until=event.not_now_until,
            actor=event.actor,
            now=self._wiring.clock.now(),
        )

    async def rest(self, uow: UnitOfWork, event: HandoffClosed) -> None:
        """Whoever is won, lost or not now is left alone for a while, also where no campaign ran for them."""
        await rest_after_handoff(
            uow,
            contact_id=event.contact_id,
            handoff_id=event.handoff_id,
            actor=f"handoff:{event.handoff_id}",
            now=self._wiring.clock.now(),
        )

    async def give_turns(self, uow: UnitOfWork, event: JourneyEnded | HandoffClosed) -> None:
        """Nobody is in the way any more, or another rest has begun: what waits for this person learns when to try."""
        await give_turns(uow, contact_ids=[event.contact_id], now=self._wiring.clock.now())

    async def close_answered(self, uow: UnitOfWork, event: JourneyChanged) -> None:
        """What was asked about a journey is answered by what was done with it."""
        await close_answered(uow, enrolment_id=event.enrolment_id, now=self._wiring.clock.now())

    async def note(self, uow: UnitOfWork, event: OutcomeNoted) -> None:
        """What the person wrote beside the outcome belongs to the lead's story."""
        await append_note(
            uow, contact_id=event.contact_id, text=event.text, at=self._wiring.clock.now(), actor=event.actor
        )

    async def pause(self, uow: UnitOfWork, event: AdviserMessageSent) -> None:
        """An adviser's own words: the machine keeps quiet from now on."""
        await pause_for_human_words(
            uow, contact_id=event.contact_id, actor=f"user:{event.user_id}", now=self._wiring.clock.now()
        )
