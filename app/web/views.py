"""Plain shapes that several screens show: clocks, timelines, the lead panel, the diagram, the page shell.

Everything here is a value. Queries fill them, templates print them; neither side decides anything with them.
Moments are timezone-aware; the templates print them in the reader's zone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ClockState = Literal["on_time", "soon", "overdue", "waiting"]


@dataclass(frozen=True, slots=True)
class ReplyClock:
    """A reply clock. With state `waiting` no time runs and `words` says why; otherwise `due_at` is set.

    `started_at` gives the ring its full circle, `warn_at` is when the browser turns it to "due soon".
    """

    state: ClockState
    due_at: datetime | None = None
    warn_at: datetime | None = None
    started_at: datetime | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the facts list. `until` prints a running "23 h 34 m left" instead of the value."""

    label: str
    value: str
    lang: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One ledger event in words. `key` is stable and becomes part of the row's DOM id."""

    key: str
    at: datetime
    title: str
    detail: str = ""
    actor: str = ""
    cause: str = ""
    is_latest: bool = False


@dataclass(frozen=True, slots=True)
class JourneyStage:
    """One segment of the journey bar."""

    label: str
    state: Literal["past", "now", "ahead"]


@dataclass(frozen=True, slots=True)
class LeadPanel:
    """The side panel about one lead, beside the queue and a conversation; `topics` tell it to refetch."""

    contact_id: int | str
    name: str
    stage: str
    position: str
    journey: tuple[JourneyStage, ...]
    facts: tuple[Fact, ...]
    timeline: tuple[TimelineEvent, ...]
    topics: tuple[str, ...] = ()
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class DiagramNode:
    """A stage on the state diagram at a grid position (column and row count from 0)."""

    key: str
    label: str
    column: int
    row: int
    note: str = ""
    kind: Literal["fixed", "optional", "end"] = "fixed"
    is_current: bool = False
    is_visited: bool = False


@dataclass(frozen=True, slots=True)
class DiagramEdge:
    """An arrow between two nodes, named by their keys."""

    start: str
    end: str
    label: str = ""
    is_optional: bool = False
    is_walked: bool = False


@dataclass(frozen=True, slots=True)
class NavItem:
    """A place in the navigation. `count` None shows no number."""

    key: str
    label: str
    href: str
    icon: str
    count: int | None = None
    group: Literal["work", "manage"] = "work"


@dataclass(frozen=True, slots=True)
class Reader:
    """The signed-in person who reads the page. `zone` is an IANA name."""

    user_id: int | str
    name: str
    role: str
    role_words: str
    zone: str


@dataclass(frozen=True, slots=True)
class Availability:
    """An adviser's own switch and load bar; load = handoffs not closed."""

    is_taking: bool
    load: int
    capacity: int


@dataclass(frozen=True, slots=True)
class DemoTime:
    """The demo clock as shown: business time now, and how many times faster than real time it runs."""

    now: datetime
    rate: int


@dataclass(frozen=True, slots=True)
class Shell:
    """What stands around every signed-in page."""

    organisation: str
    workspace: str
    reader: Reader
    nav: tuple[NavItem, ...]
    current: str
    topics: tuple[str, ...]
    availability: Availability | None = None
    demo: DemoTime | None = None
    has_single_letter_keys: bool = True
