"""`decide`: the one place where an enrolment changes. Pure: no I/O, no clock, no chance.

It finds the row of the transition table, moves stage, automation and path as the row says, and runs the row's
effects. Commands that the table does not allow raise `CommandRefused`; facts without a row are `ignored`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from app.campaigns.domain import machine
from app.campaigns.domain.advance import timer_at_position
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.draft import Draft, ask_for_review, hold, hold_for_mismatch
from app.campaigns.domain.enrolment import Decision, Effect, EnrolmentState, Event
from app.campaigns.domain.machine import Do, Row
from app.campaigns.domain.positions import move_position, record_accepted
from app.campaigns.domain.stimuli import (
    Booked,
    ChannelLost,
    Complained,
    DoubtfulOptOut,
    Facts,
    HumanSignal,
    Inconclusive,
    OptedOut,
    Rescheduled,
    ResumeDue,
    SendAccepted,
    Stimulus,
    VersionMoved,
)
from app.campaigns.domain.telling import announce, note_inbound
from app.campaigns.domain.transitions import attribute_reply, carry_row, suppress
from app.campaigns.domain.vocabulary import COMMANDS, TERMINAL, Automation, Stage, Stim
from app.kernel.errors import CommandRefused

REFUSALS = {
    Stim.OPERATOR_PAUSED: "Automation is not running, so it cannot be paused.",
    Stim.OPERATOR_RESUMED: "Automation is not paused, so it cannot be resumed.",
    Stim.OPERATOR_HELD: "This journey is already held.",
    Stim.OPERATOR_RELEASED: "This journey is not held.",
    Stim.ADVISER_RESUMED: "Only a journey that is paused with an adviser can be handed back.",
    Stim.REVIEW_RESOLVED: "There is nothing to review on this journey.",
    Stim.ATTENDANCE_CORRECTED: "There is no visit here whose outcome could be corrected.",
}


def decide_enrolment(
    *, version: CompiledVersion, sender_id: int, generation: int, facts: Facts, actor: str, now: datetime
) -> Decision:
    """Return the decision that begins a journey: nurture at its first step, lap 1."""
    row = machine.ENROL_ROW
    assert row.starts is not None
    draft = _begin(row, version, sender_id, generation, facts, now)
    draft.emit("enrolled", actor, generation=generation, version=version.number)
    draft.emit("path_entered", None, path=row.starts, lap=1)
    return draft.finish()


def decide_booked(
    *,
    version: CompiledVersion,
    sender_id: int,
    generation: int,
    booked: Booked,
    facts: Facts,
    actor: str,
    now: datetime,
) -> Decision:
    """Return the decision of a lead who books without a journey: straight to the visit.

    The place to return to, should the visit be cancelled, is the nurture path's first step.
    """
    draft = _begin(machine.ENROL_ROW, version, sender_id, generation, facts, now)
    draft.emit("enrolled", actor, generation=generation, version=version.number, by="booking")
    nurturing = replace(facts, path_starts=0, visit=booked.visit)
    decision = decide(draft.state, version, booked, nurturing, now)
    return Decision(decision.state, (*draft.events, *decision.events), decision.effects)


def _begin(
    row: Row, version: CompiledVersion, sender_id: int, generation: int, facts: Facts, now: datetime
) -> Draft:
    assert row.starts is not None and isinstance(row.to, Stage) and isinstance(row.automation, Automation)
    state = EnrolmentState(
        version_id=version.id,
        generation=generation,
        stage=row.to,
        automation=row.automation,
        path=row.starts,
        step=version.paths[row.starts].steps[0].key,
        lap=1,
        sender_id=sender_id,
        wait_from=now,
        next_run_at=now,
    )
    return Draft(state, facts, version, now, base=None)


def decide(
    state: EnrolmentState, version: CompiledVersion, stimulus: Stimulus, facts: Facts, now: datetime
) -> Decision:
    """Return what one stimulus does to one enrolment. Raises `CommandRefused` for a command without a row."""
    draft = Draft(state, facts, version, now, base=state)
    row = machine.find_row(stage=state.stage, automation=state.automation, stim=stimulus.stim)
    if row is None or (isinstance(stimulus, ResumeDue) and not _is_time_to_wake(state, now)):
        _without_row(draft, stimulus)
        return draft.finish()
    if Do.POSITION_ONLY in row.does:
        move_position(draft, stimulus)
        return draft.finish()
    _refuse_command(row, state, facts)
    if isinstance(stimulus, VersionMoved):
        _move_version(draft, stimulus)
        return draft.finish()
    if isinstance(stimulus, Booked | Rescheduled):
        draft.facts = replace(facts, visit=stimulus.visit)
    announce(draft, stimulus)
    carry_row(draft, row, stimulus)
    return draft.finish()


def decide_all(
    state: EnrolmentState,
    version: CompiledVersion,
    stimuli: Sequence[Stimulus],
    facts: Facts,
    now: datetime,
    *,
    events: Sequence[Event] = (),
) -> Decision:
    """Return several stimuli of one moment as one decision; `events` are told before what they say."""
    told, effects = list(events), list[Effect]()
    for stimulus in stimuli:
        decision = decide(state, version, stimulus, facts, now)
        state = decision.state
        told += decision.events
        effects += decision.effects
    return Decision(state, tuple(told), tuple(effects))


def held_for_fault(state: EnrolmentState, facts: Facts, now: datetime) -> Decision:
    """Return the decision that holds a journey which cannot be decided: a person looks, and the others go on."""
    draft = Draft(state, facts, CompiledVersion(0, 0, 0, {}, ""), now, base=state)
    hold(draft, ref="fault", title="Something is wrong with this journey; see the log.", cause="fault")
    return draft.finish()


def _is_time_to_wake(state: EnrolmentState, now: datetime) -> bool:
    return state.resume_at is not None and state.resume_at <= now


def _without_row(draft: Draft, stimulus: Stimulus) -> None:
    if stimulus.stim in COMMANDS:
        over = draft.state.stage in TERMINAL
        raise CommandRefused(
            "This journey is over."
            if over
            else REFUSALS.get(stimulus.stim, "This cannot be done at this stage.")
        )
    if isinstance(stimulus, SendAccepted) and not stimulus.already_counted:
        record_accepted(draft, stimulus)
        return
    if isinstance(stimulus, HumanSignal | DoubtfulOptOut):
        note_inbound(draft, stimulus)
        attribute_reply(draft, stimulus)
    if isinstance(stimulus, OptedOut | Complained | ChannelLost):
        # The journey is over, the person's wish and the dead address are not.
        announce(draft, stimulus)
        suppress(draft, stimulus)
        return
    if isinstance(stimulus, Inconclusive):
        # Whether a message went out is a question also after the journey's end.
        ask_for_review(draft, ref=stimulus.ref, title=stimulus.why, cause="inconclusive")
        return
    draft.emit("ignored", f"{stimulus.stim} at {draft.state.stage}/{draft.state.automation}")


def _refuse_command(row: Row, state: EnrolmentState, facts: Facts) -> None:
    """An operator may not start the machine over the head of the person who owns the lead, nor pause twice."""
    if row.id == "operator.resume" and facts.handoff_open:
        raise CommandRefused("A person is with this lead: resume from the handoff, or close it.")
    if row.id == "adviser.resumes" and not (
        facts.handoff_open or state.stage in (Stage.ENGAGED, Stage.BOOKED)
    ):
        raise CommandRefused(REFUSALS[Stim.ADVISER_RESUMED])
    if row.id == "operator.pause" and state.automation is Automation.PAUSED and state.resume_at is None:
        raise CommandRefused(REFUSALS[Stim.OPERATOR_PAUSED])
    if row.id == "booked.again":
        raise CommandRefused("This lead has a visit booked already: change its time instead.")


def _move_version(draft: Draft, stimulus: VersionMoved) -> None:
    """Go on under another version at the step that the mapping names; what it does not name is held."""
    state, steps = draft.state, stimulus.steps
    draft.change(
        version_id=draft.version.id,
        step=steps.get(state.step, state.step) if state.step is not None else None,
        return_step=steps.get(state.return_step, state.return_step)
        if state.return_step is not None
        else None,
    )
    draft.emit("version_moved", stimulus.actor, version=draft.version.number, was=state.step)
    if draft.state.step is not None and draft.version.step(state.path, draft.state.step) is None:
        hold_for_mismatch(draft)
    elif draft.state.next_run_at is not None:
        draft.change(next_run_at=timer_at_position(draft))
