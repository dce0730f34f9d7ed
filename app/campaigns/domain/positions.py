"""What moves position and timer only: due timers, outcomes of sends, signals waited for, versions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from app.campaigns.domain import machine
from app.campaigns.domain.advance import run, timer_at_position
from app.campaigns.domain.automation import AFTER_CONFIRMATION, leave
from app.campaigns.domain.definition import WaitForStep
from app.campaigns.domain.draft import Draft, ask, hold, hold_for_mismatch, move_on
from app.campaigns.domain.enrolment import CoolDown, EnrolmentState
from app.campaigns.domain.machine import Do
from app.campaigns.domain.schedule import after_working_days
from app.campaigns.domain.stimuli import (
    Closed,
    Due,
    Position,
    Seen,
    SendAccepted,
    SendDeferred,
    SendSkipped,
    Stimulus,
    VersionAdopted,
)
from app.campaigns.domain.vocabulary import Automation, Stage, Stim

MARK_AFTER = timedelta(minutes=30)
MARK_WITHIN_DAYS = 3  # working days


def move_position(draft: Draft, stimulus: Stimulus) -> None:
    """Let a stimulus move position and timer; stage and automation stay, unless the path ends."""
    match stimulus:
        case Due():
            if draft.state.automation is Automation.ACTIVE:
                draft.queues = True
                _run(draft)
            elif _reminds(draft.state):
                draft.by_hand = True
                _run(draft)
        case SendAccepted():
            if not stimulus.already_counted:
                record_accepted(draft, stimulus)
            _lift_hold_of(draft, stimulus.send_id)
            if stands_at(draft.state, stimulus.position):
                advance(draft, began=stimulus.started_at)
        case SendSkipped():
            draft.emit(
                stimulus.type,
                stimulus.reason,
                step=stimulus.position.step,
                send_id=stimulus.send_id,
                **stimulus.data,
            )
            if stands_at(draft.state, stimulus.position):
                advance(draft)
        case SendDeferred():
            if stands_at(draft.state, stimulus.position) and draft.state.automation is Automation.ACTIVE:
                draft.change(next_run_at=max(stimulus.until, draft.now))
                if stimulus.sender_id is not None:
                    draft.change(sender_id=stimulus.sender_id)
            draft.emit(
                "deferred",
                stimulus.reason,
                step=stimulus.position.step,
                send_id=stimulus.send_id,
                until=stimulus.until.isoformat(),
            )
        case Seen():
            _see(draft, stimulus)
        case VersionAdopted():
            _adopt(draft)
        case _:
            raise AssertionError(f"no handler for {stimulus.stim}")


def record_accepted(draft: Draft, stimulus: SendAccepted) -> None:
    """Remember that the provider has a message, wherever the journey stands."""
    draft.change(last_sent_at=draft.now)
    draft.emit(
        "send_accepted",
        stimulus.via,
        send_id=stimulus.send_id,
        step=stimulus.position.step,
        attempt=stimulus.attempt_id,
    )


def _lift_hold_of(draft: Draft, send_id: int) -> None:
    """A hold that this send caused is over once its outcome is known."""
    state = draft.state
    if state.automation is Automation.HELD and state.hold_ref == f"send:{send_id}":
        target = state.held_from or Automation.PAUSED
        draft.change(held_from=None, hold_ref=None, automation=target)
        draft.emit("released", "outcome known", send_id=send_id)
        if target is Automation.ACTIVE:
            if draft.facts.handoff_open:
                draft.change(automation=Automation.PAUSED, next_run_at=None)
            else:
                draft.change(next_run_at=timer_at_position(draft))
                draft.emit("resumed", "outcome known")


def advance(draft: Draft, *, began: datetime | None = None) -> None:
    """Leave the step whose outcome is known; go on at once where the machine may act, else keep the timer off."""
    if not move_on(draft, wait_from=draft.now, began=began):
        return
    if draft.state.automation is Automation.ACTIVE and draft.state.pause_reason == AFTER_CONFIRMATION:
        draft.change(automation=Automation.PAUSED, pause_reason="handoff_open")
        draft.emit("paused", AFTER_CONFIRMATION, reason="handoff_open")
    if draft.state.automation is Automation.ACTIVE:
        _run(draft)
    elif _reminds(draft.state):
        draft.change(next_run_at=draft.now)


def _reminds(state: EnrolmentState) -> bool:
    """Whether a paused journey still has a clock: what falls due before a visit goes to a person, not to nobody."""
    return state.automation is Automation.PAUSED and state.stage is Stage.BOOKED


def _run(draft: Draft) -> None:
    if not run(draft):
        return
    row = machine.find_row(stage=draft.state.stage, automation=draft.state.automation, stim=Stim.PATH_ENDED)
    if row is None:
        draft.change(next_run_at=None)
        hold(draft, ref="path_end", title="The path of this journey has ended.", cause="path_ended")
    elif Do.TASK_MARK_VISIT in row.does:
        _await_visit(draft)
    else:
        assert isinstance(row.to, Stage)
        leave(draft, row.to, draft.ended_reason, None)
        cool_down(draft, Due())


def _await_visit(draft: Draft) -> None:
    """Behind the confirmation: half an hour after the slot somebody marks the visit; nobody is a no-show by itself.

    `wait_from` is empty at the end of a path; once that was asked it says when.
    """
    visit = draft.facts.visit
    if visit is None:
        hold(
            draft, ref="booking", title="This journey is booked, and there is no booking.", cause="no_booking"
        )
        return
    asks_at = visit.ends_at + MARK_AFTER
    asked_at = draft.state.wait_from
    if asked_at is None and draft.now < asks_at:
        draft.change(next_run_at=asks_at)
        return
    if asked_at is None:
        ask(draft, kind="mark_visit", subject="visit", title="Did they come? Mark the visit.",
            due_at=draft.now, who="owner")  # fmt: skip
        draft.change(wait_from=draft.now, next_run_at=_patience_ends(draft, draft.now))
        return
    if draft.now < _patience_ends(draft, asked_at):
        draft.change(next_run_at=_patience_ends(draft, asked_at))
        return
    hold(draft, ref="visit", title="Nobody has marked whether this lead came.", cause="visit_not_marked")


def _patience_ends(draft: Draft, asked_at: datetime) -> datetime:
    calendar = draft.facts.calendar
    return after_working_days(asked_at, MARK_WITHIN_DAYS, zone=calendar.zone, calendar=calendar)


def _see(draft: Draft, stimulus: Seen) -> None:
    """Let an active journey that waits for this signal go on; at any other place there is nothing to move."""
    state = draft.state
    step = draft.version.step(state.path, state.step)
    waits = isinstance(step, WaitForStep) and state.automation is Automation.ACTIVE
    if waits and isinstance(step, WaitForStep) and stimulus.kind in step.signals:
        draft.facts = replace(draft.facts, seen=(*draft.facts.seen, stimulus))
        _run(draft)


def _adopt(draft: Draft) -> None:
    """Go on under another version of the same structure: the position is the same, its timing is the new one's."""
    if draft.state.version_id == draft.version.id:
        return
    draft.change(version_id=draft.version.id)
    draft.emit("version_adopted", None, version=draft.version.number)
    state = draft.state
    if state.step is not None and draft.version.step(state.path, state.step) is None:
        hold_for_mismatch(draft)
    elif state.next_run_at is not None and state.step is not None:
        draft.change(next_run_at=timer_at_position(draft))


def stands_at(state: EnrolmentState, position: Position) -> bool:
    """Say whether the journey still stands where a send belongs."""
    return (state.path, state.step, state.lap, state.generation) == (
        position.path,
        position.step,
        position.lap,
        position.generation,
    )


def cool_down(draft: Draft, stimulus: Stimulus) -> None:
    """Let the person rest after the end, as long as its reason says."""
    if isinstance(stimulus, Closed):
        draft.effects.append(CoolDown(str(stimulus.outcome), stimulus.not_now_until))
    else:
        draft.effects.append(CoolDown("breakup" if draft.state.stage is Stage.EXHAUSTED else "completed"))
