"""Every row of the table, at every stage and automation it names, does what its columns say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.domain.decide import decide
from app.campaigns.domain.enrolment import EnrolmentState
from app.campaigns.domain.machine import RETURN, SAME, TABLE, Row
from app.campaigns.domain.stimuli import (
    AdviserResumed,
    AttendanceCorrected,
    Attended,
    AutoReplied,
    Booked,
    Cancelled,
    ChannelLost,
    Closed,
    Complained,
    DoubtfulOptOut,
    Due,
    FailedLater,
    HumanSignal,
    Inconclusive,
    Merged,
    NoShow,
    Operator,
    OptedOut,
    Rescheduled,
    ResumeDue,
    ReviewResolved,
    Seen,
    SendAccepted,
    SendDeferred,
    SendSkipped,
    Stimulus,
    VersionAdopted,
    VersionMoved,
)
from app.campaigns.domain.vocabulary import STRICTNESS, Automation, Outcome, Stage, Stim
from app.kernel.errors import CommandRefused
from tests.factories.states import NOW, VISIT, VISITS, facts, position, state

A = Automation
STIMULI: dict[Stim, Stimulus] = {
    Stim.DUE: Due(),
    Stim.SEND_ACCEPTED: SendAccepted(position("gone"), 31, "att", "finish"),
    Stim.SEND_SKIPPED: SendSkipped(position("gone"), 31, "no_consent"),
    Stim.SEND_DEFERRED: SendDeferred(position("gone"), 31, "quiet_hours", NOW + timedelta(days=1)),
    Stim.WAIT_FOR_MET: Seen("clicked", NOW),
    Stim.VERSION_ADOPTED: VersionAdopted(),
    Stim.VERSION_MOVED: VersionMoved("user:1", {}),
    Stim.HUMAN_SIGNAL: HumanSignal("signal:1"),
    Stim.BOOKED: Booked("lead", VISIT),
    Stim.RESCHEDULED: Rescheduled("lead", VISIT),
    Stim.CANCELLED: Cancelled("lead"),
    Stim.ATTENDED: Attended("user:1"),
    Stim.NO_SHOW: NoShow("user:1"),
    Stim.ATTENDANCE_CORRECTED: AttendanceCorrected("user:1"),
    Stim.ADVISER_RESUMED: AdviserResumed("user:1"),
    Stim.CLOSED: Closed("user:1", Outcome.LOST),
    Stim.OPTED_OUT: OptedOut("signal:1", "all", "stop_word"),
    Stim.DOUBTFUL_OPT_OUT: DoubtfulOptOut("signal:1", "cancel"),
    Stim.COMPLAINED: Complained("signal:1"),
    Stim.CHANNEL_LOST: ChannelLost("63024", "whatsapp", "unreachable", ("sms",)),
    Stim.AUTO_REPLIED: AutoReplied("signal:1", NOW + timedelta(days=7)),
    Stim.RESUME_DUE: ResumeDue(),
    Stim.FAILED_LATER: FailedLater(31, "hello", "63049"),
    Stim.OPERATOR_PAUSED: Operator(Stim.OPERATOR_PAUSED, "user:1"),
    Stim.OPERATOR_RESUMED: Operator(Stim.OPERATOR_RESUMED, "user:1"),
    Stim.OPERATOR_HELD: Operator(Stim.OPERATOR_HELD, "user:1"),
    Stim.OPERATOR_RELEASED: Operator(Stim.OPERATOR_RELEASED, "user:1"),
    Stim.INCONCLUSIVE: Inconclusive("send:31", "Was it sent?"),
    Stim.REVIEW_RESOLVED: ReviewResolved("user:1", "again", position("gone"), 31, None),
    Stim.MERGED: Merged("user:1", 8),
}


def standing(stage: Stage, automation: Automation) -> EnrolmentState:
    """Return a journey at its first wait, or before a visit, in this state of automation."""
    more: dict[str, Any] = {"stage": stage, "automation": automation}
    if stage in (Stage.ENGAGED, Stage.BOOKED):
        more |= {
            "return_stage": Stage.NURTURING,
            "return_path": "nurture",
            "return_step": "wait_1",
            "return_lap": 1,
        }
    if stage is Stage.BOOKED:
        more |= {"path": "confirmation", "step": "day_before", "lap": 2, "booking_id": VISIT.id}
    if automation is A.HELD:
        more |= {"held_from": A.ACTIVE, "hold_ref": "send:99", "next_run_at": None}
    if automation is A.PAUSED:
        more |= {"next_run_at": NOW + timedelta(days=2) if stage is Stage.BOOKED else None, "resume_at": NOW}
    return state(**more)


CASES = [
    (row, stage, automation)
    for row in TABLE
    if row.stim is not Stim.PATH_ENDED
    for stage in sorted(row.stages)
    for automation in (A.ACTIVE, A.PAUSED, A.HELD)
    if row.only is None or automation in row.only
]


@pytest.mark.parametrize(("row", "stage", "automation"), CASES, ids=[f"{r.id}-{s}-{a}" for r, s, a in CASES])
def test_a_row_moves_stage_and_automation_as_its_columns_say(
    row: Row, stage: Stage, automation: Automation
) -> None:
    before = standing(stage, automation)
    if row.id == "booked.again":
        with pytest.raises(CommandRefused):
            decide(before, VISITS, STIMULI[row.stim], facts(visit=VISIT), NOW)
        return
    known = facts(visit=VISIT, path_starts=2, handoff_open=row.stim is Stim.ADVISER_RESUMED)
    after = decide(before, VISITS, STIMULI[row.stim], known, NOW).state
    assert after.stage is _stage(row, before)
    assert after.automation is _automation(row, before)
    if row.starts is not None:
        assert (after.path, after.lap) == (row.starts, 3)


def _stage(row: Row, before: EnrolmentState) -> Stage:
    if row.to is SAME or (row.to is RETURN and before.stage is not Stage.ENGAGED):
        return before.stage
    if row.to is RETURN:
        assert before.return_stage is not None
        return before.return_stage
    assert isinstance(row.to, Stage)
    return row.to


def _automation(row: Row, before: EnrolmentState) -> Automation:
    """A signal never lowers a hold; a hold remembers what it will be lifted to."""
    if row.automation is SAME:
        return before.automation
    if not isinstance(row.automation, Automation):
        return before.held_from or A.PAUSED
    if before.automation is A.HELD and STRICTNESS[row.automation] < STRICTNESS[A.HELD]:
        return A.HELD
    return row.automation
