"""What the inbox prints: conversations, a thread, the composer and the template picker. Values only."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from app.web.views import LeadPanel, ReplyClock

BubbleState = Literal["queued", "sending", "sent", "delivered", "read", "failed", "unknown", "received"]
ComposerMode = Literal["free", "template", "blocked"]


@dataclass(frozen=True, slots=True)
class InboxTab:
    """Mine, pool or all, with its count."""

    key: str
    label: str
    href: str
    count: int | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation in the list. `clock` is None where no clock was ever started."""

    conversation_id: int | str
    name: str
    href: str
    last_text: str
    last_at: datetime
    is_last_ours: bool = False
    last_text_lang: str | None = None
    unread: int = 0
    clock: ReplyClock | None = None
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Media:
    """A file in a message, shown as kind and caption: `Photo`, `Voice message, 0:14`, …"""

    kind: Literal["image", "audio", "video", "document", "location", "contact", "sticker", "other"]
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DayLine:
    """The line that starts a day in the thread."""

    kind: ClassVar[str] = "day"
    key: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SystemLine:
    """A centred line about what happened: handed off, machine paused, window closed."""

    kind: ClassVar[str] = "system"
    key: str
    at: datetime
    words: str


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message. `failure` says in plain words why it did not arrive.

    `retry_url` takes a POST where trying again helps.
    `source` stands before the time: the author's first name, or `Campaign` for the machine's own messages.
    """

    kind: ClassVar[str] = "bubble"
    key: str
    way: Literal["in", "out"]
    at: datetime
    text: str
    state: BubbleState
    lang: str | None = None
    source: str = ""
    failure: str = ""
    retry_url: str | None = None
    media: tuple[Media, ...] = ()
    reply_to: str = ""


ThreadItem = DayLine | SystemLine | Bubble


@dataclass(frozen=True, slots=True)
class Thread:
    """The messages of one conversation, oldest first. `version` rises with every message from the lead.

    `mode` is the composer's mode now; when it changes, the browser fetches the composer anew.
    `is_unread`: somebody who sees this has read it up to `version`.
    """

    conversation_id: int | str
    version: int
    name: str
    items: tuple[ThreadItem, ...]
    mode: ComposerMode
    topics: tuple[str, ...]
    older_url: str | None = None
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """A run of template text; with `variable` it is the value of that variable."""

    text: str
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """A place to fill, already filled from the lead where the lead is known well enough."""

    name: str
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """An approved template that may be sent now."""

    template_id: int | str
    name: str
    lang: str
    language: str
    parts: tuple[TemplatePart, ...]
    variables: tuple[TemplateVariable, ...] = ()

    @property
    def lang_pair(self) -> tuple[str, str]:
        """Code and name of the language, for the picker's filter."""
        return self.lang, self.language


@dataclass(frozen=True, slots=True)
class Composer:
    """Where an answer is written. `client_id` is a fresh UUID; script replaces it by its own.

    mode: `free` (the window is open), `template` (closed: only templates), `blocked` (see `blocked_words`).
    longest: how many UTF-16 units, as a browser counts, fit into one message.
    """

    conversation_id: int | str
    version: int
    client_id: str
    lead_name: str
    mode: ComposerMode
    longest: int
    templates: tuple[TemplateChoice, ...] = ()
    window_closes_at: datetime | None = None
    draft: str = ""
    problem: str = ""
    blocked_words: str = ""


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """The line above a thread."""

    conversation_id: int | str
    contact_id: int | str
    name: str
    about: str
    clock: ReplyClock | None = None
    owner_name: str | None = None
    handoff_id: int | str | None = None
    can_take: bool = False
    can_assign: bool = False


@dataclass(frozen=True, slots=True)
class InboxPage:
    """The inbox: the list, and one conversation when one is open. `list_url` answers the list alone.

    `tab` is the current one's key; `earlier_url` leads to the conversations after the last shown.
    """

    tabs: tuple[InboxTab, ...]
    rows: tuple[ConversationRow, ...]
    topics: tuple[str, ...]
    list_url: str
    search: str = ""
    tab: str = ""
    earlier_url: str | None = None
    head: ConversationHead | None = None
    thread: Thread | None = None
    composer: Composer | None = None
    panel: LeadPanel | None = None
    empty_words: str = "No conversations here yet. An answer from a lead appears by itself."
