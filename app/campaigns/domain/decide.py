"""`decide`: the one place where an enrolment changes. Pure: no I/O, no clock, no chance.

It finds the row of the transition table, moves stage, automation and path as the row says, and runs the row's
effects. Commands that the table does not allow raise `CommandRefused`; facts without a row are `ignored`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from app.campaigns.domain import machine
from app.campaigns.domain.advance import Draft, hold, move_on, run, timer_at_position
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.enrolment import (
    CloseHandoff,
    CoolDown,
    Decision,
    Effect,
    EnrolmentState,
    Event,
    OpenHandoff,
    OpenReview,
    SupersedeSends,
    SuppressChannel,
)
from app.campaigns.domain.machine import RETURN, Do, Row
from app.campaigns.domain.stimuli import (
    AutoReplied,
    ChannelLost,
    Closed,
    Complained,
    DoubtfulOptOut,
    Due,
    Facts,
    FailedLater,
    HumanSignal,
    Inconclusive,
    Merged,
    OptedOut,
    Position,
    ResumeDue,
    ReviewResolved,
    SendAccepted,
    SendDeferred,
    SendSkipped,
    Stimulus,
)
from app.campaigns.domain.vocabulary import (
    COMMANDS,
    TERMINAL,
    Automation,
    Outcome,
    Path,
    Stage,
    Stim,
)
from app.kernel.errors import CommandRefused

REFUSALS = {
    Stim.OPERATOR_PAUSED: "Automation is not running, so it cannot be paused.",
    Stim.OPERATOR_RESUMED: "Automation is not paused, so it cannot be resumed.",
    Stim.OPERATOR_HELD: "This journey is already held.",
    Stim.OPERATOR_RELEASED: "This journey is not held.",
    Stim.ADVISER_RESUMED: "Only a journey that is paused with an adviser can be handed back.",
    Stim.REVIEW_RESOLVED: "There is nothing to review on this journey.",
}


def decide_enrolment(
    *, version: CompiledVersion, sender_id: int, generation: int, facts: Facts, actor: str, now: datetime
) -> Decision:
    """Return the decision that begins a journey: nurture at its first step, lap 1."""
    row = machine.ENROL_ROW
    assert row.starts is not None and isinstance(row.to, Stage) and isinstance(row.automation, Automation)
    first = version.paths[row.starts].steps[0].key
    state = EnrolmentState(
        version_id=version.id,
        generation=generation,
        stage=row.to,
        automation=row.automation,
        path=row.starts,
        step=first,
        lap=1,
        sender_id=sender_id,
        wait_from=now,
        next_run_at=now,
    )
    draft = Draft(state, facts, version, now, base=None)
    draft.emit("enrolled", actor, generation=generation, version=version.number)
    draft.emit("path_entered", None, path=row.starts, lap=1)
    return draft.finish()


def decide(
    state: EnrolmentState, version: CompiledVersion, stimulus: Stimulus, facts: Facts, now: datetime
) -> Decision:
    """Return what one stimulus does to one enrolment. Raises `CommandRefused` for a command without a row."""
    draft = Draft(state, facts, version, now, base=state)
    row = machine.find_row(stage=state.stage, automation=state.automation, stim=stimulus.stim)
    if row is None or (isinstance(stimulus, ResumeDue) and not _is_time_to_wake(state, now)):
        _without_row(draft, stimulus)
        return draft.finish()
    if row.booking:
        raise CommandRefused("Bookings are not part of this installation yet.")
    if Do.POSITION_ONLY in row.does:
        _move_position(draft, stimulus)
        return draft.finish()
    _refuse_command(row, state, facts)
    _announce(draft, stimulus)
    _apply(draft, row, stimulus)
    return draft.finish()


def _is_time_to_wake(state: EnrolmentState, now: datetime) -> bool:
    return state.resume_at is not None and state.resume_at <= now


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


def _without_row(draft: Draft, stimulus: Stimulus) -> None:
    if stimulus.stim in COMMANDS:
        over = draft.state.stage in TERMINAL
        raise CommandRefused(
            "This journey is over."
            if over
            else REFUSALS.get(stimulus.stim, "This cannot be done at this stage.")
        )
    if isinstance(stimulus, SendAccepted) and not stimulus.already_counted:
        _record_accepted(draft, stimulus)
        return
    if isinstance(stimulus, HumanSignal | DoubtfulOptOut):
        _note_inbound(draft, stimulus)
        _attribute_reply(draft, stimulus)
    if isinstance(stimulus, OptedOut | Complained | ChannelLost):
        # The journey is over, the person's wish and the dead address are not.
        _announce(draft, stimulus)
        _suppress(draft, stimulus)
        return
    draft.emit("ignored", f"{stimulus.stim} at {draft.state.stage}/{draft.state.automation}")


def _refuse_command(row: Row, state: EnrolmentState, facts: Facts) -> None:
    """An operator may not start the machine over the head of the person who owns the lead, nor pause twice."""
    if row.id == "operator.resume" and facts.handoff_open:
        raise CommandRefused("A person is with this lead: resume from the handoff, or close it.")
    if row.id == "operator.pause" and state.automation is Automation.PAUSED and state.resume_at is None:
        raise CommandRefused(REFUSALS[Stim.OPERATOR_PAUSED])


# --- what happened, in the words of the ledger ---


def _announce(draft: Draft, stimulus: Stimulus) -> None:
    match stimulus:
        case HumanSignal():
            _note_inbound(draft, stimulus)
            draft.emit(stimulus.type, stimulus.cause)
        case DoubtfulOptOut():
            _note_inbound(draft, stimulus)
            draft.emit("replied", stimulus.cause, may_want_to_stop=stimulus.word)
        case OptedOut():
            draft.emit("opted_out", stimulus.cause, channel=stimulus.channel, reason=stimulus.reason)
        case Complained():
            draft.emit("complained", stimulus.cause)
        case ChannelLost():
            draft.emit("bounced", stimulus.cause, channel=stimulus.channel, reason=stimulus.reason)
        case AutoReplied():
            draft.emit("auto_replied", stimulus.cause, until=stimulus.resume_at.isoformat())
        case FailedLater():
            draft.emit("failed", stimulus.code, send_id=stimulus.send_id, step=stimulus.step, later=True)
        case _:
            pass  # the move itself is the event


def _note_inbound(draft: Draft, stimulus: HumanSignal | DoubtfulOptOut) -> None:
    if isinstance(stimulus, DoubtfulOptOut) or stimulus.inbound:
        before = draft.state.last_inbound_at
        draft.change(last_inbound_at=max(before, draft.now) if before else draft.now)


# --- the move ---


def _apply(draft: Draft, row: Row, stimulus: Stimulus) -> None:
    before = draft.state.automation
    for does in row.does:
        if does in (Do.KEEP_RETURN, Do.ATTRIBUTE_REPLY):
            _EFFECTS[does](draft, stimulus)
    _move_stage(draft, row)
    _move_automation(draft, row, stimulus)
    for does in row.does:
        if does not in (Do.KEEP_RETURN, Do.ATTRIBUTE_REPLY):
            _EFFECTS[does](draft, stimulus)
    if draft.state.automation is Automation.ACTIVE and before is not Automation.ACTIVE:
        draft.change(next_run_at=timer_at_position(draft))
    if isinstance(stimulus, ChannelLost) and not stimulus.usable_left:
        _exit(draft, Stage.EXITED, "no_usable_channel", CloseHandoff(Outcome.NO_ACTION))


def _move_stage(draft: Draft, row: Row) -> None:
    state = draft.state
    if row.to is RETURN:
        if state.stage is Stage.ENGAGED and state.return_stage is not None:
            draft.change(
                stage=state.return_stage,
                path=state.return_path,
                step=state.return_step,
                lap=state.return_lap or state.lap,
                return_stage=None,
                return_path=None,
                return_step=None,
                return_lap=None,
            )
    elif isinstance(row.to, Stage):
        draft.change(stage=row.to)


def _move_automation(draft: Draft, row: Row, stimulus: Stimulus) -> None:
    match row.automation:
        case Automation.COMPLETED:
            _exit(draft, draft.state.stage, _exit_reason(stimulus), None)
        case Automation.PAUSED:
            _pause(draft, stimulus)
        case Automation.HELD:
            if isinstance(stimulus, Inconclusive):
                hold(draft, ref=stimulus.ref, title=stimulus.why, cause="inconclusive")
            else:
                _hold_by_operator(draft, stimulus)
        case Automation.ACTIVE:
            _activate(draft, stimulus, Automation.ACTIVE)
        case machine.Same.HELD_FROM if not _lifts_hold(draft.state, stimulus):
            pass
        case machine.Same.HELD_FROM:
            target = draft.state.held_from or Automation.PAUSED
            draft.change(held_from=None, hold_ref=None)
            draft.emit("released", _who(stimulus))
            _activate(draft, stimulus, target)
        case _:
            pass


def _pause(draft: Draft, stimulus: Stimulus) -> None:
    """Pause, never lowering a stricter state: under a hold the pause is what the release falls back to."""
    reason = _pause_reason(stimulus)
    would_have_woken = draft.state.resume_at is not None
    draft.change(resume_at=None)
    if draft.state.automation is Automation.HELD:
        draft.change(held_from=Automation.PAUSED, pause_reason=reason)
        draft.emit("paused", _cause(stimulus), reason=reason, under_hold=True)
        return
    already = draft.state.automation is Automation.PAUSED
    draft.change(automation=Automation.PAUSED, pause_reason=reason, next_run_at=None)
    if not already or would_have_woken:
        draft.emit("paused", _cause(stimulus), reason=reason)


def _activate(draft: Draft, stimulus: Stimulus, target: Automation) -> None:
    """Let the machine act again, unless a person still has the lead: then it stays paused."""
    closes_handoff = stimulus.stim is Stim.ADVISER_RESUMED
    if target is Automation.ACTIVE and draft.facts.handoff_open and not closes_handoff:
        target = Automation.PAUSED
    if target is Automation.ACTIVE:
        draft.change(automation=target, pause_reason=None, resume_at=None)
        draft.change(next_run_at=timer_at_position(draft))
        draft.emit("resumed", _cause(stimulus))
    else:
        draft.change(automation=target, resume_at=None, next_run_at=None)


def _lifts_hold(state: EnrolmentState, stimulus: Stimulus) -> bool:
    """A review lifts the hold it is about; an operator's hold, or another question's, stands."""
    return not isinstance(stimulus, ReviewResolved) or stimulus.ref is None or stimulus.ref == state.hold_ref


def _hold_by_operator(draft: Draft, stimulus: Stimulus) -> None:
    draft.change(
        held_from=draft.state.automation,
        automation=Automation.HELD,
        hold_ref="operator",
        resume_at=None,
        next_run_at=None,
    )
    draft.emit("held", _cause(stimulus), reason=getattr(stimulus, "reason", None))


def _exit(draft: Draft, stage: Stage, reason: str, close: CloseHandoff | None) -> None:
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


# --- effects ---


def _keep_return(draft: Draft, stimulus: Stimulus) -> None:
    state = draft.state
    if state.stage is Stage.ENGAGED or state.path == Path.CONFIRMATION:
        return  # engaged keeps what it has; confirmation is never a place to return to
    draft.change(
        return_stage=state.stage, return_path=state.path, return_step=state.step, return_lap=state.lap
    )


def _attribute_reply(draft: Draft, stimulus: Stimulus | None = None) -> None:
    counts = stimulus is None or isinstance(stimulus, DoubtfulOptOut) or getattr(stimulus, "inbound", False)
    if counts and draft.state.first_reply_send_id is None and draft.facts.last_send_id is not None:
        draft.change(first_reply_send_id=draft.facts.last_send_id)


def _open_handoff(draft: Draft, stimulus: Stimulus) -> None:
    match stimulus:
        case HumanSignal(opens_handoff=True):
            draft.effects.append(OpenHandoff(stimulus.handoff_reason))
        case DoubtfulOptOut():
            draft.effects.append(OpenHandoff("replied", flag="may_want_to_stop"))
        case HumanSignal() if not draft.facts.owned:
            # A note or an adviser's own words only pause; but a journey that nobody owns must not be forgotten.
            draft.effects.append(
                OpenReview("unowned", "Paused because a person wrote. Who takes care of this lead?")
            )
            draft.emit("task_opened", stimulus.cause, kind="review", ref="unowned")
        case _:
            pass


def _close_handoff(draft: Draft, stimulus: Stimulus) -> None:
    match stimulus:
        case Closed():
            draft.effects.append(CloseHandoff(stimulus.outcome, stimulus.not_now_until))
        case OptedOut() | Complained():
            draft.effects.append(CloseHandoff(Outcome.OPTED_OUT))
        case Merged():
            draft.effects.append(CloseHandoff(Outcome.MERGED))
        case _:
            draft.effects.append(CloseHandoff(Outcome.RESUMED))


def _cool_down(draft: Draft, stimulus: Stimulus) -> None:
    if isinstance(stimulus, Closed):
        draft.effects.append(CoolDown(str(stimulus.outcome), stimulus.not_now_until))
    else:
        draft.effects.append(CoolDown("breakup" if draft.state.stage is Stage.EXHAUSTED else "completed"))


def _suppress(draft: Draft, stimulus: Stimulus) -> None:
    match stimulus:
        case OptedOut() | ChannelLost():
            draft.effects.append(SuppressChannel(stimulus.channel, stimulus.reason))
        case _:
            draft.effects.append(SuppressChannel("all", "complaint"))
    draft.emit("suppressed", None, channel=getattr(stimulus, "channel", "all"))


def _supersede(draft: Draft, stimulus: Stimulus) -> None:
    draft.effects.append(SupersedeSends(str(stimulus.stim)))


def _resume_later(draft: Draft, stimulus: Stimulus) -> None:
    if isinstance(stimulus, AutoReplied):
        draft.change(resume_at=stimulus.resume_at)


def _settle_review(draft: Draft, stimulus: Stimulus) -> None:
    assert isinstance(stimulus, ReviewResolved)
    draft.emit("task_done", stimulus.actor, kind="review", verdict=stimulus.verdict)
    if stimulus.position is None or not _stands_at(draft.state, stimulus.position):
        return
    if stimulus.verdict == "skip":
        draft.emit("skipped", "review", step=stimulus.position.step, send_id=stimulus.send_id)
        _advance(draft)


def _nothing(draft: Draft, stimulus: Stimulus) -> None:
    """The hold itself opened the review; a host's task comes with bookings."""


_EFFECTS: dict[Do, Callable[[Draft, Any], None]] = {
    Do.KEEP_RETURN: _keep_return,
    Do.ATTRIBUTE_REPLY: _attribute_reply,
    Do.OPEN_HANDOFF: _open_handoff,
    Do.CLOSE_HANDOFF: _close_handoff,
    Do.COOL_DOWN: _cool_down,
    Do.SUPPRESS: _suppress,
    Do.SUPERSEDE: _supersede,
    Do.RESUME_LATER: _resume_later,
    Do.SETTLE_REVIEW: _settle_review,
    Do.REVIEW: _nothing,
    Do.TASK_FOR_HOST: _nothing,
}


# --- position only ---


def _move_position(draft: Draft, stimulus: Stimulus) -> None:
    match stimulus:
        case Due():
            if draft.state.automation is Automation.ACTIVE:
                draft.queues = True
                _run(draft)
        case SendAccepted():
            if not stimulus.already_counted:
                _record_accepted(draft, stimulus)
            _lift_hold_of(draft, stimulus.send_id)
            if _stands_at(draft.state, stimulus.position):
                _advance(draft)
        case SendSkipped():
            draft.emit(
                stimulus.type,
                stimulus.reason,
                step=stimulus.position.step,
                send_id=stimulus.send_id,
                **stimulus.data,
            )
            if _stands_at(draft.state, stimulus.position):
                _advance(draft)
        case SendDeferred():
            if _stands_at(draft.state, stimulus.position) and draft.state.automation is Automation.ACTIVE:
                draft.change(next_run_at=max(stimulus.until, draft.now))
            draft.emit(
                "deferred",
                stimulus.reason,
                step=stimulus.position.step,
                send_id=stimulus.send_id,
                until=stimulus.until.isoformat(),
            )
        case _:
            raise AssertionError(f"no handler for {stimulus.stim}")


def _record_accepted(draft: Draft, stimulus: SendAccepted) -> None:
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


def _advance(draft: Draft) -> None:
    """Leave the step whose outcome is known; go on at once where the machine may act, else keep the timer off."""
    move_on(draft, wait_from=draft.now)
    if draft.state.automation is Automation.ACTIVE:
        _run(draft)


def _run(draft: Draft) -> None:
    if run(draft):
        row = machine.find_row(
            stage=draft.state.stage, automation=draft.state.automation, stim=Stim.PATH_ENDED
        )
        if row is None or row.booking:
            draft.change(next_run_at=None)
            hold(draft, ref="path_end", title="The path of this journey has ended.", cause="path_ended")
            return
        assert isinstance(row.to, Stage)
        _exit(draft, row.to, "path_ended", None)
        _cool_down(draft, Due())


def _stands_at(state: EnrolmentState, position: Position) -> bool:
    return (state.path, state.step, state.lap, state.generation) == (
        position.path,
        position.step,
        position.lap,
        position.generation,
    )


# --- words ---


def _pause_reason(stimulus: Stimulus) -> str:
    match stimulus:
        case HumanSignal():
            return stimulus.type
        case DoubtfulOptOut():
            return "may_want_to_stop"
        case AutoReplied():
            return "auto_reply"
        case _:
            return getattr(stimulus, "reason", None) or "operator"


def _exit_reason(stimulus: Stimulus) -> str:
    return str(stimulus.outcome) if isinstance(stimulus, Closed) else str(stimulus.stim)


def _cause(stimulus: Stimulus) -> str:
    return getattr(stimulus, "cause", None) or _who(stimulus)


def _who(stimulus: Stimulus) -> str:
    return getattr(stimulus, "actor", None) or str(stimulus.stim)
