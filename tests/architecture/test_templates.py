"""The check of the templates finds what it is there for."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from tests.architecture.templates import faults, forbidden


@pytest.mark.parametrize(
    "text",
    [
        '<button onclick="go()">',
        '<div hx-on:click="go()">',
        "<div hx-vals='js:{a: 1}'>",
        '<div hx-trigger="click[ctrlKey]">',
        "<script>go()</script>",
        '<a href="javascript:go()">',
    ],
)
def test_script_that_the_content_policy_forbids_is_found(text: str) -> None:
    assert [line for line, _ in forbidden(f"<p>\n{text}")] == [2]


@pytest.mark.parametrize(
    "text",
    [
        '<script src="/static/js/live.js" defer></script>',
        '<div hx-trigger="queue from:body throttle:200ms">',
        '<div hx-trigger="{{ triggers[0] }}">',
        "<p>only on = sign</p>",
        '<script type="application/json">{}</script>',
    ],
)
def test_what_the_policy_allows_is_left_alone(text: str) -> None:
    assert list(forbidden(text)) == []


def test_a_template_that_does_not_compile_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken.html").write_text("<p>\n{% if x %}\n")
    (tmp_path / "whole.html").write_text("{{ x }}")
    found = list(faults(tmp_path, Environment(loader=FileSystemLoader(tmp_path), autoescape=True)))
    assert [fault.partition(": ")[0] for fault in found] == ["broken.html:2"]
