"""The kinds of step: branches, signals waited for, tasks, working days, windows, and the order of channels."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from app.campaigns.domain.compiling import compile_definition
from app.campaigns.domain.decide import decide
from app.campaigns.domain.definition import CompiledVersion, Need, SendWindow, WaitStep
from app.campaigns.domain.enrolment import Decision, EnrolmentState, OpenTask
from app.campaigns.domain.schedule import wait_due, window_opens
from app.campaigns.domain.stimuli import (
    AdviserResumed,
    Due,
    HumanSignal,
    Seen,
    SendAccepted,
    SendDeferred,
    Stimulus,
    VersionAdopted,
    VersionMoved,
)
from app.campaigns.domain.vocabulary import Automation
from app.kernel.errors import Invalid
from app.kernel.working_calendar import Shift, WorkingCalendar, same_hours
from tests.factories.states import NOW, enrolled, facts, key, nurture, position

DAY = timedelta(days=1)
KL = "Asia/Kuala_Lumpur"
HELLO = {"key": "hello", "kind": "message", "template": "hello"}
NUDGE = {"key": "nudge", "kind": "message", "template": "nudge"}
OTHER = {"key": "other", "kind": "message", "template": "other"}
LAST = {"key": "last", "kind": "message", "template": "last"}


def at(version: CompiledVersion, step: str, **changes: Any) -> EnrolmentState:
    """Return an active journey that stands at a step."""
    return replace(enrolled(version), step=step, **changes)


def act(
    version: CompiledVersion,
    before: EnrolmentState,
    stimulus: Stimulus,
    *,
    now: datetime = NOW,
    **known: Any,
) -> Decision:
    """Let a stimulus act."""
    return decide(before, version, stimulus, facts(**known), now)


def kinds(decision: Decision) -> list[tuple[str, Any]]:
    """Return types with the branch or the cause."""
    return [(e.type, e.data.get("branch", e.cause)) for e in decision.events]


CONDITION = {
    "key": "read_it",
    "kind": "condition",
    "if": {"fact": "step.hello.outcome", "in": ["read", "replied"]},
    "then": [NUDGE],
    "else": [OTHER],
}


@pytest.mark.parametrize(
    ("outcome", "branch", "queued"),
    [("read", "then", "nudge"), ("sent", "else", "other"), (None, "else", "other")],
)
def test_a_condition_takes_a_branch_and_records_what_it_read(outcome: Any, branch: str, queued: str) -> None:
    version = nurture(HELLO, CONDITION, LAST)
    assert version.needs == {Need.VALUES}
    decision = act(version, at(version, "read_it"), Due(), values={"step.hello.outcome": outcome})
    assert kinds(decision) == [("condition_evaluated", branch), ("send_queued", None)]
    assert decision.events[0].data["facts"] == {"step.hello.outcome": outcome}
    assert decision.queued is not None and decision.queued.step == queued


@pytest.mark.parametrize("branch_step", ["nudge", "other"])
def test_both_branches_rejoin_the_path_behind_the_condition(branch_step: str) -> None:
    version = nurture(HELLO, CONDITION, LAST)
    sent = act(version, at(version, branch_step), SendAccepted(position(branch_step), 31, "att", "finish"))
    due = act(version, sent.state, Due())
    assert due.queued is not None and due.queued.step == "last"


WAITS_FOR = {
    "key": "clicks",
    "kind": "wait_for",
    "signals": ["clicked", "replied"],
    "days": 3,
    "then": [NUDGE],
    "else": [OTHER],
}


def test_a_signal_waited_for_counts_from_the_start_of_the_step_before() -> None:
    version = nurture(HELLO, WAITS_FOR)
    started = NOW - timedelta(minutes=5)
    accepted = SendAccepted(position(), 31, "att", "callback", started_at=started)
    waiting = act(version, at(version, "hello"), accepted)
    assert (waiting.state.step, waiting.state.wait_from) == ("clicks", started)
    assert waiting.state.next_run_at == started + 3 * DAY
    before = act(version, at(version, "hello"), accepted, seen=(Seen("clicked", NOW - timedelta(minutes=4)),))
    assert before.state.step == "nudge"


def test_a_signal_older_than_the_step_before_does_not_count() -> None:
    version = nurture(HELLO, WAITS_FOR)
    old = act(
        version,
        at(version, "clicks", wait_from=NOW),
        Due(),
        seen=(Seen("clicked", NOW - timedelta(minutes=1)),),
    )
    assert old.state.step == "clicks"


@pytest.mark.parametrize(("kind", "step"), [("clicked", "nudge"), ("read", "clicks")])
def test_each_signal_is_looked_at_as_it_comes(kind: str, step: str) -> None:
    version = nurture(HELLO, WAITS_FOR)
    waiting = at(version, "clicks", wait_from=NOW, next_run_at=NOW + 3 * DAY)
    assert act(version, waiting, Seen(kind, NOW + DAY), now=NOW + DAY).state.step == step


def test_the_time_out_takes_the_other_branch_unless_the_signal_came_just_before() -> None:
    version = nurture(HELLO, WAITS_FOR)
    waiting = at(version, "clicks", wait_from=NOW, next_run_at=NOW + 3 * DAY)
    timed_out = act(version, waiting, Due(), now=NOW + 3 * DAY)
    assert timed_out.queued is not None and timed_out.queued.step == "other"
    met = act(
        version,
        waiting,
        Due(),
        now=NOW + 3 * DAY,
        seen=(Seen("clicked", NOW + 3 * DAY - timedelta(seconds=1)),),
    )
    assert met.queued is not None and met.queued.step == "nudge"


def test_no_time_out_runs_while_paused_and_the_reply_counts_when_it_goes_on() -> None:
    version = nurture(HELLO, WAITS_FOR)
    waiting = at(version, "clicks", wait_from=NOW, next_run_at=NOW + 3 * DAY)
    paused = act(version, waiting, HumanSignal("signal:1"), now=NOW + DAY).state
    assert act(version, paused, Due(), now=NOW + 9 * DAY).state == paused
    resumed = act(version, paused, AdviserResumed("user:1"), now=NOW + 9 * DAY, handoff_open=True).state
    assert resumed.next_run_at == NOW + 9 * DAY
    gone_on = act(version, resumed, Due(), now=NOW + 9 * DAY, seen=(Seen("replied", NOW + DAY),))
    assert gone_on.queued is not None and gone_on.queued.step == "nudge"


def test_a_task_is_opened_once_and_the_path_goes_on() -> None:
    call = {"key": "ring", "kind": "task", "task": "call", "title": "Ring them", "due": {"hours": 4}}
    version = nurture(HELLO, call, LAST)
    decision = act(version, at(version, "ring"), Due())
    assert [e for e in decision.effects if isinstance(e, OpenTask)] == [
        OpenTask("call", "nurture:1:ring", "Ring them", NOW + timedelta(hours=4), "owner")
    ]
    assert decision.queued is not None and decision.queued.step == "last"


def test_the_reason_of_an_end_is_why_the_journey_ended() -> None:
    version = nurture(HELLO, {"key": "over", "kind": "end", "reason": "not_interested"})
    assert act(version, at(version, "over"), Due()).state.exit_reason == "not_interested"


WEEK = WorkingCalendar(
    KL, same_hours(days=5, shifts=(Shift.between("09:00", "18:00"),)), frozenset({date(2026, 12, 2)})
)


@pytest.mark.parametrize(
    ("start", "days", "due"),
    [
        ("2026-11-30T10:00+08:00", 1, "2026-12-01T10:00+08:00"),
        ("2026-11-30T10:00+08:00", 2, "2026-12-03T10:00+08:00"),  # the 2nd is a holiday
        ("2026-12-04T10:00+08:00", 1, "2026-12-07T10:00+08:00"),  # over the weekend
        ("2026-12-05T10:00+08:00", 1, "2026-12-07T10:00+08:00"),
    ],
)
def test_working_days_leave_weekends_and_holidays_out(start: str, days: int, due: str) -> None:
    wait = WaitStep("w", timedelta(), business_days=days)
    begun = datetime.fromisoformat(start)
    assert wait_due(wait, wait_from=begun, zone=KL, calendar=WEEK) == datetime.fromisoformat(due)


def test_working_days_until_a_time_of_day_never_end_on_a_day_off() -> None:
    version = nurture({"key": "w", "kind": "wait", "business_days": 1, "until": "09:00"}, LAST)
    step = version.step("nurture", "w")
    assert isinstance(step, WaitStep)
    friday_noon = datetime(2026, 12, 3, 4, tzinfo=UTC)  # Thursday 12:00: Friday 12:00 is past nine
    assert wait_due(step, wait_from=friday_noon, zone=KL, calendar=WEEK) == datetime(
        2026, 12, 7, 1, tzinfo=UTC
    )


def test_a_send_window_opens_on_its_days_at_its_hours() -> None:
    definition = {**HELLO, "send_window": {"days": ["mon", "tue"], "from": "10:00", "to": "12:00"}}
    step = nurture(definition).step("nurture", "hello")
    window: SendWindow = step.window  # type: ignore[union-attr,assignment]
    assert window_opens(window, NOW, zone=KL) == NOW + timedelta(hours=1)  # Monday 09:00
    assert window_opens(window, NOW + timedelta(hours=1), zone=KL) is None
    assert window_opens(window, NOW + timedelta(days=1, hours=3), zone=KL) == NOW + timedelta(days=7, hours=1)


TWO = {**HELLO, "channels": ["whatsapp", "sms"]}


def channels(*usable: str) -> dict[str, Any]:
    """Return the facts of a person whom these channels reach."""
    return {"channels": frozenset(usable), "senders": {"whatsapp": 2, "sms": 5}}


@pytest.mark.parametrize(("usable", "channel"), [(("whatsapp", "sms"), "whatsapp"), ((), "whatsapp")])
def test_the_first_channel_that_reaches_them_is_taken_and_the_gates_have_the_last_word(
    usable: tuple[str, ...], channel: str
) -> None:
    version = nurture(TWO)
    queued = act(version, at(version, "hello"), Due(), **channels(*usable)).queued
    assert queued is not None and queued.channel == channel


def test_another_channel_is_another_senders_pace() -> None:
    version = nurture(TWO)
    moved = act(version, at(version, "hello"), Due(), **channels("sms"))
    assert moved.queued is None
    assert (moved.state.sender_id, moved.state.next_run_at) == (5, NOW)
    queued = act(version, moved.state, Due(), **channels("sms")).queued
    assert queued is not None and queued.channel == "sms"


def test_a_channel_that_did_not_work_is_not_tried_again_for_the_same_message() -> None:
    version = nurture(TWO)
    known = {
        **channels("whatsapp", "sms"),
        "sends": {key("hello"): (31, "waiting")},
        "tried": {key("hello"): ("whatsapp",)},
    }
    fallen = act(
        version, at(version, "hello"), SendDeferred(position(), 31, "channel:no_consent", NOW, sender_id=5)
    ).state
    assert fallen.sender_id == 5
    queued = act(version, fallen, Due(), **known).queued
    assert queued is not None and queued.channel == "sms"


def test_the_next_message_begins_with_the_first_channel_again() -> None:
    version = nurture(TWO, {**TWO, "key": "nudge", "template": "nudge"})
    on_sms = at(version, "nudge", sender_id=5)
    back = act(version, on_sms, Due(), **channels("whatsapp", "sms"))
    assert (back.queued, back.state.sender_id) == (None, 2)


def test_an_adopted_version_moves_the_timer_and_nothing_else() -> None:
    old = nurture(HELLO, {"key": "pause", "kind": "wait", "days": 2}, LAST)
    new = replace(nurture(HELLO, {"key": "pause", "kind": "wait", "days": 5}, LAST), id=4, number=2)
    waiting = at(old, "pause", wait_from=NOW, next_run_at=NOW + 2 * DAY)
    adopted = act(new, waiting, VersionAdopted(), now=NOW + DAY)
    assert adopted.state == replace(waiting, version_id=4, next_run_at=NOW + 5 * DAY)
    assert [e.type for e in adopted.events] == ["version_adopted"]
    assert not act(new, adopted.state, VersionAdopted()).events


def test_an_earlier_timer_of_an_adopted_version_is_due_at_once_and_never_before_now() -> None:
    new = replace(nurture(HELLO, {"key": "pause", "kind": "wait", "hours": 1}, LAST), id=4, number=2)
    waiting = at(new, "pause", version_id=3, wait_from=NOW, next_run_at=NOW + 2 * DAY)
    assert act(new, waiting, VersionAdopted(), now=NOW + DAY).state.next_run_at == NOW + DAY


def test_an_explicit_move_takes_the_mapped_step_and_holds_what_it_does_not_name() -> None:
    new = replace(nurture(HELLO, {"key": "rest", "kind": "wait", "days": 3}, LAST), id=4, number=2)
    waiting = at(new, "pause", version_id=3, wait_from=NOW, next_run_at=NOW + 2 * DAY)
    moved = act(new, waiting, VersionMoved("user:1", {"pause": "rest"}), now=NOW + DAY).state
    assert (moved.version_id, moved.step, moved.next_run_at) == (4, "rest", NOW + 3 * DAY)
    assert act(new, waiting, VersionMoved("user:1", {})).state.automation is Automation.HELD


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({**WAITS_FOR, "days": 0}, "gives up"),
    ({**WAITS_FOR, "signals": ["sneezed"]}, "signals"),
    ({**CONDITION, "if": {"fact": "moon.phase", "is": "full"}}, "moon.phase"),
    ({**CONDITION, "if": {"fact": "step.gone.outcome", "is": "read"}}, "`gone`"),
    ({**CONDITION, "if": {"fact": "contact.language"}}, "at_least"),
    ({**CONDITION, "if": None}, "`if`"),
    ({**CONDITION, "then": [], "else": []}, "then"),
    ({**CONDITION, "then": [{**HELLO}]}, "used twice"),
    ({"key": "t", "kind": "task", "task": "dance", "title": "x"}, "`task`"),
    ({"key": "t", "kind": "task", "task": "call"}, "title"),
    ({"key": "w", "kind": "wait", "business_days": 1.5}, "business_days"),
    ({"key": "w", "kind": "wait", "until": {"booking": "start"}}, "before"),
    (
        {"key": "w", "kind": "wait", "days": 1, "until": {"booking": "start", "before": {"hours": 1}}},
        "no length",
    ),
    ({**OTHER, "send_window": {"from": "18:00", "to": "09:00"}}, "window"),
    ({**OTHER, "channels": ["sms", "sms"]}, "channels"),
    ({"key": "a:b", "kind": "end"}, "colon"),
]


@pytest.mark.parametrize(("step", "said"), BROKEN)
def test_a_broken_step_says_what_is_wrong_with_it(step: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        compile_definition({"paths": {"nurture": [HELLO, step]}}, version_id=1, campaign_id=1, number=1)
    assert said in str(refused.value) and "Path `nurture`" in str(refused.value)
