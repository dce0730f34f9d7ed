"""An inbound message as the product sees it, whatever provider it came through."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.messaging.domain.addresses import Address

RawFields = Mapping[str, str | list[str]]
"""The provider's own fields, cleaned for storage; a repeated field is a list."""


class InboundKind(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"
    STICKER = "sticker"
    LOCATION = "location"
    CONTACT_CARD = "contact_card"
    BUTTON = "button"
    LIST_REPLY = "list_reply"
    UNSUPPORTED = "unsupported"
    """A kind this version does not know: kept and shown as such, never an error."""


@dataclass(frozen=True, slots=True)
class MediaRef:
    """Where the provider keeps a file. Fetching needs credentials and a check of the host."""

    url: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Location:
    latitude: float
    longitude: float
    label: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message to us. `text` is the body or, with media, the caption; empty when there is none."""

    provider_message_id: str
    from_address: Address
    to_address: Address
    kind: InboundKind
    text: str
    profile_name: str
    """As a name is shown: one line without direction marks, of bounded length; empty when there is none."""
    media: tuple[MediaRef, ...]
    button_payload: str | None
    list_id: str | None
    location: Location | None
    replied_to_id: str | None
    forwarded: bool
    opt_out_type: str | None
    """What the provider itself recognised: STOP, START or HELP; it has then already answered the person."""
    external_user_id: Address | None
    messaging_service_sid: str | None
    notes: tuple[str, ...]
    """What cleaning changed, as `change:Field`."""
    raw: RawFields


class UnprocessableReason(StrEnum):
    NO_MESSAGE_ID = "no_message_id"
    NO_SENDER = "no_sender"
    UNKNOWN_SENDER = "unknown_sender"
    NO_RECIPIENT = "no_recipient"
    UNKNOWN_RECIPIENT = "unknown_recipient"
    NO_STATUS = "no_status"


@dataclass(frozen=True, slots=True)
class Unprocessable:
    """A genuine call that cannot become a message or status: to be stored as it is and shown."""

    reason: UnprocessableReason
    provider_message_id: str | None
    raw: RawFields
