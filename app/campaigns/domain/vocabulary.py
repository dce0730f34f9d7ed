"""The engine's words as enums: stages, automation, what can happen, and what follows."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """Where a journey is."""

    NURTURING = "nurturing"
    ENGAGED = "engaged"
    BOOKED = "booked"
    ATTENDED = "attended"
    NO_SHOW = "no_show"
    CLOSED = "closed"
    EXHAUSTED = "exhausted"
    OPTED_OUT = "opted_out"
    EXITED = "exited"


TERMINAL = frozenset({Stage.CLOSED, Stage.EXHAUSTED, Stage.OPTED_OUT, Stage.EXITED})
LIVE = frozenset(Stage) - TERMINAL


class Automation(StrEnum):
    """Whether the machine may act. Ordered by strictness; a signal never lowers it."""

    ACTIVE = "active"
    PAUSED = "paused"
    HELD = "held"
    COMPLETED = "completed"


STRICTNESS = {a: rank for rank, a in enumerate(Automation)}


class Path(StrEnum):
    """The ordered lists of steps that stages run."""

    NURTURE = "nurture"
    CONFIRMATION = "confirmation"
    POST_VISIT = "post_visit"
    REBOOK = "rebook"


PERSUASION = frozenset({Path.NURTURE, Path.REBOOK, Path.POST_VISIT})


class Stim(StrEnum):
    """The kinds of stimulus. Commands may be refused, facts never."""

    ENROL = "enrol"
    DUE = "due"
    SEND_ACCEPTED = "send_accepted"
    SEND_SKIPPED = "send_skipped"
    SEND_DEFERRED = "send_deferred"
    WAIT_FOR_MET = "wait_for_met"
    VERSION_ADOPTED = "version_adopted"
    VERSION_MOVED = "version_moved"
    HUMAN_SIGNAL = "human_signal"
    BOOKED = "booked"
    RESCHEDULED = "rescheduled"
    CANCELLED = "cancelled"
    ATTENDED = "attended"
    NO_SHOW = "no_show"
    ATTENDANCE_CORRECTED = "attendance_corrected"
    PATH_ENDED = "path_ended"
    ADVISER_RESUMED = "adviser_resumed"
    CLOSED = "closed"
    OPTED_OUT = "opted_out"
    DOUBTFUL_OPT_OUT = "doubtful_opt_out"
    COMPLAINED = "complained"
    CHANNEL_LOST = "channel_lost"
    AUTO_REPLIED = "auto_replied"
    FAILED_LATER = "failed_later"
    OPERATOR_PAUSED = "operator_paused"
    OPERATOR_RESUMED = "operator_resumed"
    OPERATOR_HELD = "operator_held"
    OPERATOR_RELEASED = "operator_released"
    RESUME_DUE = "resume_due"
    INCONCLUSIVE = "inconclusive"
    REVIEW_RESOLVED = "review_resolved"
    MERGED = "merged"


COMMANDS = frozenset(
    {
        Stim.ENROL,
        Stim.ADVISER_RESUMED,
        Stim.CLOSED,
        Stim.OPERATOR_PAUSED,
        Stim.OPERATOR_RESUMED,
        Stim.OPERATOR_HELD,
        Stim.OPERATOR_RELEASED,
        Stim.REVIEW_RESOLVED,
        Stim.ATTENDANCE_CORRECTED,
        Stim.VERSION_MOVED,
    }
)


class Outcome(StrEnum):
    """How a handoff ended."""

    BOOKED = "booked"
    WON = "won"
    LOST = "lost"
    NOT_NOW = "not_now"
    RESUMED = "resumed"
    OPTED_OUT = "opted_out"
    MERGED = "merged"
    NO_ACTION = "no_action"
