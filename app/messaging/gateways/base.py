"""The port to a messaging provider. Outcomes are values; "unknown" is one of them and never a failure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from app.messaging.domain.addresses import Address, AddressKind, Channel, parse_address
from app.messaging.domain.error_map import Disposition
from app.messaging.domain.statuses import StatusEvent

__all__ = [
    "Accepted",
    "Address",
    "AddressKind",
    "CannotTell",
    "Channel",
    "Disposition",
    "FindResult",
    "Found",
    "Gateway",
    "ListResult",
    "ListedMessage",
    "Listing",
    "NoSuchMessage",
    "NotFound",
    "NotSent",
    "OutMessage",
    "Rejected",
    "SendResult",
    "SentQuery",
    "StatusResult",
    "TemplateContent",
    "Unknown",
    "parse_address",
    "sender_wire",
]

_SERVICE_SID = re.compile(r"MG[0-9a-fA-F]{32}")


@dataclass(frozen=True, slots=True)
class TemplateContent:
    """An approved template at the provider, with a value for each of its variables."""

    content_sid: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutMessage:
    """One attempt to send. `attempt_id` is ours and comes back in every status report.

    Raises `ValueError` unless there is exactly one of body and template, and a sender, a service or both.
    """

    attempt_id: str
    to: Address
    sender: str | None = None
    """A number in E.164 or an alphanumeric sender name, with or without the channel's prefix."""
    messaging_service_sid: str | None = None
    body: str | None = None
    template: TemplateContent | None = None
    validity_seconds: int | None = None
    """After this many seconds the provider must no longer deliver; None: its own default."""

    def __post_init__(self) -> None:
        if (self.body is None) == (self.template is None):
            raise ValueError("a message has either a body or a template")
        if self.body is not None and not self.body.strip():
            raise ValueError("a body is not blank")
        if self.sender is None and self.messaging_service_sid is None:
            raise ValueError("a message needs a sender or a messaging service")
        if self.messaging_service_sid is not None and not _SERVICE_SID.fullmatch(self.messaging_service_sid):
            raise ValueError("a messaging service is MG and 32 hexadecimal digits")

    @property
    def sender_wire(self) -> str | None:
        """The sender in the spelling of the channel."""
        return sender_wire(channel=self.to.channel, sender=self.sender)


def sender_wire(*, channel: Channel, sender: str | None) -> str | None:
    """A sender with the prefix that its channel needs; one that has it stays as it is."""
    if sender is None or channel is not Channel.WHATSAPP or sender.startswith("whatsapp:"):
        return sender
    return f"whatsapp:{sender}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider has the message. It says nothing about delivery."""

    provider_message_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The provider answered that it did not take the message: certainly not sent."""

    code: int | None
    message: str
    disposition: Disposition
    retry_after_seconds: float | None = None
    """For what is worth another attempt: how long to wait at least."""


@dataclass(frozen=True, slots=True)
class NotSent:
    """Certainly not sent, and worth another attempt: no connection, or refused for its rate."""

    reason: str
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows: the request may have been carried out. Only a look-up or a person may decide."""

    reason: str


SendResult = Accepted | Rejected | NotSent | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class SentQuery:
    """What an attempt of unknown outcome would look like in the provider's list.

    The period is half-open, in UTC; the caller widens it by the clocks' possible difference. `body` is the
    full text, for a template as rendered; None when it is not known.
    """

    attempt_id: str
    to: Address
    created_from: datetime
    created_to: datetime
    body: str | None = None
    sender: str | None = None
    messaging_service_sid: str | None = None
    known_provider_ids: frozenset[str] = frozenset()
    """Messages to this address that other attempts already explain."""


@dataclass(frozen=True, slots=True)
class Found:
    """Exactly one unexplained message fits."""

    provider_message_id: str
    status: str
    body: str
    created_at: datetime
    error_code: int | None = None


@dataclass(frozen=True, slots=True)
class NotFound:
    """Nothing fits. `complete`: the whole list was read; else the bound of the look-up was reached first."""

    complete: bool


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The look-up itself gave no answer, or more than one message fits."""

    reason: str


FindResult = Found | NotFound | CannotTell


@dataclass(frozen=True, slots=True)
class NoSuchMessage:
    """The provider knows no message of that id."""


StatusResult = StatusEvent | NoSuchMessage | CannotTell


@dataclass(frozen=True, slots=True)
class ListedMessage:
    """A message as the provider lists it, in either direction."""

    provider_message_id: str
    direction: str
    from_address: str | None
    to_address: str | None
    body: str
    status: str
    messaging_service_sid: str | None
    created_at: datetime | None
    error_code: int | None

    @property
    def is_inbound(self) -> bool:
        return self.direction == "inbound"


@dataclass(frozen=True, slots=True)
class Listing:
    """Messages in the provider's order. `complete` is false when the bound was reached."""

    messages: tuple[ListedMessage, ...]
    complete: bool


ListResult = Listing | CannotTell


class Gateway(Protocol):
    """A provider. Each call ends within `deadline` seconds and is made once: no call repeats itself.

    Provider and network trouble comes back as a value; only cancellation is raised.
    """

    async def send(self, message: OutMessage, *, deadline: float) -> SendResult: ...

    async def find_sent(self, query: SentQuery, *, deadline: float) -> FindResult: ...

    async def fetch_status(self, provider_message_id: str, *, deadline: float) -> StatusResult: ...

    async def list_messages(
        self, *, created_from: datetime, created_to: datetime, deadline: float
    ) -> ListResult: ...

    async def aclose(self) -> None: ...
