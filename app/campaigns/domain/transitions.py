"""Carrying a row of the table out: the move of stage, path and automation, and the row's effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.campaigns.domain import machine
from app.campaigns.domain.advance import start_path
from app.campaigns.domain.automation import activate, hold_by_operator, leave, pause, release
from app.campaigns.domain.draft import Draft, ask, hold
from app.campaigns.domain.enrolment import (
    CloseHandoff,
    OpenHandoff,
    OpenReview,
    SupersedeSends,
    SuppressChannel,
)
from app.campaigns.domain.machine import RETURN, Do, Row
from app.campaigns.domain.positions import advance, cool_down, stands_at
from app.campaigns.domain.stimuli import (
    AutoReplied,
    Booked,
    Cancelled,
    ChannelLost,
    Closed,
    Complained,
    DoubtfulOptOut,
    FailedLater,
    HumanSignal,
    Inconclusive,
    Merged,
    OptedOut,
    ReviewResolved,
    Stimulus,
)
from app.campaigns.domain.telling import exit_reason
from app.campaigns.domain.vocabulary import Automation, Outcome, Path, Stage


def carry_row(draft: Draft, row: Row, stimulus: Stimulus) -> None:
    """Do what the row says: first what looks at where the journey stood, then the move, then the rest."""
    for does in row.does:
        if does in _FIRST:
            _FIRST[does](draft, stimulus)
    _move_stage(draft, row)
    if row.starts is not None:
        start_path(draft, row.starts)
    _move_automation(draft, row, stimulus)
    for does in row.does:
        if does in _THEN:
            _THEN[does](draft, stimulus)
    if isinstance(stimulus, ChannelLost) and not stimulus.usable_left:
        leave(draft, Stage.EXITED, "no_usable_channel", CloseHandoff(Outcome.NO_ACTION))


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
            leave(draft, draft.state.stage, exit_reason(stimulus), None)
        case Automation.PAUSED:
            pause(draft, stimulus)
        case Automation.HELD if isinstance(stimulus, Inconclusive):
            hold(draft, ref=stimulus.ref, title=stimulus.why, cause="inconclusive")
        case Automation.HELD:
            hold_by_operator(draft, stimulus)
        case Automation.ACTIVE:
            activate(draft, stimulus, Automation.ACTIVE)
        case machine.Same.HELD_FROM:
            release(draft, stimulus)
        case _:
            pass


# --- effects ---


def _keep_return(draft: Draft, stimulus: Stimulus) -> None:
    state = draft.state
    if state.stage in (Stage.ENGAGED, Stage.BOOKED):
        return  # engaged keeps what it has; confirmation is never a place to return to
    draft.change(
        return_stage=state.stage, return_path=state.path, return_step=state.step, return_lap=state.lap
    )


def attribute_reply(draft: Draft, stimulus: Stimulus) -> None:
    """Credit the first reply to the last campaign message before it; set once, never rewritten."""
    counts = isinstance(stimulus, DoubtfulOptOut) or getattr(stimulus, "inbound", False)
    if counts and draft.state.first_reply_send_id is None and draft.facts.last_send_id is not None:
        draft.change(first_reply_send_id=draft.facts.last_send_id)


def _open_handoff(draft: Draft, stimulus: Stimulus) -> None:
    match stimulus:
        case HumanSignal(opens_handoff=True):
            draft.effects.append(OpenHandoff(stimulus.handoff_reason))
        case DoubtfulOptOut():
            draft.effects.append(OpenHandoff("replied", flag="may_want_to_stop"))
        case Cancelled():
            draft.effects.append(OpenHandoff("cancelled"))
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
        case Booked():
            if draft.facts.handoff_open and draft.facts.answered:
                draft.effects.append(CloseHandoff(Outcome.BOOKED))
        case _:
            draft.effects.append(CloseHandoff(Outcome.RESUMED))


def suppress(draft: Draft, stimulus: Stimulus) -> None:
    """Close what the person or the provider closed."""
    match stimulus:
        case OptedOut() | ChannelLost():
            draft.effects.append(SuppressChannel(stimulus.channel, stimulus.reason))
        case _:
            draft.effects.append(SuppressChannel("all", "complaint"))
    draft.emit("suppressed", None, channel=getattr(stimulus, "channel", "all"))


def _back_to_return(draft: Draft, stimulus: Stimulus) -> None:
    """The position leaves confirmation for the place the lead was booked from."""
    state = draft.state
    if state.return_stage is not None:
        draft.change(path=state.return_path, step=state.return_step, lap=state.return_lap or state.lap)


def _attribute_booking(draft: Draft, stimulus: Stimulus) -> None:
    if draft.state.first_booking_send_id is None and draft.facts.last_send_id is not None:
        draft.change(first_booking_send_id=draft.facts.last_send_id)


def _supersede(draft: Draft, stimulus: Stimulus) -> None:
    draft.effects.append(SupersedeSends(str(stimulus.stim)))


def _resume_later(draft: Draft, stimulus: Stimulus) -> None:
    if isinstance(stimulus, AutoReplied):
        draft.change(resume_at=stimulus.resume_at)


def _settle_review(draft: Draft, stimulus: Stimulus) -> None:
    assert isinstance(stimulus, ReviewResolved)
    draft.emit("task_done", stimulus.actor, kind="review", verdict=stimulus.verdict)
    if stimulus.position is None or not stands_at(draft.state, stimulus.position):
        return
    if stimulus.verdict == "skip":
        draft.emit("skipped", "review", step=stimulus.position.step, send_id=stimulus.send_id)
        advance(draft)


def _task_for_host(draft: Draft, stimulus: Stimulus) -> None:
    """A booking stays when the lead stops: whoever expects them must know that nothing more is said by us."""
    if draft.state.booking_id is not None and draft.state.path == Path.CONFIRMATION:
        ask(
            draft,
            kind="visit_reminder",
            subject="opted_out",
            title="This lead wants no more messages; the booking stands. See to it by hand.",
            due_at=draft.now,
            who="owner",
        )


def _task_where_it_matters(draft: Draft, stimulus: FailedLater) -> None:
    """A confirmation or a reminder that did not arrive is told by a person, unless it is tried again."""
    if stimulus.again or stimulus.path != Path.CONFIRMATION or draft.state.path != Path.CONFIRMATION:
        return
    ask(
        draft,
        kind="visit_reminder",
        subject=stimulus.step,
        title="A message about the visit did not arrive. Tell them yourself.",
        due_at=draft.now,
        who="owner",
    )


def _nothing(draft: Draft, stimulus: Stimulus) -> None:
    """The hold itself opened the review."""


_FIRST: dict[Do, Callable[[Draft, Any], None]] = {
    Do.KEEP_RETURN: _keep_return,
    Do.ATTRIBUTE_REPLY: attribute_reply,
    Do.ATTRIBUTE_BOOKING: _attribute_booking,
}
_THEN: dict[Do, Callable[[Draft, Any], None]] = {
    Do.BACK_TO_RETURN: _back_to_return,
    Do.OPEN_HANDOFF: _open_handoff,
    Do.CLOSE_HANDOFF: _close_handoff,
    Do.COOL_DOWN: cool_down,
    Do.SUPPRESS: suppress,
    Do.SUPERSEDE: _supersede,
    Do.RESUME_LATER: _resume_later,
    Do.SETTLE_REVIEW: _settle_review,
    Do.REVIEW: _nothing,
    Do.TASK_FOR_HOST: _task_for_host,
    Do.TASK_IF_ABOUT_VISIT: _task_where_it_matters,
}
