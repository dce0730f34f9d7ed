"""Whether the machine may act: pausing, holding, letting go again, and the end of a journey."""

from __future__ import annotations

from datetime import datetime

from app.campaigns.domain.advance import timer_at_position
from app.campaigns.domain.draft import Draft
from app.campaigns.domain.enrolment import CloseHandoff, EnrolmentState, SupersedeSends
from app.campaigns.domain.stimuli import Booked, Rescheduled, ReviewResolved, Stimulus
from app.campaigns.domain.telling import cause_of, pause_reason, who
from app.campaigns.domain.vocabulary import Automation, Stage, Stim

AFTER_CONFIRMATION = "after_confirmation"
"""The pause reason of an active journey that pauses once the lead's own booking is confirmed: a person has it."""


def pause(draft: Draft, stimulus: Stimulus) -> None:
    """Pause, never lowering a stricter state: under a hold the pause is what the release falls back to."""
    reason = pause_reason(stimulus)
    would_have_woken = draft.state.resume_at is not None
    draft.change(resume_at=None)
    if draft.state.automation is Automation.HELD:
        draft.change(held_from=Automation.PAUSED, pause_reason=reason)
        draft.emit("paused", cause_of(stimulus), reason=reason, under_hold=True)
        return
    already = draft.state.automation is Automation.PAUSED
    draft.change(automation=Automation.PAUSED, pause_reason=reason, next_run_at=timer_while_paused(draft))
    if not already or would_have_woken:
        draft.emit("paused", cause_of(stimulus), reason=reason)


def timer_while_paused(draft: Draft) -> datetime | None:
    """Return the timer of a paused journey: only a booked one has one, for a reminder that falls due is a task."""
    return (draft.state.next_run_at or draft.now) if draft.state.stage is Stage.BOOKED else None


def activate(draft: Draft, stimulus: Stimulus, target: Automation) -> None:
    """Let the machine act again, unless a person still has the lead: then it stays paused.

    The confirmation of the lead's own booking goes out all the same; the pause comes behind it.
    """
    if draft.state.automation is Automation.HELD:
        draft.change(held_from=target)
        return
    reason = None
    if target is Automation.ACTIVE and draft.facts.handoff_open and not _ends_handoff(draft, stimulus):
        if isinstance(stimulus, Booked | Rescheduled):
            reason = AFTER_CONFIRMATION
        else:
            target = Automation.PAUSED
    if target is not Automation.ACTIVE:
        draft.change(automation=target, resume_at=None, next_run_at=timer_while_paused(draft))
        return
    was = draft.state.automation
    draft.change(automation=target, pause_reason=reason, resume_at=None)
    draft.change(next_run_at=timer_at_position(draft))
    if was is not Automation.ACTIVE:
        draft.emit("resumed", cause_of(stimulus))


def release(draft: Draft, stimulus: Stimulus) -> None:
    """Lift a hold: automation is what it was before. A review lifts only the hold it is about."""
    if not _lifts_hold(draft.state, stimulus):
        return
    target = draft.state.held_from or Automation.PAUSED
    draft.change(held_from=None, hold_ref=None, automation=Automation.PAUSED)
    draft.emit("released", who(stimulus))
    activate(draft, stimulus, target)


def hold_by_operator(draft: Draft, stimulus: Stimulus) -> None:
    """Hold a journey because a person says so."""
    draft.change(
        held_from=draft.state.automation,
        automation=Automation.HELD,
        hold_ref="operator",
        resume_at=None,
        next_run_at=None,
    )
    draft.emit("held", cause_of(stimulus), reason=getattr(stimulus, "reason", None))


def leave(draft: Draft, stage: Stage, reason: str, close: CloseHandoff | None) -> None:
    """End the journey at a terminal stage."""
    draft.change(
        stage=stage,
        automation=Automation.COMPLETED,
        exit_reason=reason,
        next_run_at=None,
        resume_at=None,
        pause_reason=None,
        held_from=None,
        hold_ref=None,
    )
    if stage is not Stage.OPTED_OUT:  # `opted_out` already says so
        draft.emit(str(stage), reason)
    if close is not None:
        draft.effects.append(close)
        draft.effects.append(SupersedeSends(reason))


def _ends_handoff(draft: Draft, stimulus: Stimulus) -> bool:
    """Whether the open handoff ends with this: handed back, or booked with nothing left to answer."""
    if stimulus.stim is Stim.ADVISER_RESUMED:
        return True
    return stimulus.stim is Stim.BOOKED and draft.facts.answered


def _lifts_hold(state: EnrolmentState, stimulus: Stimulus) -> bool:
    """A review lifts the hold it is about; an operator's hold, or another question's, stands."""
    return not isinstance(stimulus, ReviewResolved) or stimulus.ref is None or stimulus.ref == state.hold_ref
