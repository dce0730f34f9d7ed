"""Whatever comes in whatever order: the fold is the state, nothing is lowered, the end is the end."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from app.campaigns.domain.decide import decide, decide_enrolment
from app.campaigns.domain.enrolment import COVERED, EnrolmentState, fold, to_json
from app.campaigns.domain.stimuli import (
    AdviserResumed,
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
    Position,
    ResumeDue,
    ReviewResolved,
    SendAccepted,
    SendDeferred,
    SendSkipped,
    Stimulus,
)
from app.campaigns.domain.vocabulary import STRICTNESS, TERMINAL, Automation, Outcome, Stim
from app.kernel.errors import CommandRefused
from tests.factories.states import NOW, VERSION, facts, key, position

STEPS = ("hello", "wait_1", "nudge", "wait_2", "last", "gone")
SIGNALS = (HumanSignal, DoubtfulOptOut, AutoReplied, FailedLater, Inconclusive, ChannelLost)


def _positions() -> st.SearchStrategy[Position]:
    return st.builds(position, st.sampled_from(STEPS), lap=st.integers(1, 2))


def _stimuli() -> st.SearchStrategy[Stimulus]:
    later = st.integers(-2, 9).map(lambda days: NOW + timedelta(days=days))
    return st.one_of(
        st.just(Due()),
        st.just(Due()),
        st.builds(SendAccepted, _positions(), st.integers(30, 32), st.just("att"), st.just("finish")),
        st.builds(SendSkipped, _positions(), st.integers(30, 32), st.just("no_consent")),
        st.builds(SendDeferred, _positions(), st.integers(30, 32), st.just("quiet_hours"), later),
        st.builds(HumanSignal, st.just("signal:1"), inbound=st.booleans(), opens_handoff=st.booleans()),
        st.just(DoubtfulOptOut("signal:2", "cancel")),
        st.builds(AutoReplied, st.just("signal:3"), later),
        st.just(ResumeDue()),
        st.builds(FailedLater, st.integers(30, 32), st.sampled_from(STEPS), st.just("63049")),
        st.builds(Inconclusive, st.sampled_from(["send:30", "send:31"]), st.just("?")),
        st.builds(ReviewResolved, st.just("user:1"), st.sampled_from(["sent", "again", "skip"]), _positions(),
                  st.just(31), st.sampled_from(["send:30", "send:31", None])),
        st.builds(Operator, st.sampled_from([Stim.OPERATOR_PAUSED, Stim.OPERATOR_RESUMED, Stim.OPERATOR_HELD,
                                             Stim.OPERATOR_RELEASED]), st.just("user:1")),
        st.just(AdviserResumed("user:1")),
        st.builds(ChannelLost, st.just("63024"), st.just("whatsapp"), st.just("unreachable"),
                  st.sampled_from([(), ("sms",), ("sms",)])),
    )  # fmt: skip


def _endings() -> st.SearchStrategy[Stimulus]:
    return st.one_of(
        st.builds(Closed, st.just("user:1"), st.sampled_from([Outcome.WON, Outcome.LOST])),
        st.just(OptedOut("signal:4", "all", "stop_word")),
        st.just(Complained("signal:5")),
        st.just(Merged("user:1", 8)),
    )


Move = tuple[Stimulus, bool, int, str | None]
MOVES = st.lists(
    st.tuples(
        st.one_of(*[_stimuli()] * 12, _endings()),
        st.booleans(),
        st.integers(0, 50),
        st.sampled_from([None, "queued", "sending", "accepted", "needs_review", "waiting"]),
    ),
    max_size=25,
)


def _stored(state: EnrolmentState) -> dict[str, object]:
    return {name: to_json(getattr(state, name)) for name in COVERED}


@given(moves=MOVES)
@settings(max_examples=250, deadline=None)
def test_any_sequence_of_stimuli_folds_to_the_state_and_keeps_the_laws(moves: list[Move]) -> None:
    now = NOW
    decision = decide_enrolment(
        version=VERSION, sender_id=2, generation=1, facts=facts(), actor="test", now=now
    )
    state = decision.state
    sets = [event.set for event in decision.events]
    for stimulus, handoff_open, hours, send in moves:
        now += timedelta(hours=hours)
        sends = {key(step): (31, send) for step in STEPS} if send else {}
        before = state
        try:
            decision = decide(before, VERSION, stimulus, facts(handoff_open=handoff_open, sends=sends), now)
        except CommandRefused:
            continue
        state = decision.state
        sets += [event.set for event in decision.events]
        assert fold(sets) == _stored(state)
        assert (state == before) or decision.events
        _check_laws(before, state, stimulus)


def _check_laws(before: EnrolmentState, after: EnrolmentState, stimulus: Stimulus) -> None:
    if before.stage in TERMINAL:
        assert (after.stage, after.automation) == (before.stage, before.automation)
    assert (after.automation is Automation.COMPLETED) == (after.stage in TERMINAL)
    if isinstance(stimulus, SIGNALS):
        assert STRICTNESS[after.automation] >= STRICTNESS[before.automation]
    if after.automation is not Automation.ACTIVE:
        assert after.next_run_at is None
    assert (after.held_from is None) == (after.automation is not Automation.HELD)
    assert after.held_from is not Automation.HELD
    if after.automation is not Automation.PAUSED:
        assert after.resume_at is None
