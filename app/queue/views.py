"""What the queue page prints: rows in rank order, counts, and the panel about one lead. Values only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.web.views import LeadPanel, ReplyClock

QueueGroup = Literal["now", "today", "waiting", "pool"]
NextActionKind = Literal["reply", "take", "review", "wait"]


@dataclass(frozen=True, slots=True)
class NextAction:
    """The one thing to do next with a lead, in words such as `First reply`."""

    kind: NextActionKind
    label: str


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One lead in the queue. `reasons` are the parts of its rank in words, most important first.

    `about` is a short line after the name. `can_take` and `can_assign` are decided for this reader.
    Without `conversation_id` there is nothing to reply to. `review_url` leads to a question that only a person
    can answer; with `comes_to_review` that is what the lead stands here for.
    """

    contact_id: int | str
    name: str
    about: str
    stage: str
    group: QueueGroup
    clock: ReplyClock
    next_action: NextAction
    reasons: tuple[str, ...] = ()
    last_text: str = ""
    last_text_lang: str | None = None
    channel: str = "WhatsApp"
    window_closes_at: datetime | None = None
    owner_name: str | None = None
    handoff_id: int | str | None = None
    conversation_id: int | str | None = None
    can_take: bool = False
    can_assign: bool = False
    review_url: str | None = None
    comes_to_review: bool = False


@dataclass(frozen=True, slots=True)
class SegmentOption:
    """One choice of the filter over the list."""

    key: str
    label: str
    href: str
    count: int | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class StageOption:
    """One choice of the filter by stage; `key` is empty for every stage."""

    key: str
    label: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ClockCounts:
    """How many reply clocks of the whole segment stand where."""

    overdue: int
    soon: int
    on_time: int


@dataclass(frozen=True, slots=True)
class QueuePage:
    """The queue, in rank order; the first row is shown as a card unless it waits on the lead.

    `topics` are the Socket.IO rooms that change it; `rows_url` answers the list alone.
    """

    rows: tuple[QueueRow, ...]
    segments: tuple[SegmentOption, ...]
    counts: ClockCounts
    total: int
    topics: tuple[str, ...]
    rows_url: str
    panel: LeadPanel | None = None
    stages: tuple[StageOption, ...] = ()
    segment: str = ""
    empty_words: str = "Nobody is waiting for you. New answers appear here by themselves."
    empty_href: str = "/inbox"
    empty_action: str = "Open the inbox"


@dataclass(frozen=True, slots=True)
class AdviserChoice:
    """A person a handoff can be given to, with the load that routing sees."""

    user_id: int | str
    name: str
    note: str
    load: int
    capacity: int
    is_ready: bool = True
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class AssignmentForm:
    """The dialog that gives a handoff to somebody, or back to the pool.

    `asks_reason`: somebody is full, and to go above a capacity needs a reason.
    """

    handoff_id: int | str
    lead_name: str
    advisers: tuple[AdviserChoice, ...]
    owner_name: str | None = None
    problem: str = ""
    asks_reason: bool = False


@dataclass(frozen=True, slots=True)
class OutcomeForm:
    """The dialog that closes a handoff with its outcome. `not_now_until` is an ISO date.

    `has_journey`: a campaign waits for this lead, so there is always something to do.
    `lost_words` say what "lost" does.
    """

    handoff_id: int | str
    lead_name: str
    outcome: str = ""
    not_now_until: str = ""
    earliest_date: str = ""
    note: str = ""
    problem: str = ""
    has_journey: bool = False
    lost_words: str = ""
