"""What happened, in the words of the ledger: announcements, reasons and causes."""

from __future__ import annotations

from app.campaigns.domain.draft import Draft
from app.campaigns.domain.stimuli import (
    AttendanceCorrected,
    Attended,
    AutoReplied,
    Booked,
    Cancelled,
    ChannelLost,
    Closed,
    Complained,
    DoubtfulOptOut,
    FailedLater,
    HumanSignal,
    NoShow,
    OptedOut,
    Rescheduled,
    Stimulus,
)
from app.campaigns.domain.vocabulary import Stage


def announce(draft: Draft, stimulus: Stimulus) -> None:
    """Emit what happened, before what it moves. Where the move itself is the event there is nothing to say."""
    match stimulus:
        case HumanSignal():
            note_inbound(draft, stimulus)
            draft.emit(stimulus.type, stimulus.cause)
        case DoubtfulOptOut():
            note_inbound(draft, stimulus)
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
        case Booked() | Rescheduled():
            draft.change(booking_id=stimulus.visit.id)
            draft.emit(str(stimulus.stim), stimulus.actor, booking_id=stimulus.visit.id,
                       starts_at=stimulus.visit.starts_at.isoformat())  # fmt: skip
        case Cancelled() | Attended() | NoShow():
            draft.emit(str(stimulus.stim), stimulus.actor, booking_id=draft.state.booking_id)
        case AttendanceCorrected():
            now_true = "no_show" if draft.state.stage is Stage.ATTENDED else "attended"
            draft.emit(now_true, stimulus.actor, booking_id=draft.state.booking_id, corrected=True)
        case _:
            pass


def note_inbound(draft: Draft, stimulus: HumanSignal | DoubtfulOptOut) -> None:
    """Remember when the person last wrote."""
    if isinstance(stimulus, DoubtfulOptOut) or stimulus.inbound:
        before = draft.state.last_inbound_at
        draft.change(last_inbound_at=max(before, draft.now) if before else draft.now)


def pause_reason(stimulus: Stimulus) -> str:
    """Return why automation pauses."""
    match stimulus:
        case HumanSignal():
            return stimulus.type
        case DoubtfulOptOut():
            return "may_want_to_stop"
        case AutoReplied():
            return "auto_reply"
        case Cancelled():
            return "cancelled"
        case _:
            return getattr(stimulus, "reason", None) or "operator"


def exit_reason(stimulus: Stimulus) -> str:
    """Return why a journey ends."""
    return str(stimulus.outcome) if isinstance(stimulus, Closed) else str(stimulus.stim)


def cause_of(stimulus: Stimulus) -> str:
    """Return what caused the change: a signal, an actor, or the kind of stimulus."""
    return getattr(stimulus, "cause", None) or who(stimulus)


def who(stimulus: Stimulus) -> str:
    """Return who did it."""
    return getattr(stimulus, "actor", None) or str(stimulus.stim)
