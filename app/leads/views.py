"""What the lead page prints: the header, the conversation and the journey. Values only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.inbox.views import Composer, Thread
from app.web.views import DiagramEdge, DiagramNode, Fact, JourneyStage, ReplyClock, TimelineEvent

Automation = Literal["active", "paused", "held", "completed"]


@dataclass(frozen=True, slots=True)
class NextStep:
    """What the machine will do next and when, or why it will not."""

    title: str
    reason: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A stored answer to "why did nothing go out?": the gate or rule that held a message back."""

    key: str
    at: datetime
    words: str


@dataclass(frozen=True, slots=True)
class LeadAction:
    """A command on the enrolment. With `confirm_title` a dialog stands before it; `url` takes the POST.

    `reason_label` adds a field `reason` to the dialog.
    """

    key: str
    label: str
    icon: str
    url: str
    confirm_title: str = ""
    confirm_text: str = ""
    reason_label: str = ""


@dataclass(frozen=True, slots=True)
class WaitingCard:
    """A request of this lead that waits for its turn: for which campaign, until what, who asked, what may be done.

    `is_in_vain`: their rest lasts longer than the request may wait, unless a person ends one or the other.
    """

    request_id: int
    campaign: str
    until_words: str
    asked_words: str
    expires_at: datetime
    is_in_vain: bool = False
    actions: tuple[LeadAction, ...] = ()


@dataclass(frozen=True, slots=True)
class EnrolForm:
    """The question which campaign a lead is to join. `token` makes the form one wish, however often it is sent.

    `campaigns` are (key, name) pairs; `may_override`: this person may enrol in spite of a rest, with a reason.
    """

    contact_id: int | str
    lead_name: str
    campaigns: tuple[tuple[str, str], ...]
    token: str
    campaign: str = ""
    reason: str = ""
    may_override: bool = False


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """One answer to a review. With `confirm_title` a dialog stands before it."""

    verdict: Literal["sent", "again", "skip"]
    label: str
    icon: str
    confirm_title: str = ""
    confirm_text: str = ""


@dataclass(frozen=True, slots=True)
class ReviewCard:
    """A question that only a person can answer; without `what` it is about the journey alone.

    `why` is what stands against it, `to` the masked number, `looks` whether it was looked for at the provider.
    """

    task_id: int | str
    question: str
    answers: tuple[ReviewAnswer, ...]
    why: str = ""
    what: str = ""
    text: str = ""
    at: datetime | None = None
    to: str = ""
    provider: str = ""
    looks: str = ""


@dataclass(frozen=True, slots=True)
class StageRow:
    """A row of the table beside the diagram."""

    label: str
    entered_at: datetime | None
    note: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class LeadPage:
    """One lead. `timeline` is newest first; `version` changes with every event, `topics` tell when."""

    contact_id: int | str
    name: str
    about: str
    phone_masked: str
    stage: str
    position: str
    journey: tuple[JourneyStage, ...]
    automation: Automation
    automation_words: str
    consent_words: str
    facts: tuple[Fact, ...]
    timeline: tuple[TimelineEvent, ...]
    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]
    stages: tuple[StageRow, ...]
    topics: tuple[str, ...]
    owner_name: str | None = None
    suppression_words: str = ""
    clock: ReplyClock | None = None
    window_closes_at: datetime | None = None
    next_step: NextStep | None = None
    verdicts: tuple[Verdict, ...] = ()
    actions: tuple[LeadAction, ...] = ()
    handoff_id: int | str | None = None
    can_assign: bool = False
    can_take: bool = False
    thread: Thread | None = None
    composer: Composer | None = None
    reviews: tuple[ReviewCard, ...] = ()
    waiting: tuple[WaitingCard, ...] = ()
    can_enrol: bool = False
    older_timeline_url: str | None = None


@dataclass(frozen=True, slots=True)
class LeadListRow:
    """One lead in the list. `waits_for` names the campaigns they wait for their turn in."""

    contact_id: int | str
    name: str
    phone_masked: str
    stage: str
    automation_words: str
    campaign: str
    owner_name: str | None
    came_at: datetime
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class LeadChoice:
    """One choice of the list's filter by stage; `key` is empty for every stage."""

    key: str
    label: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class LeadList:
    """The leads a person may see, newest first. `next_url` leads on; None on the last page."""

    rows: tuple[LeadListRow, ...]
    stages: tuple[LeadChoice, ...]
    search: str = ""
    next_url: str | None = None
    is_filtered: bool = False


@dataclass(frozen=True, slots=True)
class ClosingForm:
    """The question how a journey ended that no handoff is open for. `not_now_until` is an ISO date; `lost_words` say
    what "lost" does.
    """

    enrolment_id: int | str
    lead_name: str
    outcome: str = ""
    not_now_until: str = ""
    earliest_date: str = ""
    problem: str = ""
    lost_words: str = ""
