"""A message as the provider keeps it, in either direction. Frozen: a change is a new value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from app.simulator.addresses import phone_of
from app.simulator.faults import CallbackScript

Status = Literal[
    "accepted",
    "scheduled",
    "queued",
    "sending",
    "sent",
    "delivered",
    "read",
    "failed",
    "undelivered",
    "canceled",
    "received",
]
INITIAL: frozenset[str] = frozenset({"accepted", "queued"})
NOT_DELIVERED: frozenset[str] = frozenset({"failed", "undelivered", "canceled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button of a template: a quick reply answers with its payload, a link opens its URL."""

    title: str
    kind: Literal["quick_reply", "url"] = "quick_reply"
    payload: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place that a phone shared, in decimal degrees."""

    latitude: float
    longitude: float
    address: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. Times are real milliseconds since 1970; `demo_ms` is what the phone shows."""

    sid: str
    direction: Literal["outbound-api", "inbound"]
    kind: str
    status: Status
    to: str
    sender: str | None
    body: str
    created_ms: int
    updated_ms: int
    demo_ms: int
    sent_ms: int | None = None
    messaging_service_sid: str | None = None
    content_sid: str | None = None
    content_variables: str | None = None
    buttons: tuple[Button, ...] = ()
    media_types: tuple[str, ...] = ()
    media_urls: tuple[str, ...] = ()
    location: Location | None = None
    status_callback: str | None = None
    send_at_ms: int | None = None
    error_code: int | None = None
    error_message: str | None = None
    replied_to: str | None = None
    button_payload: str | None = None
    outside_window: bool = False
    answered: bool | None = None
    """Inbound: whether the business took it; None while that is not known."""
    stalled: bool = False
    """Nothing more will happen to it by itself (planted history, or a fault said so)."""
    script: CallbackScript = field(default_factory=CallbackScript)

    @property
    def phone(self) -> str:
        """The lead's phone, whichever the direction."""
        return phone_of(self.to if self.direction == "outbound-api" else self.sender or "")

    @property
    def business(self) -> str | None:
        """The business's address, None while a messaging service has not picked one."""
        return self.sender if self.direction == "outbound-api" else self.to

    @property
    def is_outbound(self) -> bool:
        """True for what the business sent."""
        return self.direction == "outbound-api"

    @property
    def attempt(self) -> str | None:
        """The sender's own attempt id, from the query of its status callback."""
        return attempt_in(self.status_callback)


def attempt_in(status_callback: str | None) -> str | None:
    """Return the `attempt` in the query of a status callback's URL."""
    if status_callback is None:
        return None
    try:
        values = parse_qs(urlsplit(status_callback).query).get("attempt")
    except ValueError:
        return None
    return values[0] if values else None


def media_sid(message_sid: str, index: int) -> str:
    """Return the media id that belongs to a message: the same digits, the last two replaced by its place."""
    return f"ME{message_sid[2:-2]}{index:02x}"
