"""Journeys with a visit: booked, moved, cancelled, come or not come, and what a person must not lose meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.campaigns.domain.decide import decide, decide_booked
from app.campaigns.domain.enrolment import CloseHandoff, Decision, EnrolmentState, OpenHandoff, OpenTask
from app.campaigns.domain.schedule import Visit
from app.campaigns.domain.stimuli import (
    AdviserResumed,
    AttendanceCorrected,
    Attended,
    Booked,
    Cancelled,
    DoubtfulOptOut,
    Due,
    FailedLater,
    HumanSignal,
    NoShow,
    OptedOut,
    Rescheduled,
    SendAccepted,
    Stimulus,
)
from app.campaigns.domain.vocabulary import Automation, Outcome, Stage
from tests.factories.states import NOW, VISIT, VISITS, engaged, facts, position, state

A = Automation
DAY = timedelta(days=1)


def act(before: EnrolmentState, stimulus: Stimulus, *, now: datetime = NOW, **known: Any) -> Decision:
    """Let a stimulus act on a journey whose visit is in five days."""
    return decide(before, VISITS, stimulus, facts(**{"visit": VISIT, "path_starts": 2, **known}), now)


def booked(**changes: Any) -> EnrolmentState:
    """Return a booked journey whose confirmation is out; it waits for the day before the visit."""
    after = act(state(), Booked("lead", VISIT), path_starts=1).state
    sent = act(after, Due(), path_starts=2)
    assert sent.queued is not None
    told = act(
        sent.state, SendAccepted(position("confirmed", path="confirmation", lap=2), 40, "att", "finish")
    )
    return replace(told.state, **changes)


def effects(decision: Decision, kind: type[Any]) -> list[Any]:
    """Return the effects of one kind."""
    return [e for e in decision.effects if isinstance(e, kind)]


def test_a_booking_starts_the_confirmation_in_a_new_lap_and_keeps_the_place_in_nurture() -> None:
    after = act(state(), Booked("lead", VISIT), path_starts=1, last_send_id=31).state
    assert (after.stage, after.automation) == (Stage.BOOKED, A.ACTIVE)
    assert (after.path, after.step, after.lap, after.next_run_at) == ("confirmation", "confirmed", 2, NOW)
    assert (after.return_stage, after.return_path, after.return_step) == (
        Stage.NURTURING,
        "nurture",
        "wait_1",
    )
    assert (after.booking_id, after.first_booking_send_id) == (VISIT.id, 31)


def test_the_first_booking_is_credited_once() -> None:
    before = state(first_booking_send_id=30)
    assert act(before, Booked("lead", VISIT), last_send_id=31).state.first_booking_send_id == 30


def test_a_lead_who_books_without_a_journey_goes_straight_to_the_visit() -> None:
    decision = decide_booked(
        version=VISITS,
        sender_id=2,
        generation=1,
        booked=Booked("lead", VISIT),
        facts=facts(),
        actor="lead",
        now=NOW,
    )
    after = decision.state
    assert [e.type for e in decision.events] == ["enrolled", "booked", "path_entered"]
    assert (after.stage, after.path, after.lap) == (Stage.BOOKED, "confirmation", 1)
    assert (after.return_path, after.return_step) == ("nurture", "hello")


def test_reminders_hang_on_the_visit() -> None:
    waiting = booked()
    assert (waiting.step, waiting.next_run_at) == ("day_before", VISIT.starts_at - DAY)
    sent = act(waiting, Due(), now=VISIT.starts_at - DAY)
    assert sent.queued is not None and sent.queued.step == "reminder"


def test_a_moment_already_past_skips_the_next_message_as_too_late() -> None:
    tonight = Visit(9, NOW + timedelta(hours=5), NOW + timedelta(hours=6))
    after = act(state(), Booked("lead", tonight), path_starts=1).state
    decision = act(
        after,
        SendAccepted(position("confirmed", path="confirmation", lap=2), 40, "att", "finish"),
        visit=tonight,
    )
    assert ("skipped", "too_late") in [(e.type, e.cause) for e in decision.events]
    assert (decision.state.step, decision.state.next_run_at) == ("morning", NOW + timedelta(hours=3))


def test_a_machine_that_was_down_still_reminds() -> None:
    late = act(booked(), Due(), now=VISIT.starts_at - timedelta(hours=20))
    assert late.queued is not None and late.queued.step == "reminder"


def test_another_time_starts_the_confirmation_again() -> None:
    later = Visit(9, VISIT.starts_at + DAY, VISIT.ends_at + DAY)
    after = act(booked(), Rescheduled("lead", later)).state
    assert (after.path, after.step, after.lap, after.automation) == ("confirmation", "confirmed", 3, A.ACTIVE)
    assert after.return_path == "nurture"


def test_a_cancelled_visit_goes_to_a_person_and_returns_to_nurture() -> None:
    decision = act(booked(), Cancelled("lead"))
    after = decision.state
    assert (after.stage, after.automation, after.pause_reason) == (Stage.ENGAGED, A.PAUSED, "cancelled")
    assert effects(decision, OpenHandoff) == [OpenHandoff("cancelled")]
    assert (after.path, after.step) == ("nurture", "wait_1")
    resumed = act(after, AdviserResumed("user:1"), handoff_open=True).state
    assert (resumed.stage, resumed.path, resumed.step, resumed.lap) == (
        Stage.NURTURING,
        "nurture",
        "wait_1",
        1,
    )


def test_each_confirmation_has_its_own_lap_also_after_a_cancelled_one() -> None:
    cancelled = act(booked(), Cancelled("lead")).state
    assert act(cancelled, Booked("lead", VISIT), path_starts=2).state.lap == 3


@pytest.mark.parametrize(
    ("stimulus", "stage", "path"),
    [(Attended("user:1"), Stage.ATTENDED, "post_visit"), (NoShow("user:1"), Stage.NO_SHOW, "rebook")],
)
def test_whoever_came_is_thanked_and_whoever_did_not_is_asked_again(
    stimulus: Stimulus, stage: Stage, path: str
) -> None:
    after = act(booked(), stimulus, now=VISIT.ends_at).state
    assert (after.stage, after.automation, after.path, after.lap) == (stage, A.ACTIVE, path, 3)
    corrected = act(after, AttendanceCorrected("user:1"), now=VISIT.ends_at + DAY, path_starts=3)
    other = Stage.NO_SHOW if stage is Stage.ATTENDED else Stage.ATTENDED
    assert (corrected.state.stage, corrected.state.lap) == (other, 4)
    assert corrected.events[0].type == str(other) and corrected.events[0].data["corrected"] is True


def test_behind_the_visit_somebody_is_asked_and_nobody_is_a_no_show_by_itself() -> None:
    early = act(booked(step=None, wait_from=None), Due(), now=VISIT.starts_at).state
    assert (early.automation, early.next_run_at) == (A.ACTIVE, VISIT.ends_at + timedelta(minutes=30))
    asked = act(booked(step=None, wait_from=None), Due(), now=VISIT.ends_at + timedelta(minutes=30))
    assert [t.kind for t in effects(asked, OpenTask)] == ["mark_visit"]
    patience = asked.state.next_run_at
    assert patience is not None and patience - VISIT.ends_at >= 3 * DAY
    again = act(asked.state, Due(), now=patience - timedelta(minutes=1))
    assert not effects(again, OpenTask) and again.state.automation is A.ACTIVE
    held = act(asked.state, Due(), now=patience).state
    assert (held.stage, held.automation, held.hold_ref) == (Stage.BOOKED, A.HELD, "visit")


def test_the_timer_behind_the_last_reminder_is_half_an_hour_after_the_slot() -> None:
    last = booked(step="see_you")
    decision = act(
        last,
        SendAccepted(position("see_you", path="confirmation", lap=2), 42, "att", "finish"),
        now=VISIT.starts_at - timedelta(hours=2),
    )
    assert decision.state.next_run_at == VISIT.ends_at + timedelta(minutes=30)
    assert (decision.state.step, decision.state.wait_from) == (None, None)


def test_a_reminder_that_falls_due_while_a_person_has_the_lead_becomes_their_task() -> None:
    paused = act(booked(), HumanSignal("signal:1"))
    assert (paused.state.stage, paused.state.automation) == (Stage.BOOKED, A.PAUSED)
    due = paused.state.next_run_at
    assert due == VISIT.starts_at - DAY
    decision = act(paused.state, Due(), now=VISIT.starts_at - DAY, handoff_open=True)
    assert [t.kind for t in effects(decision, OpenTask)] == ["visit_reminder"]
    assert decision.queued is None and decision.state.automation is A.PAUSED
    assert (decision.state.step, decision.state.next_run_at) == (
        "morning",
        VISIT.starts_at - timedelta(hours=2),
    )


def test_a_word_that_may_mean_stop_leaves_the_visit_standing() -> None:
    after = act(booked(), DoubtfulOptOut("signal:1", "cancel")).state
    assert (after.stage, after.automation) == (Stage.BOOKED, A.PAUSED)


def test_a_stop_leaves_the_booking_and_tells_its_host() -> None:
    decision = act(booked(), OptedOut("signal:1", "all", "stop_word"))
    assert (decision.state.stage, decision.state.booking_id) == (Stage.OPTED_OUT, VISIT.id)
    assert [t.subject for t in effects(decision, OpenTask)] == ["confirmation:2:opted_out"]


def test_the_own_booking_of_a_lead_with_a_person_is_confirmed_before_it_pauses() -> None:
    after = act(engaged(), Booked("lead", VISIT), handoff_open=True, answered=False)
    assert not effects(after, CloseHandoff)
    assert (after.state.automation, after.state.pause_reason) == (A.ACTIVE, "after_confirmation")
    sent = act(after.state, Due())
    assert sent.queued is not None
    told = act(
        sent.state, SendAccepted(position("confirmed", path="confirmation", lap=3), 40, "att", "finish")
    ).state
    assert (told.stage, told.automation, told.pause_reason) == (Stage.BOOKED, A.PAUSED, "handoff_open")


def test_an_answered_handoff_closes_with_the_booking() -> None:
    after = act(engaged(), Booked("lead", VISIT), handoff_open=True, answered=True)
    assert effects(after, CloseHandoff) == [CloseHandoff(Outcome.BOOKED)]
    assert (after.state.automation, after.state.pause_reason) == (A.ACTIVE, None)


def test_who_came_while_a_person_has_them_is_not_written_to_by_the_machine() -> None:
    paused = act(booked(), HumanSignal("signal:1")).state
    after = act(paused, Attended("user:1"), now=VISIT.ends_at, handoff_open=True).state
    assert (after.stage, after.automation, after.path) == (Stage.ATTENDED, A.PAUSED, "post_visit")


def test_a_confirmation_that_did_not_arrive_becomes_a_task_unless_it_is_tried_again() -> None:
    failed = FailedLater(40, "confirmed", "63024", path="confirmation")
    assert [t.kind for t in effects(act(booked(), failed), OpenTask)] == ["visit_reminder"]
    assert not effects(act(booked(), replace(failed, again=True)), OpenTask)
    assert not effects(act(booked(), replace(failed, path="nurture")), OpenTask)


def test_a_held_visit_remembers_what_happened_and_stays_held() -> None:
    held = booked(automation=A.HELD, held_from=A.ACTIVE, hold_ref="operator", next_run_at=None)
    after = act(held, Attended("user:1"), now=VISIT.ends_at).state
    assert (after.stage, after.automation, after.held_from, after.path) == (
        Stage.ATTENDED,
        A.HELD,
        A.ACTIVE,
        "post_visit",
    )
