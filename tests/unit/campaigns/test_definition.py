"""Definitions: what is refused says where, and what is compiled is stable."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest

from app.campaigns.domain.compiling import compile_definition
from app.campaigns.domain.definition import MessageStep, WaitStep
from app.kernel.errors import Invalid
from tests.factories.states import nurture, version_of

HELLO = {"key": "hello", "kind": "message", "template": "hello"}


def refusal(definition: Any) -> str:
    """Return why a definition is refused."""
    with pytest.raises(Invalid) as refused:
        compile_definition(definition, version_id=1, campaign_id=1, number=1)
    return str(refused.value)


@pytest.mark.parametrize(
    "definition", [{}, {"paths": []}, {"paths": {}}, {"paths": {"rebook": [HELLO]}}, {"paths": None}]
)
def test_without_a_nurture_path_there_is_no_campaign(definition: Any) -> None:
    assert "nurture" in refusal(definition)


def test_an_unknown_path_is_named() -> None:
    assert "`after_party`" in refusal({"paths": {"nurture": [HELLO], "after_party": [HELLO]}})


@pytest.mark.parametrize("steps", [[], {}, None, "hello"])
def test_a_path_without_steps_is_named(steps: Any) -> None:
    assert "Path `nurture`" in refusal({"paths": {"nurture": steps}})


BROKEN: list[tuple[Any, str]] = [
    ({"kind": "message", "template": "x"}, "key"),
    ({"key": "", "kind": "message", "template": "x"}, "key"),
    ("hello", "key"),
    ({"key": "x", "kind": "message"}, "template"),
    ({"key": "x", "kind": "message", "template": "x", "enabled": False}, "optional"),
    ({"key": "x", "kind": "message", "template": "x", "channels": []}, "channels"),
    ({"key": "x", "kind": "message", "template": "x", "channels": "whatsapp"}, "channels"),
    ({"key": "x", "kind": "message", "template": "x", "channels": ["pigeon"]}, "channels"),
    ({"key": "x", "kind": "dance"}, "dance"),
    ({"key": "x"}, "kind"),
    ({"key": "x", "kind": "wait", "days": -1}, "days"),
    ({"key": "x", "kind": "wait", "days": "two"}, "days"),
    ({"key": "x", "kind": "wait", "hours": True}, "hours"),
    ({"key": "x", "kind": "wait", "days": 1e12}, "days"),
    ({"key": "x", "kind": "wait", "minutes": float("nan")}, "days"),
    ({"key": "x", "kind": "wait", "days": 4000}, "3650 days"),
    ({"key": "x", "kind": "wait", "until": "25:00"}, "until"),
    ({"key": "x", "kind": "wait", "until": 10}, "until"),
    ({"key": "x", "kind": "wait", "until": "10:00+08:00"}, "until"),
]


@pytest.mark.parametrize(("step", "names"), BROKEN)
def test_a_broken_step_is_refused_with_its_path_and_its_number(step: Any, names: str) -> None:
    said = refusal({"paths": {"nurture": [HELLO, step]}})
    assert "Path `nurture`, step 2" in said
    assert names in said


def test_a_key_is_used_once_in_a_campaign_whatever_the_path() -> None:
    said = refusal({"paths": {"nurture": [HELLO], "rebook": [HELLO]}})
    assert "Path `rebook`, step 1" in said and "`hello`" in said


def test_steps_are_numbered_in_order_and_found_by_their_keys() -> None:
    version = nurture(HELLO, {"key": "pause", "kind": "wait", "days": 1, "hours": 2, "until": "10:30"})
    path = version.paths["nurture"]
    assert dict(path.index) == {"hello": 0, "pause": 1}
    assert path.steps[0] == MessageStep("hello", "hello", ("whatsapp",))
    assert path.steps[1] == WaitStep("pause", timedelta(days=1, hours=2), time(10, 30))
    assert version.step("nurture", "pause") is path.steps[1]
    assert version.step("nurture", "gone") is None
    assert version.step("rebook", "pause") is None
    assert version.step(None, None) is None


def test_the_structure_hash_ignores_timing_switches_and_templates() -> None:
    wait = {"key": "pause", "kind": "wait", "days": 1}
    optional = {**HELLO, "optional": True}
    base = nurture(optional, wait).structure_hash
    same = nurture({**optional, "template": "other", "enabled": False}, {**wait, "days": 9})
    assert same.structure_hash == base
    for other in (
        nurture(wait, optional),
        nurture(optional),
        nurture({**optional, "key": "hi"}, wait),
        version_of({"paths": {"nurture": [optional, wait], "rebook": [{"key": "e", "kind": "end"}]}}),
    ):
        assert other.structure_hash != base
