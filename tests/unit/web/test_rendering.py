"""The template environment: escaping, strictness, hashed addresses, icons, live triggers."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError

from app.web.rendering import live_trigger, make_environment, page_context
from app.web.views import ReplyClock

NOW = datetime(2026, 11, 30, 2, 41, tzinfo=UTC)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    vendor = tmp_path / "static" / "vendor"
    vendor.mkdir(parents=True)
    known = {"vendor/app.css": "abc123", "vendor/icons.svg": "def456", "vendor/icons.svg#check": "def456"}
    (vendor / "manifest.json").write_text(json.dumps(known))
    return make_environment(templates=tmp_path, static=tmp_path / "static")


def render(environment: Environment, source: str, **values: object) -> str:
    context = page_context(now=NOW, zone="Asia/Kuala_Lumpur", theme=None, csrf_token="token")
    return environment.from_string(source).render({**context, **values})


def test_text_from_outside_is_escaped(environment: Environment) -> None:
    assert render(environment, "{{ name }}", name="<b>") == "&lt;b&gt;"


def test_a_name_is_isolated_and_still_escaped(environment: Environment) -> None:
    assert render(environment, "{{ name|person }}", name="<i>مريم") == "<bdi>&lt;i&gt;مريم</bdi>"


def test_a_name_that_nobody_gave_is_an_error_and_not_an_empty_place(environment: Environment) -> None:
    with pytest.raises(UndefinedError):
        render(environment, "{{ nothing }}")


def test_an_asset_carries_its_content_hash(environment: Environment) -> None:
    assert render(environment, "{{ asset_url('vendor/app.css') }}") == "/static/vendor/app.css?v=abc123"


def test_an_unknown_asset_is_an_error(environment: Environment) -> None:
    with pytest.raises(KeyError):
        render(environment, "{{ asset_url('vendor/missing.css') }}")


def test_an_icon_is_decoration_and_points_into_the_sprite(environment: Environment) -> None:
    drawn = render(environment, "{{ icon('check', 'small') }}")
    assert 'aria-hidden="true"' in drawn
    assert 'href="/static/vendor/icons.svg?v=def456#check"' in drawn
    assert "icon-small" in drawn


def test_an_icon_that_was_not_built_is_an_error(environment: Environment) -> None:
    with pytest.raises(KeyError):
        render(environment, "{{ icon('unicorn') }}")


def test_moments_are_printed_in_the_readers_zone(environment: Environment) -> None:
    assert render(environment, "{{ now|time_of_day }} {{ now|day_words }}") == "10:41 Today"


def test_a_clock_has_its_text_before_any_script_runs(environment: Environment) -> None:
    assert render(environment, "{{ clock|clock_text }}", clock=ReplyClock("on_time", due_at=NOW)) == "0:00"


def test_an_unknown_theme_means_the_systems() -> None:
    assert page_context(now=NOW, zone="UTC", theme="<x>", csrf_token="")["theme"] is None


def test_a_live_part_listens_to_its_topics_and_to_a_reconnect() -> None:
    heard = live_trigger(("user:1", "pool"))
    topics = "user:1 from:body throttle:200ms, pool from:body throttle:200ms"
    assert heard == f"{topics}, joined from:body, resync from:body"
    assert live_trigger(("user:1", "pool"), at_join=False) == f"{topics}, resync from:body"
