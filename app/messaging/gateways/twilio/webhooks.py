"""Twilio's webhook fields read into our inbound messages and status reports. Nothing given makes it raise."""

from math import isfinite
from typing import Final

from app.kernel.names import clean_name
from app.messaging.domain.addresses import Address, parse_address
from app.messaging.domain.inbound import (
    InboundKind,
    InboundMessage,
    Location,
    MediaRef,
    Unprocessable,
    UnprocessableReason,
)
from app.messaging.domain.statuses import StatusEvent, rank_of
from app.messaging.gateways.twilio.forms import FormFields, UnreadableFormError, parse_urlencoded

MOST_MEDIA: Final = 10
LONGEST_ATTEMPT_ID: Final = 100

_KINDS: Final = {
    "text": InboundKind.TEXT,
    "image": InboundKind.IMAGE,
    "audio": InboundKind.AUDIO,
    "voice": InboundKind.AUDIO,
    "video": InboundKind.VIDEO,
    "document": InboundKind.DOCUMENT,
    "sticker": InboundKind.STICKER,
    "location": InboundKind.LOCATION,
    "contacts": InboundKind.CONTACT_CARD,
    "button": InboundKind.BUTTON,
}
_CARD_TYPES: Final = frozenset({"text/vcard", "text/x-vcard", "text/directory"})


def parse_inbound(fields: FormFields) -> InboundMessage | Unprocessable:
    """Read an inbound message. Unknown message types are kept as `unsupported`, unknown fields in `raw`.

    Without a message id, a readable sender or recipient the result is `Unprocessable`, to be stored as it is.
    """
    message_id = _first(fields, "MessageSid", "SmsMessageSid", "SmsSid")
    if message_id is None:
        return _unprocessable(fields, UnprocessableReason.NO_MESSAGE_ID)
    sender = _address(fields, "From", UnprocessableReason.NO_SENDER, UnprocessableReason.UNKNOWN_SENDER)
    if isinstance(sender, Unprocessable):
        return sender
    recipient = _address(
        fields, "To", UnprocessableReason.NO_RECIPIENT, UnprocessableReason.UNKNOWN_RECIPIENT
    )
    if isinstance(recipient, Unprocessable):
        return recipient
    media = _media(fields)
    location = _location(fields)
    name = clean_name(fields.get("ProfileName"))
    return InboundMessage(
        provider_message_id=message_id,
        from_address=sender,
        to_address=recipient,
        kind=_kind(fields, media, location),
        text=fields.get("Body") or fields.get("ButtonText") or fields.get("ListTitle"),
        profile_name=name.name or "",
        media=media,
        button_payload=_first(fields, "ButtonPayload"),
        list_id=_first(fields, "ListId"),
        location=location,
        replied_to_id=_first(fields, "OriginalRepliedMessageSid"),
        forwarded=any(fields.get(name).lower() == "true" for name in ("Forwarded", "FrequentlyForwarded")),
        opt_out_type=(_first(fields, "OptOutType") or "").upper() or None,
        external_user_id=parse_address(fields.get("ExternalUserId")),
        messaging_service_sid=_first(fields, "MessagingServiceSid"),
        notes=(*fields.notes(), *(f"{change}:ProfileName" for change in name.warnings)),
        raw=fields.raw(),
    )


def parse_status(fields: FormFields, *, raw_query: str | bytes) -> StatusEvent | Unprocessable:
    """Read a status report; the attempt id comes from the query of the address that we gave with the send."""
    message_id = _first(fields, "MessageSid", "SmsSid")
    if message_id is None:
        return _unprocessable(fields, UnprocessableReason.NO_MESSAGE_ID)
    status = (_first(fields, "MessageStatus", "SmsStatus") or "").lower()
    if not status:
        return _unprocessable(fields, UnprocessableReason.NO_STATUS)
    return StatusEvent(
        provider_message_id=message_id,
        attempt_id=_attempt_id(raw_query),
        status=status,
        rank=rank_of(status),
        error_code=_code(fields.get("ErrorCode")),
        error_message=fields.get("ErrorMessage") or fields.get("ChannelStatusMessage"),
        to_address=parse_address(fields.get("To")),
        from_address=parse_address(fields.get("From")),
        raw=fields.raw(),
    )


def _kind(fields: FormFields, media: tuple[MediaRef, ...], location: Location | None) -> InboundKind:
    stated = fields.get("MessageType").strip().lower()
    if stated == "interactive":
        return _interactive_kind(fields)
    if stated and stated not in _KINDS:
        return InboundKind.UNSUPPORTED
    kind = _KINDS.get(stated)
    if kind is not None and not (kind is InboundKind.TEXT and media):
        return kind
    # SMS/MMS and older senders state no type: the fields themselves tell.
    if media:
        return _media_kind(media[0].content_type)
    if location is not None:
        return InboundKind.LOCATION
    return InboundKind.BUTTON if fields.get("ButtonPayload") else InboundKind.TEXT


def _interactive_kind(fields: FormFields) -> InboundKind:
    if fields.get("ListId"):
        return InboundKind.LIST_REPLY
    return InboundKind.BUTTON if fields.get("ButtonPayload") else InboundKind.UNSUPPORTED


def _media_kind(content_type: str) -> InboundKind:
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _CARD_TYPES:
        return InboundKind.CONTACT_CARD
    by_family = {"image": InboundKind.IMAGE, "audio": InboundKind.AUDIO, "video": InboundKind.VIDEO}
    return by_family.get(kind.partition("/")[0], InboundKind.DOCUMENT)


def _media(fields: FormFields) -> tuple[MediaRef, ...]:
    found = ((fields.get(f"MediaUrl{n}"), fields.get(f"MediaContentType{n}")) for n in range(MOST_MEDIA))
    return tuple(MediaRef(url, content_type) for url, content_type in found if url)


def _location(fields: FormFields) -> Location | None:
    try:
        latitude, longitude = float(fields.get("Latitude")), float(fields.get("Longitude"))
    except ValueError:
        return None
    if not (isfinite(latitude) and isfinite(longitude) and abs(latitude) <= 90 and abs(longitude) <= 180):
        return None
    return Location(latitude, longitude, fields.get("Label"), fields.get("Address"))


def _address(
    fields: FormFields, name: str, missing: UnprocessableReason, unreadable: UnprocessableReason
) -> Address | Unprocessable:
    text = fields.get(name).strip()
    if not text:
        return _unprocessable(fields, missing)
    return parse_address(text) or _unprocessable(fields, unreadable)


def _unprocessable(fields: FormFields, reason: UnprocessableReason) -> Unprocessable:
    message_id = _first(fields, "MessageSid", "SmsMessageSid", "SmsSid")
    return Unprocessable(reason, message_id, fields.raw())


def _first(fields: FormFields, *names: str) -> str | None:
    return next((value for name in names if (value := fields.get(name).strip())), None)


def _code(text: str) -> int | None:
    stripped = text.strip()
    return (
        int(stripped)
        if stripped.isascii() and stripped.isdigit() and len(stripped) <= 9 and int(stripped)
        else None
    )


def _attempt_id(raw_query: str | bytes) -> str | None:
    query = raw_query if isinstance(raw_query, bytes) else raw_query.encode("utf-8", "replace")
    try:
        fields = parse_urlencoded(query)
    except UnreadableFormError:
        return None
    return fields.get("attempt")[:LONGEST_ATTEMPT_ID] or None
