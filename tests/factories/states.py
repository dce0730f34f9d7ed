"""Enrolment states, versions and facts for tests of what decides: values, no database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from app.campaigns.domain.compiling import compile_definition
from app.campaigns.domain.decide import decide_enrolment
from app.campaigns.domain.definition import CompiledVersion
from app.campaigns.domain.enrolment import EnrolmentState, idempotency_key
from app.campaigns.domain.schedule import Visit
from app.campaigns.domain.stimuli import Facts, Position
from app.campaigns.domain.vocabulary import Automation, Stage

NOW: Final = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
CONTACT: Final = 7
ZONE: Final = "Asia/Kuala_Lumpur"
DEFINITION: Final[dict[str, Any]] = {
    "paths": {
        "nurture": [
            {"key": "hello", "kind": "message", "template": "hello"},
            {"key": "wait_1", "kind": "wait", "days": 2},
            {"key": "nudge", "kind": "message", "template": "nudge", "optional": True},
            {"key": "wait_2", "kind": "wait", "days": 2},
            {"key": "last", "kind": "message", "template": "last"},
        ],
        "rebook": [
            {"key": "rebook_1", "kind": "message", "template": "rebook"},
            {"key": "rebook_end", "kind": "end"},
        ],
        "post_visit": [
            {"key": "thanks", "kind": "message", "template": "thanks"},
            {"key": "thanks_end", "kind": "end"},
        ],
    }
}


VISITS_DEFINITION: Final[dict[str, Any]] = {
    "paths": {
        **DEFINITION["paths"],
        "confirmation": [
            {"key": "confirmed", "kind": "message", "template": "confirmed"},
            {"key": "day_before", "kind": "wait", "until": {"booking": "start", "before": {"hours": 24}}},
            {"key": "reminder", "kind": "message", "template": "reminder"},
            {"key": "morning", "kind": "wait", "until": {"booking": "start", "before": {"hours": 2}}},
            {"key": "see_you", "kind": "message", "template": "see_you"},
        ],
    }
}
VISIT: Final = Visit(9, NOW + timedelta(days=5), NOW + timedelta(days=5, hours=1))


def version_of(definition: dict[str, Any] = DEFINITION) -> CompiledVersion:
    """Compile a definition as version 3 of campaign 5."""
    return compile_definition(definition, version_id=3, campaign_id=5, number=1)


def nurture(*steps: dict[str, Any]) -> CompiledVersion:
    """Compile a version whose nurture path has these steps."""
    return version_of({"paths": {"nurture": list(steps)}})


VERSION: Final = version_of()
VISITS: Final = version_of(VISITS_DEFINITION)


def facts(**more: Any) -> Facts:
    """Return facts about the contact."""
    return Facts(CONTACT, ZONE, **more)


def enrolled(version: CompiledVersion = VERSION) -> EnrolmentState:
    """Return a journey that has just begun."""
    return decide_enrolment(
        version=version, sender_id=2, generation=1, facts=facts(), actor="test", now=NOW
    ).state


def state(**changes: Any) -> EnrolmentState:
    """Return a nurturing, active journey that stands at its first wait, with some columns changed."""
    waiting = replace(
        enrolled(), step="wait_1", wait_from=NOW, next_run_at=NOW + timedelta(days=2), last_sent_at=NOW
    )
    return replace(waiting, **changes)


def engaged(**changes: Any) -> EnrolmentState:
    """Return a journey whose lead answered while it stood at the first wait."""
    return state(
        **{
            "stage": Stage.ENGAGED,
            "automation": Automation.PAUSED,
            "pause_reason": "replied",
            "next_run_at": None,
            "return_stage": Stage.NURTURING,
            "return_path": "nurture",
            "return_step": "wait_1",
            "return_lap": 1,
            **changes,
        }
    )


def held(**changes: Any) -> EnrolmentState:
    """Return a journey held at its first message because nobody can tell whether send 31 went out."""
    return state(
        **{
            "step": "hello",
            "automation": Automation.HELD,
            "held_from": Automation.ACTIVE,
            "hold_ref": "send:31",
            "next_run_at": None,
            "last_sent_at": None,
            **changes,
        }
    )


def position(step: str = "hello", *, path: str = "nurture", lap: int = 1) -> Position:
    """Return a position in the first generation."""
    return Position(path, step, lap, 1)


def key(step: str, *, path: str = "nurture", lap: int = 1) -> str:
    """Return the idempotency key of a step's send."""
    return idempotency_key(contact_id=CONTACT, campaign_id=5, generation=1, path=path, lap=lap, step=step)
