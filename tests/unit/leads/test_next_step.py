"""What comes next, when, and why then."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.campaigns.domain.compiling import compile_definition
from app.campaigns.domain.gates import GatePolicy
from app.leads.next_step import Standing, next_step
from app.leads.views import NextStep
from tests.factories.journeys import DEFINITION

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)  # Monday 10:00 in Kuala Lumpur
ZONE = "Asia/Kuala_Lumpur"
VERSION = compile_definition(DEFINITION, version_id=1, campaign_id=1, number=1)
WAITING = Standing(
    stage="nurturing",
    automation="active",
    path="nurture",
    step="wait_2d",
    wait_from=NOW,
    next_run_at=NOW + timedelta(days=2),
    last_sent_at=NOW,
    resume_at=None,
    pause_reason=None,
    hold_reason=None,
    has_handoff=False,
    in_flight=None,
    stops=(),
    zone=ZONE,
)


def planned(standing: Standing, *, now: datetime = NOW) -> NextStep | None:
    """Return the next step of the demo's campaign."""
    names = {"nudge": "Friendly nudge", "last_word": "Last word"}
    return next_step(
        standing, version=VERSION, templates=names, policy=GatePolicy(), reader_zone=ZONE, now=now
    )


def test_a_wait_leads_to_the_message_after_it() -> None:
    assert planned(WAITING) == NextStep(
        "“Friendly nudge”", "2 days after the message before", at=NOW + timedelta(days=2)
    )


def test_a_wait_until_a_local_time_says_so() -> None:
    due = datetime(2026, 12, 3, 2, 0, tzinfo=UTC)
    assert planned(replace(WAITING, step="wait_3d", next_run_at=due)) == NextStep(
        "“Last word”", "3 days later, at 10:00 their time", at=due
    )


def test_quiet_hours_where_the_lead_lives_move_it_to_the_morning() -> None:
    at_night = datetime(2026, 12, 2, 14, 0, tzinfo=UTC)  # 22:00 in Kuala Lumpur
    step = planned(replace(WAITING, next_run_at=at_night))
    assert step is not None
    assert step.at == datetime(2026, 12, 3, 0, 0, tzinfo=UTC)
    assert step.reason.endswith("quiet hours where they live until Thu 3 Dec 08:00")


def test_twenty_hours_lie_between_two_messages() -> None:
    step = planned(replace(WAITING, next_run_at=NOW + timedelta(hours=1)))
    assert step is not None
    assert step.at == datetime(2026, 12, 1, 0, 0, tzinfo=UTC)  # 20 h later is 06:00, and then quiet hours
    assert "at least 20 hours after the last message" in step.reason


def test_what_is_overdue_is_due_now() -> None:
    step = planned(replace(WAITING, step="nudge", next_run_at=NOW - timedelta(hours=2), last_sent_at=None))
    assert step == NextStep("“Friendly nudge”", "Due now", at=NOW)


def test_after_the_last_message_the_end_is_named() -> None:
    step = planned(replace(WAITING, step="end"))
    assert step is not None
    assert (step.title, step.reason) == (
        "No further message",
        "The journey then ends as “exhausted”, with a rest of 60 days",
    )


def test_a_stop_leaves_no_time_to_promise() -> None:
    step = planned(replace(WAITING, stops=("kill_switch:global", "campaign_paused")))
    assert step == NextStep(
        "“Friendly nudge” waits", "All sending is stopped by the kill switch; the campaign is paused", at=None
    )


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (
            replace(WAITING, automation="paused", pause_reason="replied", has_handoff=True),
            ("Nothing by the campaign", "They answered. It goes on once a person gives the lead back to it"),
        ),
        (
            replace(WAITING, automation="paused", pause_reason="family is travelling"),
            ("Nothing by the campaign", "Family is travelling. It goes on once somebody resumes it"),
        ),
        (
            replace(WAITING, automation="held", hold_reason="Was this message sent?"),
            ("Nothing until the hold is released", "Was this message sent?"),
        ),
        (
            replace(WAITING, step="nudge", in_flight="unknown"),
            (
                "“Friendly nudge”: not certain whether it went out",
                "The provider is asked; nothing is sent twice",
            ),
        ),
        (
            replace(WAITING, step="nudge", in_flight="queued"),
            ("“Friendly nudge” goes out now", "It waits for its turn at the sender"),
        ),
        (
            replace(WAITING, step="gone"),
            ("A person has to look", "This campaign version does not have the step the lead stands at"),
        ),
    ],
)
def test_what_holds_the_machine_back_is_said(standing: Standing, words: tuple[str, str]) -> None:
    step = planned(standing)
    assert step is not None
    assert (step.title, step.reason, step.at) == (*words, None)


def test_an_automatic_answer_names_the_date_it_goes_on() -> None:
    later = NOW + timedelta(days=7)
    step = planned(replace(WAITING, automation="paused", pause_reason="auto_reply", resume_at=later))
    assert step == NextStep("The campaign goes on by itself", "An automatic answer came back", at=later)


def test_a_journey_that_is_over_has_no_next_step() -> None:
    assert planned(replace(WAITING, automation="completed")) is None
