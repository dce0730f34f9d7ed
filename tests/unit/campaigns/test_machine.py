"""The transition table through `decide`: what happens to a journey without a visit. Visits: `test_visits`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.domain.decide import decide, decide_enrolment
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.enrolment import (
    CloseHandoff,
    CoolDown,
    Decision,
    Effect,
    EnrolmentState,
    OpenHandoff,
    OpenReview,
    QueueSend,
    SupersedeSends,
    SuppressChannel,
)
from app.campaigns.domain.machine import TABLE, find_row
from app.campaigns.domain.stimuli import (
    AdviserResumed,
    AttendanceCorrected,
    AutoReplied,
    ChannelLost,
    Closed,
    Complained,
    DoubtfulOptOut,
    Due,
    FailedLater,
    HumanSignal,
    Inconclusive,
    Merged,
    Operator,
    OptedOut,
    ResumeDue,
    ReviewResolved,
    SendAccepted,
    SendDeferred,
    SendSkipped,
    Stimulus,
)
from app.campaigns.domain.vocabulary import LIVE, TERMINAL, Automation, Outcome, Stage, Stim
from app.kernel.errors import CommandRefused
from tests.factories.states import (
    NOW,
    VERSION,
    engaged,
    enrolled,
    facts,
    held,
    key,
    nurture,
    position,
    state,
)

DAY = timedelta(days=1)
PERSUADING = (Stage.NURTURING, Stage.ATTENDED, Stage.NO_SHOW)
A = Automation


def act(
    before: EnrolmentState,
    stimulus: Stimulus,
    *,
    version: CompiledVersion = VERSION,
    now: Any = NOW + DAY,
    **known: Any,
) -> Decision:
    """Let a stimulus act a day after the journey began."""
    return decide(before, version, stimulus, facts(**known), now)


def types(decision: Decision) -> list[str]:
    """Return the events' types in order."""
    return [event.type for event in decision.events]


def effects(decision: Decision, kind: type[Effect]) -> list[Any]:
    """Return the effects of one kind."""
    return [effect for effect in decision.effects if isinstance(effect, kind)]


# --- enrol, and position only -------------------------------------------------------------------------------


def test_enrol_begins_nurture_at_its_first_step_in_lap_1_due_at_once() -> None:
    decision = decide_enrolment(
        version=VERSION, sender_id=2, generation=1, facts=facts(), actor="import:1", now=NOW
    )
    began = decision.state
    assert (began.stage, began.automation) == (Stage.NURTURING, A.ACTIVE)
    assert (began.path, began.step, began.lap, began.next_run_at) == ("nurture", "hello", 1, NOW)
    assert types(decision) == ["enrolled", "path_entered"]


def test_due_queues_the_message_and_stays_on_its_step() -> None:
    decision = act(enrolled(), Due())
    assert decision.queued == QueueSend("nurture", "hello", 1, "hello", "whatsapp")
    assert (decision.state.step, decision.state.next_run_at) == ("hello", None)


@pytest.mark.parametrize("automation", [A.PAUSED, A.HELD])
def test_due_does_nothing_while_the_machine_may_not_act(automation: Automation) -> None:
    before = state(automation=automation, step="hello")
    decision = act(before, Due())
    assert (decision.state, decision.effects) == (before, ())


def test_an_accepted_send_moves_on_to_the_wait_which_counts_from_now() -> None:
    decision = act(enrolled(), SendAccepted(position(), 31, "att_1", "finish"))
    after = decision.state
    assert (after.step, after.wait_from, after.next_run_at) == ("wait_1", NOW + DAY, NOW + 3 * DAY)
    assert after.last_sent_at == NOW + DAY
    assert types(decision) == ["send_accepted"]


def test_an_accepted_send_of_another_position_is_recorded_and_moves_nothing() -> None:
    before = state(step="wait_2")
    decision = act(before, SendAccepted(position("hello"), 31, "att_1", "callback"))
    assert (decision.state.step, decision.state.next_run_at) == ("wait_2", before.next_run_at)
    assert types(decision) == ["send_accepted"]


@pytest.mark.parametrize("lap_or_generation", [{"lap": 2}, {"generation": 2}])
def test_another_lap_or_generation_is_another_position(lap_or_generation: dict[str, int]) -> None:
    before = state(step="hello", next_run_at=None, **lap_or_generation)
    assert act(before, SendAccepted(position("hello"), 31, "att_1", "finish")).state.step == "hello"


def test_a_skipped_send_is_recorded_with_its_reason_and_the_flow_goes_on() -> None:
    decision = act(enrolled(), SendSkipped(position(), 31, "no_consent"))
    assert decision.state.step == "wait_1"
    assert (decision.events[0].type, decision.events[0].cause) == ("skipped", "no_consent")


def test_a_deferred_send_stays_on_its_step_until_the_stated_time() -> None:
    until = NOW + 2 * DAY
    decision = act(enrolled(), SendDeferred(position(), 31, "quiet_hours", until))
    assert (decision.state.step, decision.state.next_run_at) == ("hello", until)
    assert types(decision) == ["deferred"]


def test_a_deferred_send_sets_no_timer_while_paused() -> None:
    before = engaged(step="hello")
    assert act(before, SendDeferred(position(), 31, "quiet_hours", NOW + 2 * DAY)).state.next_run_at is None


def test_a_send_that_is_already_there_is_met_and_not_made_again() -> None:
    for status in ("accepted", "sent", "delivered", "read", "failed", "undelivered", "skipped"):
        decision = act(enrolled(), Due(), sends={key("hello"): (31, status)})
        assert (decision.state.step, decision.queued) == ("wait_1", None), status
    for status in ("sending", "unknown"):
        decision = act(enrolled(), Due(), sends={key("hello"): (31, status)})
        assert (decision.state.step, decision.queued) == ("hello", None), status
    for status in ("waiting", "queued", "superseded"):
        assert act(enrolled(), Due(), sends={key("hello"): (31, status)}).queued is not None, status
    asked = act(enrolled(), Due(), sends={key("hello"): (31, "needs_review")})
    assert (asked.state.automation, asked.state.hold_ref) == (A.HELD, "send:31")


def test_only_the_planner_queues_a_message_that_follows_another_one_at_once() -> None:
    version = nurture(
        {"key": "one", "kind": "message", "template": "a"},
        {"key": "two", "kind": "message", "template": "b"},
    )
    accepted = decide(
        enrolled(version), version, SendAccepted(position("one"), 31, "att_1", "finish"), facts(), NOW
    )
    assert (accepted.state.step, accepted.state.next_run_at, accepted.effects) == ("two", NOW, ())
    due = decide(accepted.state, version, Due(), facts(), NOW)
    assert due.queued is not None and due.queued.step == "two"


def test_a_switched_off_step_keeps_its_place_and_is_skipped_with_its_reason() -> None:
    version = nurture(
        {"key": "off", "kind": "message", "template": "a", "optional": True, "enabled": False},
        {"key": "on", "kind": "message", "template": "b"},
    )
    decision = decide(enrolled(version), version, Due(), facts(), NOW)
    assert decision.queued is not None and decision.queued.step == "on"
    assert (decision.events[0].type, decision.events[0].cause) == ("skipped", "step_off")


def test_at_most_25_steps_run_inline_and_the_rest_is_due_at_once() -> None:
    steps = [
        {"key": f"s{n}", "kind": "message", "template": "a", "optional": True, "enabled": False}
        for n in range(40)
    ]
    version = nurture(*steps)
    decision = decide(enrolled(version), version, Due(), facts(), NOW)
    assert (decision.state.step, decision.state.next_run_at) == ("s25", NOW)


# --- a person did something ------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", PERSUADING)
def test_a_human_signal_pauses_opens_a_handoff_and_keeps_the_return_position(stage: Stage) -> None:
    decision = act(state(stage=stage), HumanSignal("signal:9"))
    after = decision.state
    assert (after.stage, after.automation, after.next_run_at) == (Stage.ENGAGED, A.PAUSED, None)
    assert (after.return_stage, after.return_path, after.return_step, after.return_lap) == (
        stage,
        "nurture",
        "wait_1",
        1,
    )
    assert effects(decision, OpenHandoff) == [OpenHandoff("replied")]
    assert types(decision) == ["replied", "paused"]
    assert after.last_inbound_at == NOW + DAY


def test_a_human_signal_while_engaged_lets_the_open_handoffs_clock_run_and_keeps_the_return_position() -> (
    None
):
    decision = act(engaged(), HumanSignal("signal:10"))
    assert (decision.state.stage, decision.state.automation) == (Stage.ENGAGED, A.PAUSED)
    assert decision.state.return_step == "wait_1"
    assert effects(decision, OpenHandoff) == [OpenHandoff("replied")]
    assert "paused" not in types(decision)


def test_a_human_signal_at_a_booked_visit_pauses_and_opens_a_handoff_without_leaving_the_stage() -> None:
    decision = act(state(stage=Stage.BOOKED), HumanSignal("signal:9"))
    assert (decision.state.stage, decision.state.automation) == (Stage.BOOKED, A.PAUSED)
    assert effects(decision, OpenHandoff)


def test_a_note_and_an_advisers_own_words_pause_and_open_nothing() -> None:
    note = HumanSignal("user:1", type="noted", opens_handoff=False, inbound=False)
    decision = act(state(), note, last_send_id=31)
    assert (decision.state.stage, decision.state.automation) == (Stage.ENGAGED, A.PAUSED)
    assert (effects(decision, OpenHandoff), decision.state.last_inbound_at) == ([], None)
    assert decision.state.first_reply_send_id is None


def test_the_first_reply_is_credited_to_the_last_send_before_it_once_and_for_all() -> None:
    first = act(state(), HumanSignal("signal:9"), last_send_id=31).state
    assert first.first_reply_send_id == 31
    assert act(first, HumanSignal("signal:10"), last_send_id=44).state.first_reply_send_id == 31


def test_a_human_signal_under_a_hold_changes_what_the_hold_falls_back_to_and_nothing_weaker() -> None:
    decision = act(held(), HumanSignal("signal:9"))
    after = decision.state
    assert (after.stage, after.automation, after.held_from) == (Stage.ENGAGED, A.HELD, A.PAUSED)
    assert after.hold_ref == "send:31"


def test_a_doubtful_word_pauses_and_the_handoff_says_so() -> None:
    decision = act(state(), DoubtfulOptOut("signal:9", "cancel"), last_send_id=31)
    assert (decision.state.stage, decision.state.automation) == (Stage.ENGAGED, A.PAUSED)
    assert effects(decision, OpenHandoff) == [OpenHandoff("replied", flag="may_want_to_stop")]
    assert decision.state.pause_reason == "may_want_to_stop"
    assert decision.state.first_reply_send_id == 31
    assert decision.state.return_step == "wait_1"


# --- back to the machine ---------------------------------------------------------------------------------


def test_resuming_restores_stage_path_step_and_lap_together() -> None:
    before = engaged(return_stage=Stage.NO_SHOW, return_path="rebook", return_step="rebook_1", return_lap=2)
    decision = act(before, AdviserResumed("user:1"), handoff_open=True)
    after = decision.state
    assert (after.stage, after.automation) == (Stage.NO_SHOW, A.ACTIVE)
    assert (after.path, after.step, after.lap) == ("rebook", "rebook_1", 2)
    assert (after.return_stage, after.return_path, after.return_step, after.return_lap) == (None,) * 4
    assert effects(decision, CloseHandoff) == [CloseHandoff(Outcome.RESUMED)]
    assert "resumed" in types(decision)


@pytest.mark.parametrize(("later", "due"), [(DAY, NOW + 2 * DAY), (9 * DAY, NOW + 9 * DAY)])
def test_a_wait_after_resuming_counts_from_the_later_of_now_and_last_send_plus_wait(
    later: timedelta, due: Any
) -> None:
    assert act(engaged(), AdviserResumed("user:1"), now=NOW + later).state.next_run_at == due


def test_resuming_at_a_message_makes_it_due_at_once() -> None:
    before = engaged(step="nudge", return_step="nudge")
    assert act(before, AdviserResumed("user:1")).state.next_run_at == NOW + DAY


def test_a_booked_visit_resumes_where_it_stands() -> None:
    before = state(stage=Stage.BOOKED, automation=A.PAUSED, next_run_at=None)
    decision = act(before, AdviserResumed("user:1"), handoff_open=True)
    assert (decision.state.stage, decision.state.automation) == (Stage.BOOKED, A.ACTIVE)


@pytest.mark.parametrize("stage", sorted(LIVE))
def test_a_pause_with_an_open_handoff_is_handed_back_at_every_live_stage(stage: Stage) -> None:
    before = state(stage=stage, automation=A.PAUSED, next_run_at=None)
    decision = act(before, AdviserResumed("user:1"), handoff_open=True)
    assert (decision.state.stage, decision.state.automation) == (stage, A.ACTIVE)
    assert effects(decision, CloseHandoff)


def test_an_accepted_send_advances_while_paused_timer_off_and_takes_the_return_position_along() -> None:
    before = engaged(step="hello", return_step="hello")
    decision = act(before, SendAccepted(position(), 31, "att_1", "callback"))
    after = decision.state
    assert (after.stage, after.automation, after.next_run_at) == (Stage.ENGAGED, A.PAUSED, None)
    assert (after.step, after.return_step) == ("wait_1", "wait_1")


def test_a_return_position_elsewhere_stays_when_another_path_advances() -> None:
    before = engaged(path="rebook", step="rebook_1", return_step="wait_1")
    after = act(before, SendAccepted(position("rebook_1", path="rebook"), 31, "att_1", "finish")).state
    assert (after.step, after.return_step) == ("rebook_end", "wait_1")


# --- ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", sorted(LIVE))
@pytest.mark.parametrize("outcome", [Outcome.WON, Outcome.LOST, Outcome.NOT_NOW])
def test_closing_ends_the_journey_with_a_cool_down_by_reason(stage: Stage, outcome: Outcome) -> None:
    until = NOW + 40 * DAY if outcome is Outcome.NOT_NOW else None
    decision = act(state(stage=stage), Closed("user:1", outcome, until))
    assert (decision.state.stage, decision.state.automation) == (Stage.CLOSED, A.COMPLETED)
    assert decision.state.exit_reason == outcome
    assert effects(decision, CoolDown) == [CoolDown(str(outcome), until)]
    assert effects(decision, CloseHandoff) == [CloseHandoff(outcome, until)]
    assert effects(decision, SupersedeSends)
    assert decision.state.next_run_at is None


@pytest.mark.parametrize(
    ("stage", "path", "step", "ends", "reason"),
    [
        (Stage.NURTURING, "nurture", "last", Stage.EXHAUSTED, "breakup"),
        (Stage.NO_SHOW, "rebook", "rebook_1", Stage.EXHAUSTED, "breakup"),
        (Stage.ATTENDED, "post_visit", "thanks", Stage.CLOSED, "completed"),
    ],
)
def test_the_end_of_a_path_ends_the_journey_with_its_cool_down(
    stage: Stage, path: str, step: str, ends: Stage, reason: str
) -> None:
    before = state(stage=stage, path=path, step=step, next_run_at=None)
    decision = act(before, SendAccepted(position(step, path=path), 31, "att_1", "finish"))
    assert (decision.state.stage, decision.state.automation) == (ends, A.COMPLETED)
    assert effects(decision, CoolDown) == [CoolDown(reason)]
    assert types(decision) == ["send_accepted", str(ends)]


def test_a_path_that_ends_where_the_table_has_no_end_is_held_and_not_guessed() -> None:
    before = state(stage=Stage.ENGAGED, step=None, next_run_at=NOW)
    decision = act(before, Due())
    assert (decision.state.automation, decision.state.hold_ref) == (A.HELD, "path_end")
    assert effects(decision, OpenReview)


@pytest.mark.parametrize("stage", sorted(LIVE))
def test_an_opt_out_ends_every_live_journey_and_closes_what_was_asked(stage: Stage) -> None:
    decision = act(state(stage=stage), OptedOut("signal:9", "all", "stop_word"))
    assert (decision.state.stage, decision.state.automation) == (Stage.OPTED_OUT, A.COMPLETED)
    assert effects(decision, SuppressChannel) == [SuppressChannel("all", "stop_word")]
    assert effects(decision, CloseHandoff) == [CloseHandoff(Outcome.OPTED_OUT)]
    assert effects(decision, CoolDown) == []


def test_a_block_at_the_provider_closes_that_channel_alone() -> None:
    decision = act(held(), OptedOut("21610", "whatsapp", "provider_block"))
    assert decision.state.stage is Stage.OPTED_OUT
    assert effects(decision, SuppressChannel) == [SuppressChannel("whatsapp", "provider_block")]
    assert (decision.state.held_from, decision.state.hold_ref) == (None, None)


def test_a_complaint_exits_and_closes_everything() -> None:
    decision = act(engaged(), Complained("signal:9"))
    assert (decision.state.stage, decision.state.automation) == (Stage.EXITED, A.COMPLETED)
    assert effects(decision, SuppressChannel) == [SuppressChannel("all", "complaint")]


def test_a_lost_channel_leaves_the_journey_to_the_other_one() -> None:
    before = state()
    decision = act(before, ChannelLost("63024", "whatsapp", "unreachable", ("sms",)))
    assert (decision.state.stage, decision.state.automation) == (before.stage, A.ACTIVE)
    assert decision.state.next_run_at == before.next_run_at
    assert effects(decision, SuppressChannel) == [SuppressChannel("whatsapp", "unreachable")]


def test_the_last_lost_channel_ends_the_journey() -> None:
    decision = act(state(), ChannelLost("63024", "whatsapp", "unreachable", ()))
    assert (decision.state.stage, decision.state.exit_reason) == (Stage.EXITED, "no_usable_channel")
    assert effects(decision, CloseHandoff) == [CloseHandoff(Outcome.NO_ACTION)]


@pytest.mark.parametrize(
    ("stimulus", "channel"),
    [
        (OptedOut("21610", "whatsapp", "provider_block"), "whatsapp"),
        (ChannelLost("63024", "whatsapp", "unreachable", ()), "whatsapp"),
        (Complained("signal:9"), "all"),
    ],
)
def test_a_closed_channel_is_suppressed_even_when_the_journey_is_over(
    stimulus: Stimulus, channel: str
) -> None:
    over = state(stage=Stage.EXHAUSTED, automation=A.COMPLETED, next_run_at=None)
    decision = act(over, stimulus)
    assert decision.state == over
    assert [e.channel for e in effects(decision, SuppressChannel)] == [channel]


def test_a_merge_exits_the_other_journey() -> None:
    decision = act(state(), Merged("user:1", 8))
    assert (decision.state.stage, decision.state.exit_reason) == (Stage.EXITED, "merged")
    assert effects(decision, CloseHandoff) == [CloseHandoff(Outcome.MERGED)]


# --- out of office ---------------------------------------------------------------------------------------

AWAY = AutoReplied("signal:9", NOW + 8 * DAY)


def test_an_auto_reply_pauses_until_the_stated_date_without_a_handoff() -> None:
    decision = act(state(), AWAY)
    after = decision.state
    assert (after.stage, after.automation, after.pause_reason) == (Stage.NURTURING, A.PAUSED, "auto_reply")
    assert (after.resume_at, after.next_run_at) == (NOW + 8 * DAY, None)
    assert effects(decision, OpenHandoff) == []


@pytest.mark.parametrize("automation", [A.PAUSED, A.HELD])
def test_an_auto_reply_means_nothing_where_the_machine_does_not_act(automation: Automation) -> None:
    decision = act(state(automation=automation), AWAY)
    assert (decision.state.automation, decision.state.resume_at) == (automation, None)
    assert types(decision) == ["ignored"]


def test_the_stated_date_wakes_the_journey() -> None:
    decision = act(act(state(), AWAY).state, ResumeDue(), now=NOW + 8 * DAY)
    after = decision.state
    assert (after.automation, after.resume_at, after.next_run_at) == (A.ACTIVE, None, NOW + 8 * DAY)
    assert types(decision) == ["resumed"]


def test_a_journey_that_a_person_has_taken_over_does_not_wake_and_is_not_asked_again() -> None:
    decision = act(act(state(), AWAY).state, ResumeDue(), now=NOW + 8 * DAY, handoff_open=True)
    assert (decision.state.automation, decision.state.resume_at) == (A.PAUSED, None)


@pytest.mark.parametrize(
    "stimulus",
    [
        HumanSignal("signal:10"),
        Operator(Stim.OPERATOR_PAUSED, "user:1", "holiday"),
        Operator(Stim.OPERATOR_HELD, "user:1", "look"),
        Inconclusive("send:31", "?"),
    ],
)
def test_a_human_signal_a_pause_or_a_hold_clears_the_date(stimulus: Stimulus) -> None:
    decision = act(act(state(), AWAY).state, stimulus)
    assert decision.state.resume_at is None
    assert {"paused", "held"} & set(types(decision))
    assert act(decision.state, ResumeDue(), now=NOW + 8 * DAY).state.automation is not A.ACTIVE


# --- failures after acceptance, and questions -----------------------------------------------------------


@pytest.mark.parametrize("before", [state(), engaged(), held()])
def test_a_failure_after_acceptance_is_recorded_and_moves_nothing(before: EnrolmentState) -> None:
    decision = act(before, FailedLater(31, "hello", "63049"))
    assert (decision.state, decision.effects) == (before, ())
    assert (decision.events[0].type, decision.events[0].data["later"]) == ("failed", True)


@pytest.mark.parametrize("before", [state(), engaged()])
def test_an_inconclusive_outcome_holds_and_asks_a_person(before: EnrolmentState) -> None:
    decision = act(before, Inconclusive("send:31", "Was it sent?"))
    after = decision.state
    assert (after.automation, after.held_from, after.hold_ref) == (A.HELD, before.automation, "send:31")
    assert (after.stage, after.next_run_at) == (before.stage, None)
    assert effects(decision, OpenReview) == [OpenReview("send:31", "Was it sent?")]


def test_a_hold_that_stands_keeps_its_own_reference() -> None:
    decision = act(held(hold_ref="operator"), Inconclusive("send:31", "Was it sent?"))
    assert decision.state.hold_ref == "operator"
    assert effects(decision, OpenReview)


def test_a_hold_is_lifted_by_its_sends_outcome() -> None:
    decision = act(held(), SendAccepted(position(), 31, "att_1", "look_up"))
    after = decision.state
    assert (after.automation, after.held_from, after.hold_ref) == (A.ACTIVE, None, None)
    assert (after.step, after.next_run_at) == ("wait_1", NOW + 3 * DAY)
    assert types(decision) == ["send_accepted", "released", "resumed"]


def test_a_hold_of_something_else_is_not_lifted_by_a_sends_outcome() -> None:
    decision = act(held(hold_ref="operator"), SendAccepted(position(), 31, "att_1", "look_up"))
    assert (decision.state.automation, decision.state.step) == (A.HELD, "wait_1")
    assert decision.state.next_run_at is None


def test_a_hold_that_falls_back_to_a_pause_stays_quiet() -> None:
    decision = act(held(held_from=A.PAUSED), SendAccepted(position(), 31, "att_1", "look_up"))
    assert (decision.state.automation, decision.state.next_run_at) == (A.PAUSED, None)


def test_an_open_handoff_makes_the_lifted_hold_a_pause() -> None:
    decision = act(held(), SendAccepted(position(), 31, "att_1", "look_up"), handoff_open=True)
    assert (decision.state.automation, decision.state.next_run_at) == (A.PAUSED, None)
    assert "resumed" not in types(decision)


@pytest.mark.parametrize(
    ("verdict", "step", "due"), [("again", "hello", NOW + DAY), ("skip", "wait_1", NOW + 3 * DAY)]
)
def test_a_resolved_review_goes_on_from_where_the_hold_found_it(verdict: str, step: str, due: Any) -> None:
    decision = act(held(), ReviewResolved("user:1", verdict, position(), 31, "send:31"))
    after = decision.state
    assert (after.automation, after.step, after.next_run_at) == (A.ACTIVE, step, due)
    assert "task_done" in types(decision)


def test_sent_comes_through_the_door_of_acceptance() -> None:
    accepted = act(held(), SendAccepted(position(), 31, "att_1", "reviewer")).state
    assert (accepted.automation, accepted.step) == (A.ACTIVE, "wait_1")
    with pytest.raises(CommandRefused):
        act(accepted, ReviewResolved("user:1", "sent", position(), 31, "send:31"))


def test_a_resolved_review_lifts_only_the_hold_it_is_about() -> None:
    decision = act(held(hold_ref="operator"), ReviewResolved("user:1", "skip", position(), 31, "send:31"))
    assert (decision.state.automation, decision.state.hold_ref) == (A.HELD, "operator")
    assert (decision.state.step, decision.state.next_run_at) == ("wait_1", None)


def test_a_position_this_version_does_not_have_is_held_and_not_guessed() -> None:
    decision = act(state(step="gone", next_run_at=NOW), Due())
    assert (decision.state.automation, decision.state.hold_ref) == (A.HELD, "position:nurture/gone")
    assert effects(decision, OpenReview)


# --- operators -------------------------------------------------------------------------------------------


def command(stim: Stim) -> Operator:
    """Return an operator's command."""
    return Operator(stim, "user:1", "because")


@pytest.mark.parametrize("stage", sorted(LIVE))
def test_an_operator_pauses_and_resumes_at_every_live_stage(stage: Stage) -> None:
    paused = act(state(stage=stage), command(Stim.OPERATOR_PAUSED))
    kept = (
        NOW + 2 * DAY if stage is Stage.BOOKED else None
    )  # a reminder that falls due meanwhile becomes a task
    assert (paused.state.stage, paused.state.automation, paused.state.next_run_at) == (stage, A.PAUSED, kept)
    assert paused.events[0].data["reason"] == "because"
    resumed = act(paused.state, command(Stim.OPERATOR_RESUMED))
    assert (resumed.state.automation, resumed.state.next_run_at) == (A.ACTIVE, NOW + 2 * DAY)
    assert types(resumed) == ["resumed"]


@pytest.mark.parametrize("before", [state(), engaged()])
def test_an_operator_holds_and_releases_to_what_it_was(before: EnrolmentState) -> None:
    standing = act(before, command(Stim.OPERATOR_HELD)).state
    assert (standing.automation, standing.held_from, standing.hold_ref) == (
        A.HELD,
        before.automation,
        "operator",
    )
    released = act(standing, command(Stim.OPERATOR_RELEASED)).state
    assert (released.automation, released.held_from, released.hold_ref) == (before.automation, None, None)
    assert released.next_run_at == before.next_run_at


def test_a_release_under_an_open_handoff_gives_a_pause() -> None:
    standing = act(state(), command(Stim.OPERATOR_HELD)).state
    released = act(standing, command(Stim.OPERATOR_RELEASED), handoff_open=True)
    assert (released.state.automation, released.state.next_run_at) == (A.PAUSED, None)
    assert "resumed" not in types(released)


PAUSED = state(automation=A.PAUSED, next_run_at=None)


@pytest.mark.parametrize(
    ("before", "stimulus"),
    [
        (PAUSED, command(Stim.OPERATOR_PAUSED)),
        (held(), command(Stim.OPERATOR_PAUSED)),
        (state(), command(Stim.OPERATOR_RESUMED)),
        (held(), command(Stim.OPERATOR_RESUMED)),
        (held(), command(Stim.OPERATOR_HELD)),
        (state(), command(Stim.OPERATOR_RELEASED)),
        (engaged(), command(Stim.OPERATOR_RELEASED)),
        (state(), AdviserResumed("user:1")),
        (PAUSED, AdviserResumed("user:1")),
        (engaged(automation=A.HELD, held_from=A.PAUSED), AdviserResumed("user:1")),
        (state(), ReviewResolved("user:1", "skip", position(), 31)),
        (state(), AttendanceCorrected("user:1")),
    ],
)
def test_a_command_without_a_row_is_refused_in_words(before: EnrolmentState, stimulus: Stimulus) -> None:
    with pytest.raises(CommandRefused) as refusal:
        act(before, stimulus)
    assert str(refusal.value)


def test_an_operator_does_not_start_the_machine_over_the_head_of_whoever_has_the_lead() -> None:
    with pytest.raises(CommandRefused):
        act(engaged(), command(Stim.OPERATOR_RESUMED), handoff_open=True)


COMMANDS: list[Stimulus] = [
    *(
        command(s)
        for s in (Stim.OPERATOR_PAUSED, Stim.OPERATOR_RESUMED, Stim.OPERATOR_HELD, Stim.OPERATOR_RELEASED)
    ),
    AdviserResumed("user:1"),
    Closed("user:1", Outcome.WON),
    ReviewResolved("user:1", "skip", position(), 31),
]


@pytest.mark.parametrize("stage", sorted(TERMINAL))
def test_terminal_is_terminal_commands_are_refused_and_facts_are_ignored(stage: Stage) -> None:
    over = state(stage=stage, automation=A.COMPLETED, next_run_at=None)
    for each in COMMANDS:
        with pytest.raises(CommandRefused):
            act(over, each)
    facts_: list[Stimulus] = [
        Due(),
        AWAY,
        ResumeDue(),
        FailedLater(31, "hello", "1"),
    ]
    for fact in facts_:
        decision = act(over, fact)
        assert (decision.state, decision.effects, types(decision)) == (over, (), ["ignored"])


def test_a_message_of_which_nobody_can_tell_is_asked_about_after_the_end_too() -> None:
    over = state(stage=Stage.EXHAUSTED, automation=A.COMPLETED, next_run_at=None)
    decision = act(over, Inconclusive("send:31", "Was it sent?"))
    assert (decision.state, decision.effects) == (over, (OpenReview("send:31", "Was it sent?"),))


def test_a_reply_after_the_end_is_ignored_by_the_journey_but_still_credited() -> None:
    over = state(stage=Stage.EXHAUSTED, automation=A.COMPLETED, next_run_at=None)
    decision = act(over, HumanSignal("signal:9"), last_send_id=31)
    assert (decision.state.stage, decision.state.first_reply_send_id) == (Stage.EXHAUSTED, 31)
    assert types(decision) == ["ignored"] and decision.effects == ()


def test_a_late_acceptance_after_the_end_is_recorded() -> None:
    over = state(stage=Stage.OPTED_OUT, automation=A.COMPLETED, next_run_at=None)
    decision = act(over, SendAccepted(position(), 31, "att_1", "callback"))
    assert (decision.state.stage, types(decision)) == (Stage.OPTED_OUT, ["send_accepted"])
    assert decision.state.last_sent_at == NOW + DAY


# --- the table itself ------------------------------------------------------------------------------------


def test_the_table_is_unambiguous_each_state_has_one_row_for_a_stimulus() -> None:
    for stage in LIVE:
        for automation in (A.ACTIVE, A.PAUSED, A.HELD):
            for stim in Stim:
                fitting = [
                    row.id
                    for row in TABLE
                    if row.stim is stim
                    and stage in row.stages
                    and (row.only is None or automation in row.only)
                ]
                assert len(fitting) <= 1, (stage, automation, stim, fitting)


def test_no_row_leaves_a_terminal_stage() -> None:
    assert all(row.stages <= LIVE for row in TABLE)
    assert all(
        find_row(stage=stage, automation=A.COMPLETED, stim=stim) is None
        for stage in TERMINAL
        for stim in Stim
    )
