"""The Jinja environment: strict, autoescaped, with our icons, hashed asset URLs and time words."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from app.web import words
from app.web.diagram import draw_diagram
from app.web.views import ReplyClock, Shell

# Served with the content hash in the URL, so a browser may keep them for a year.
ASSET_CACHE_CONTROL = "public, max-age=31536000, immutable"
THEMES = ("day", "night")


def make_environment(*, templates: Path, static: Path, is_reloading: bool = False) -> Environment:
    """Build the environment once per process. An undefined name is an error, never an empty string.

    Templates read `now` (aware), `zone` (IANA name), `theme`, `csrf_token` and `shell`: see `page_context`.
    With `is_reloading` changed templates and assets are picked up without a restart.
    """
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=is_reloading,
    )
    asset_url = asset_urls(static=static, is_reloading=is_reloading)
    environment.globals.update(
        asset_url=asset_url,
        icon=_icon_maker(asset_url),
        live_trigger=live_trigger,
        draw_diagram=draw_diagram,
        clock_state_words=words.CLOCK_STATE_WORDS,
    )
    environment.filters.update(_filters())
    environment.tests["waiting_clock"] = _is_waiting
    return environment


def page_context(
    *, now: datetime, zone: str, theme: str | None, csrf_token: str, shell: Shell | None = None
) -> dict[str, object]:
    """What every template may rely on. Any `theme` but day or night means the system's."""
    return {
        "now": now,
        "zone": zone,
        "theme": theme if theme in THEMES else None,
        "csrf_token": csrf_token,
        "shell": shell,
    }


def live_trigger(topics: Sequence[str], *, throttle: str = "200ms", at_join: bool = True) -> str:
    """The `hx-trigger` of a live part: refetch when one of the topics changed, after a reconnect, and (`at_join`) once
    the page has joined its rooms, for what changed between its making and then. A part that the person can exchange in
    that moment leaves the last one out.
    """
    heard = [f"{topic} from:body throttle:{throttle}" for topic in topics]
    joined = ["joined from:body"] if at_join else []
    return ", ".join([*heard, *joined, "resync from:body"])


def asset_urls(*, static: Path, is_reloading: bool = False) -> Callable[[str], str]:
    """A function from a path below `static/` to its URL with the content hash of the build's manifest.

    Raises KeyError for a file that the build does not know, so a typing error fails in the first test.
    """
    manifest = static / "vendor" / "manifest.json"
    known: dict[str, str] = {}

    def asset_url(path: str) -> str:
        if not known or is_reloading:
            known.update(json.loads(manifest.read_text(encoding="utf-8")))
        # Symbols are listed by name, so that an icon nobody built fails here instead of staying empty.
        name, _, symbol = path.partition("#")
        return f"/static/{name}?v={known[path]}{'#' if symbol else ''}{symbol}"

    return asset_url


def _icon_maker(asset_url: Callable[[str], str]) -> Callable[..., Markup]:
    def icon(name: str, size: str = "") -> Markup:
        """A decorative icon: hidden from readers, so the control beside it needs its own words."""
        kind = {"": "icon", "small": "icon icon-small", "large": "icon icon-large"}[size]
        return Markup(
            '<svg class="{}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-linecap="round" '
            'stroke-linejoin="round" aria-hidden="true"><use href="{}"/></svg>'
        ).format(kind, asset_url(f"vendor/icons.svg#{name}"))

    return icon


def _filters() -> Mapping[str, Callable[..., Any]]:
    return {
        "time_of_day": pass_context(lambda context, at: words.time_of_day(at, zone=_zone(context))),
        "full_moment": pass_context(lambda context, at: words.full_moment(at, zone=_zone(context))),
        "short_moment": pass_context(
            lambda context, at: words.short_moment(at, now=_now(context), zone=_zone(context))
        ),
        "day_words": pass_context(
            lambda context, at: words.day_words(at, now=_now(context), zone=_zone(context))
        ),
        "date_words": pass_context(lambda context, at: words.date_words(at, zone=_zone(context))),
        "day_and_time": pass_context(
            lambda context, at: words.day_and_time(at, now=_now(context), zone=_zone(context))
        ),
        "ago": pass_context(lambda context, at: words.ago(at, now=_now(context))),
        "time_left": pass_context(lambda context, until: words.time_left(until, now=_now(context))),
        "clock_text": pass_context(lambda context, clock: words.clock_text(clock, now=_now(context))),
        "clock_left": pass_context(lambda context, clock: words.clock_left(clock, now=_now(context))),
        "groupby_day": pass_context(lambda context, events: words.by_day(events, zone=_zone(context))),
        "zone_words": words.zone_words,
        "epoch_ms": lambda at: int(at.timestamp() * 1000),
        "plural": words.plural,
        "masked_phone": words.masked_phone,
        "initials": words.initials,
        "person": _person,
    }


def _person(name: str) -> Markup:
    """A name isolated from the direction of the text around it."""
    return Markup("<bdi>{}</bdi>").format(name)


def _is_waiting(clock: ReplyClock) -> bool:
    return clock.state == "waiting"


def _zone(context: Context) -> str:
    return str(context["zone"])


def _now(context: Context) -> datetime:
    now = context["now"]
    if not isinstance(now, datetime):
        raise TypeError("templates need `now` as a datetime")
    return now
