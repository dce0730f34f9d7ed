"""The locked transition table, as data: `decide` interprets it, screens draw it, nobody edits it at run time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from app.campaigns.domain.vocabulary import LIVE, TERMINAL, Automation, Path, Stage, Stim


class Same(Enum):
    """Says that a row leaves something as it is, or puts back what was kept."""

    SAME = "same"
    RETURN = "where it came from"
    HELD_FROM = "what it was before the hold"


SAME, RETURN, HELD_FROM = Same.SAME, Same.RETURN, Same.HELD_FROM


class Do(StrEnum):
    """What a row does besides moving: each is one small function in `decide`."""

    KEEP_RETURN = "keep the return position"
    BACK_TO_RETURN = "stand at the return position"
    OPEN_HANDOFF = "open a handoff, or let the open one's next clock run"
    CLOSE_HANDOFF = "close the open handoff"
    COOL_DOWN = "write a cool-down by reason"
    SUPPRESS = "close the channel"
    SUPERSEDE = "supersede sends that have not started"
    REVIEW = "open a review task and remember what was held"
    RESUME_LATER = "set when automation wakes by itself"
    ATTRIBUTE_REPLY = "credit the first reply to the last send before it"
    ATTRIBUTE_BOOKING = "credit the first booking to the last send before it"
    TASK_FOR_HOST = "open a task for the host of a booking"
    TASK_MARK_VISIT = "ask for the visit to be marked"
    TASK_IF_ABOUT_VISIT = "open a task where the message was about a visit"
    SETTLE_REVIEW = "carry out what the reviewer said"
    POSITION_ONLY = "move position and timer only"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: from these stages, at this stimulus, to that stage and automation, with these effects.

    `starts` names the path that begins a new lap; `only` limits the row to some automation states.
    """

    id: str
    stages: frozenset[Stage]
    stim: Stim
    to: Stage | Same
    automation: Automation | Same
    does: tuple[Do, ...] = ()
    starts: Path | None = None
    only: frozenset[Automation] | None = None


_PERSUADING = frozenset({Stage.NURTURING, Stage.ATTENDED, Stage.NO_SHOW})
_UNBOOKED = _PERSUADING | {Stage.ENGAGED}
_A = Automation


def _position_row(stim: Stim) -> Row:
    return Row(f"position.{stim}", LIVE, stim, SAME, SAME, (Do.POSITION_ONLY,))


TABLE: tuple[Row, ...] = (
    *(
        _position_row(stim)
        for stim in (
            Stim.DUE,
            Stim.SEND_ACCEPTED,
            Stim.SEND_SKIPPED,
            Stim.SEND_DEFERRED,
            Stim.WAIT_FOR_MET,
            Stim.VERSION_ADOPTED,
        )
    ),
    Row(
        "human.persuading",
        _PERSUADING,
        Stim.HUMAN_SIGNAL,
        Stage.ENGAGED,
        _A.PAUSED,
        (Do.ATTRIBUTE_REPLY, Do.KEEP_RETURN, Do.OPEN_HANDOFF),
    ),
    Row(
        "human.engaged",
        frozenset({Stage.ENGAGED}),
        Stim.HUMAN_SIGNAL,
        SAME,
        _A.PAUSED,
        (Do.ATTRIBUTE_REPLY, Do.OPEN_HANDOFF),
    ),
    Row(
        "human.booked",
        frozenset({Stage.BOOKED}),
        Stim.HUMAN_SIGNAL,
        SAME,
        _A.PAUSED,
        (Do.ATTRIBUTE_REPLY, Do.OPEN_HANDOFF),
    ),
    Row(
        "booked",
        _UNBOOKED,
        Stim.BOOKED,
        Stage.BOOKED,
        _A.ACTIVE,
        (Do.ATTRIBUTE_BOOKING, Do.KEEP_RETURN, Do.SUPERSEDE, Do.CLOSE_HANDOFF),
        starts=Path.CONFIRMATION,
    ),
    Row("booked.again", frozenset({Stage.BOOKED}), Stim.BOOKED, SAME, SAME),
    Row(
        "rescheduled",
        frozenset({Stage.BOOKED}),
        Stim.RESCHEDULED,
        SAME,
        _A.ACTIVE,
        (Do.SUPERSEDE,),
        starts=Path.CONFIRMATION,
    ),
    Row(
        "cancelled",
        frozenset({Stage.BOOKED}),
        Stim.CANCELLED,
        Stage.ENGAGED,
        _A.PAUSED,
        (Do.BACK_TO_RETURN, Do.SUPERSEDE, Do.OPEN_HANDOFF),
    ),
    Row(
        "attended",
        frozenset({Stage.BOOKED}),
        Stim.ATTENDED,
        Stage.ATTENDED,
        _A.ACTIVE,
        (Do.SUPERSEDE,),
        starts=Path.POST_VISIT,
    ),
    Row(
        "no_show",
        frozenset({Stage.BOOKED}),
        Stim.NO_SHOW,
        Stage.NO_SHOW,
        _A.ACTIVE,
        (Do.SUPERSEDE,),
        starts=Path.REBOOK,
    ),
    Row(
        "corrected.to_no_show",
        frozenset({Stage.ATTENDED}),
        Stim.ATTENDANCE_CORRECTED,
        Stage.NO_SHOW,
        _A.ACTIVE,
        (Do.SUPERSEDE,),
        starts=Path.REBOOK,
    ),
    Row(
        "corrected.to_attended",
        frozenset({Stage.NO_SHOW}),
        Stim.ATTENDANCE_CORRECTED,
        Stage.ATTENDED,
        _A.ACTIVE,
        (Do.SUPERSEDE,),
        starts=Path.POST_VISIT,
    ),
    Row(
        "path_ended.booked",
        frozenset({Stage.BOOKED}),
        Stim.PATH_ENDED,
        SAME,
        _A.ACTIVE,
        (Do.TASK_MARK_VISIT,),
    ),
    Row(
        "adviser.resumes",
        LIVE,
        Stim.ADVISER_RESUMED,
        RETURN,
        _A.ACTIVE,
        (Do.CLOSE_HANDOFF,),
        only=frozenset({_A.PAUSED}),
    ),
    Row(
        "closed",
        LIVE,
        Stim.CLOSED,
        Stage.CLOSED,
        _A.COMPLETED,
        (Do.SUPERSEDE, Do.COOL_DOWN, Do.CLOSE_HANDOFF),
    ),
    Row(
        "path_ended.persuading",
        frozenset({Stage.NURTURING, Stage.NO_SHOW}),
        Stim.PATH_ENDED,
        Stage.EXHAUSTED,
        _A.COMPLETED,
        (Do.COOL_DOWN,),
    ),
    Row(
        "path_ended.attended",
        frozenset({Stage.ATTENDED}),
        Stim.PATH_ENDED,
        Stage.CLOSED,
        _A.COMPLETED,
        (Do.COOL_DOWN,),
    ),
    Row(
        "opted_out",
        LIVE,
        Stim.OPTED_OUT,
        Stage.OPTED_OUT,
        _A.COMPLETED,
        (Do.SUPERSEDE, Do.SUPPRESS, Do.CLOSE_HANDOFF, Do.TASK_FOR_HOST),
    ),
    Row(
        "opted_out.doubtful",
        _UNBOOKED,
        Stim.DOUBTFUL_OPT_OUT,
        Stage.ENGAGED,
        _A.PAUSED,
        (Do.ATTRIBUTE_REPLY, Do.KEEP_RETURN, Do.OPEN_HANDOFF),
    ),
    Row(  # the visit stands until somebody cancels it
        "opted_out.doubtful.booked",
        frozenset({Stage.BOOKED}),
        Stim.DOUBTFUL_OPT_OUT,
        SAME,
        _A.PAUSED,
        (Do.ATTRIBUTE_REPLY, Do.OPEN_HANDOFF),
    ),
    Row(
        "complained",
        LIVE,
        Stim.COMPLAINED,
        Stage.EXITED,
        _A.COMPLETED,
        (Do.SUPERSEDE, Do.SUPPRESS, Do.CLOSE_HANDOFF),
    ),
    Row("channel_lost", LIVE, Stim.CHANNEL_LOST, SAME, SAME, (Do.SUPPRESS,)),
    Row(
        "auto_replied",
        LIVE,
        Stim.AUTO_REPLIED,
        SAME,
        _A.PAUSED,
        (Do.RESUME_LATER,),
        only=frozenset({_A.ACTIVE}),
    ),
    Row("resume_due", LIVE, Stim.RESUME_DUE, SAME, _A.ACTIVE, only=frozenset({_A.PAUSED})),
    Row("failed_later", LIVE, Stim.FAILED_LATER, SAME, SAME, (Do.TASK_IF_ABOUT_VISIT,)),
    Row(  # also where automation would wake by itself: then the pause stands without end
        "operator.pause", LIVE, Stim.OPERATOR_PAUSED, SAME, _A.PAUSED, only=frozenset({_A.ACTIVE, _A.PAUSED})
    ),
    Row("operator.resume", LIVE, Stim.OPERATOR_RESUMED, SAME, _A.ACTIVE, only=frozenset({_A.PAUSED})),
    Row("operator.hold", LIVE, Stim.OPERATOR_HELD, SAME, _A.HELD, only=frozenset({_A.ACTIVE, _A.PAUSED})),
    Row("operator.release", LIVE, Stim.OPERATOR_RELEASED, SAME, HELD_FROM, only=frozenset({_A.HELD})),
    Row("version.moved", LIVE, Stim.VERSION_MOVED, SAME, SAME),
    Row("inconclusive", LIVE, Stim.INCONCLUSIVE, SAME, _A.HELD, (Do.REVIEW,)),
    Row(
        "review.resolved",
        LIVE,
        Stim.REVIEW_RESOLVED,
        SAME,
        HELD_FROM,
        (Do.SETTLE_REVIEW,),
        only=frozenset({_A.HELD}),
    ),
    Row(
        "merged",
        LIVE,
        Stim.MERGED,
        Stage.EXITED,
        _A.COMPLETED,
        (Do.SUPERSEDE, Do.CLOSE_HANDOFF),
    ),
)

ENROL_ROW = Row(
    "enrol", frozenset(), Stim.ENROL, Stage.NURTURING, _A.ACTIVE, (Do.POSITION_ONLY,), starts=Path.NURTURE
)


def find_row(*, stage: Stage, automation: Automation, stim: Stim) -> Row | None:
    """Return the one row for this state and stimulus; None where the table has none."""
    if stage in TERMINAL:
        return None
    for row in TABLE:
        if row.stim is stim and stage in row.stages and (row.only is None or automation in row.only):
            return row
    return None
