"""Moments, counts and people in words: the pure text functions behind the template filters.

`static/js/clock.js` prints the same texts while time runs; change both together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from app.web.views import ReplyClock, TimelineEvent

CLOCK_STATE_WORDS = {
    "on_time": "On time",
    "soon": "Due soon",
    "overdue": "Overdue",
    "waiting": "Clock paused",
}
FORMS_OF_ADDRESS = frozenset(
    ["puan", "pn", "encik", "en", "cik", "tuan", "datuk", "datin", "dato", "mr", "mrs", "ms", "mdm", "dr"]
)


def time_of_day(at: datetime, *, zone: str) -> str:
    """`10:41` in the zone."""
    return at.astimezone(ZoneInfo(zone)).strftime("%H:%M")


def full_moment(at: datetime, *, zone: str) -> str:
    """`Mon 30 Nov 2026, 10:41, Kuala Lumpur time`: the form that never needs guessing."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M}, {zone_words(zone)}"


def short_moment(at: datetime, *, now: datetime, zone: str) -> str:
    """`10:41` today, `Sat` within the week around now, `21 Nov` this year, else `21 Nov 2025`."""
    local, today = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    distance = abs((local.date() - today.date()).days)
    if distance == 0:
        return f"{local:%H:%M}"
    if distance < 7:
        return f"{local:%a}"
    year = "" if local.year == today.year else f" {local.year}"
    return f"{local.day} {local:%b}{year}"


def day_words(at: datetime, *, now: datetime, zone: str) -> str:
    """`Today`, `Yesterday`, `Tomorrow` or `Friday 27 November` (with the year when it is another one)."""
    local, today = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    near = {0: "Today", -1: "Yesterday", 1: "Tomorrow"}.get((local.date() - today.date()).days)
    year = "" if local.year == today.year else f" {local.year}"
    return near or f"{local:%A} {local.day} {local:%B}{year}"


def date_words(at: datetime, *, zone: str) -> str:
    """`Sunday 29 November`."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%A} {local.day} {local:%B}"


def day_and_time(at: datetime, *, now: datetime, zone: str) -> str:
    """`Today 10:41`, `Tomorrow 09:00`, `Fri 4 Dec 09:00`: for plans."""
    local, today = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    near = {0: "Today", -1: "Yesterday", 1: "Tomorrow"}.get((local.date() - today.date()).days)
    return f"{near or f'{local:%a} {local.day} {local:%b}'} {local:%H:%M}"


@dataclass(frozen=True, slots=True)
class TimelineDay:
    """The events of one local day, in their order; `at` is the first of them."""

    at: datetime
    events: tuple[TimelineEvent, ...]


def by_day(events: Iterable[TimelineEvent], *, zone: str) -> list[TimelineDay]:
    """Split events, already in order, where the reader's date changes."""
    days = groupby(events, key=lambda event: event.at.astimezone(ZoneInfo(zone)).date())
    held = [tuple(group) for _, group in days]
    return [TimelineDay(group[0].at, group) for group in held]


def zone_words(zone: str) -> str:
    """`Asia/Kuala_Lumpur` → `Kuala Lumpur time`."""
    return f"{zone.rsplit('/', 1)[-1].replace('_', ' ')} time"


def ago(at: datetime, *, now: datetime) -> str:
    """`just now`, `4 min ago`, `3 h ago`, `2 days ago`; a future moment reads `in 4 min`."""
    seconds = (now - at).total_seconds()
    if abs(seconds) < 45:
        return "just now"
    words = _rough(abs(seconds))
    return f"{words} ago" if seconds > 0 else f"in {words}"


def _rough(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{minutes // 60} h"
    return plural(minutes // (24 * 60), "day")


def time_left(until: datetime, *, now: datetime) -> str:
    """`23 h 34 m`, `34 m`, `under 1 m`, `2 days`; `closed` once it has passed."""
    seconds = int((until - now).total_seconds())
    if seconds <= 0:
        return "closed"
    minutes = seconds // 60
    if minutes < 1:
        return "under 1 m"
    if minutes < 60:
        return f"{minutes} m"
    return f"{minutes // 60} h {minutes % 60:02d} m" if minutes < 48 * 60 else f"{minutes // 1440} days"


def clock_text(clock: ReplyClock, *, now: datetime) -> str:
    """What the clock reads: `3:24`, `1h 19m`, `2 days`, `−4:14` when overdue, its words while waiting."""
    if clock.due_at is None or clock.state == "waiting":
        return clock.words
    seconds = int((clock.due_at - now) / timedelta(seconds=1))
    sign = "−" if seconds < 0 else ""
    return sign + _span(abs(seconds))


def _span(seconds: int) -> str:
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d}"
    if seconds < 48 * 3600:
        return f"{seconds // 3600}h {seconds % 3600 // 60:02d}m"
    return f"{seconds // 86400} days"


def clock_left(clock: ReplyClock, *, now: datetime) -> float:
    """How much of the ring is left, 0 to 1."""
    if clock.due_at is None or clock.started_at is None or clock.due_at <= clock.started_at:
        return 1.0
    share = (clock.due_at - now) / (clock.due_at - clock.started_at)
    return round(min(1.0, max(0.0, share)), 3)


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 lead`, `18 leads`, `1,200 leads`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def masked_phone(phone: str) -> str:
    """`+60124824821` → `+60 12-•••• 4821`: enough to recognise, not enough to copy."""
    digits = "".join(character for character in phone if character.isdigit())
    if len(digits) < 7:
        return "••••"
    if digits.startswith("60"):
        return f"+60 {digits[2:4]}-•••• {digits[-4:]}"
    return f"+{digits[:2]} •••• {digits[-4:]}"


def initials(name: str) -> str:
    """One or two letters for the round face; forms of address do not count. Works for any script."""
    words = [word for word in name.split() if word and word[0].isalpha()]
    named = [word for word in words if word.lower().strip(".") not in FORMS_OF_ADDRESS] or words
    if not named:
        return "?"
    if not named[0].isascii():
        return named[0][0]
    return "".join(word[0] for word in named[:2]).upper()
