"""Reading a create request: the checks of the provider's Messages resource, in its error codes.

Source: twilio.com/docs/messaging/api/message-resource and twilio.com/docs/api/errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from app.simulator.addresses import is_address, is_whatsapp
from app.simulator.contents import read_variables
from app.simulator.refusals import Refusal
from app.simulator.timekeeping import milliseconds

MAX_BODY = 1600
MAX_MEDIA = 10
_SERVICE = re.compile(r"MG[0-9a-fA-F]{32}")
_CONTENT = re.compile(r"HX[0-9a-fA-F]{32}")
_SHORT_CODE_OR_NAME = re.compile(r"\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|[0-9a-fA-F:]+")
_SOONEST = timedelta(minutes=5)
_LATEST = timedelta(days=35)


class Form:
    """A form body: names may repeat, blank values count as absent."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def get(self, name: str) -> str | None:
        """Return the first value, None when absent or blank."""
        values = self._values.get(name)
        return values[0] if values and values[0] != "" else None

    def raw(self, name: str) -> str | None:
        """Return the first value as it came, also when blank."""
        values = self._values.get(name)
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value that is not blank."""
        return tuple(value for value in self._values.get(name, ()) if value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRequest:
    """A create request that passed all checks which need no knowledge of the account."""

    to: str
    sender: str | None
    messaging_service_sid: str | None
    body: str
    media_urls: tuple[str, ...]
    content_sid: str | None
    content_variables: str | None
    values: dict[str, str]
    status_callback: str | None
    send_at_ms: int | None


def read_create_request(form: Form, *, now_ms: int) -> CreateRequest:
    """Return what the form asks for. Raises Refusal with the provider's code for the first thing wrong."""
    to = _recipient(form)
    service, sender = _sender(form, to=to)
    content_sid = _content_sid(form)
    values = read_variables(form.raw("ContentVariables"))
    body, media_urls = _words(form, content_sid=content_sid)
    return CreateRequest(
        to=to,
        sender=sender,
        messaging_service_sid=service,
        body=body,
        media_urls=media_urls,
        content_sid=content_sid,
        content_variables=form.get("ContentVariables"),
        values=values,
        status_callback=_callback(form),
        send_at_ms=_send_at(form, service=service, now_ms=now_ms),
    )


def _recipient(form: Form) -> str:
    to = form.get("To")
    if to is None:
        raise Refusal(21604, "A 'To' phone number is required.")
    if not is_address(to):
        raise Refusal(21211, f"The 'To' number {to} is not a valid phone number.")
    return to


def _sender(form: Form, *, to: str) -> tuple[str | None, str | None]:
    service, sender = form.get("MessagingServiceSid"), form.get("From")
    if service is None and sender is not None and _SERVICE.fullmatch(sender):
        service, sender = sender, None
    if service is None and sender is None:
        raise Refusal(21603, "A 'From' phone number is required.")
    if service is not None and not _SERVICE.fullmatch(service):
        raise Refusal(21701, "The Messaging Service does not exist.")
    if sender is not None:
        _check_sender(sender, to=to)
    return service, sender


def _check_sender(sender: str, *, to: str) -> None:
    if is_whatsapp(sender) != is_whatsapp(to):
        raise Refusal(21910, "Invalid 'From' and 'To' pair. 'From' and 'To' should be of the same channel")
    if sender == to:
        raise Refusal(63031 if is_whatsapp(to) else 21266, "'To' and 'From' number cannot be the same")
    if is_whatsapp(sender) and not is_address(sender):
        raise Refusal(63007, "Twilio could not find a Channel with the specified From address")
    if not is_address(sender) and not _SHORT_CODE_OR_NAME.fullmatch(sender):
        raise Refusal(
            21212,
            f"The 'From' number {sender} is not a valid phone number, shortcode, or alphanumeric sender ID.",
        )


def _content_sid(form: Form) -> str | None:
    content_sid = form.get("ContentSid")
    if content_sid is None and form.get("ContentVariables") is not None:
        raise Refusal(
            21654, "A ContentSid must be specified if ContentVariables are provided in the request."
        )
    if content_sid is not None and not _CONTENT.fullmatch(content_sid):
        raise unknown_content()
    return content_sid


def unknown_content() -> Refusal:
    """Return the refusal of a ContentSid that the account does not have."""
    return Refusal(21655, "The ContentSid is Invalid.")


def _words(form: Form, *, content_sid: str | None) -> tuple[str, tuple[str, ...]]:
    body, media_urls = form.get("Body") or "", form.all("MediaUrl")
    if content_sid is not None:
        return "", ()  # the template decides what is sent; Body and MediaUrl beside it are ignored
    if not body and not media_urls:
        raise Refusal(21619, "A text message body or media urls must be specified.")
    if len(body) > MAX_BODY:
        raise Refusal(21617, f"The concatenated message body exceeds the {MAX_BODY} character limit")
    if len(media_urls) > MAX_MEDIA:
        raise Refusal(21623, "Number of media files exceeds allowed limit")
    if not all(_is_url(url) for url in media_urls):
        raise Refusal(21620, "Invalid media URL(s)")
    return body, media_urls


def _callback(form: Form) -> str | None:
    url = form.get("StatusCallback")
    if url is not None and not _is_url(url):
        raise Refusal(21609, f"The 'StatusCallback' URL {url} is not a valid URL.")
    return url


def _is_url(url: str) -> bool:
    """Tell whether the provider would call this URL: http(s), and a host name without underscores."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"}
            and parts.hostname is not None
            and bool(_HOST.fullmatch(parts.hostname))
        )
    except ValueError:
        return False


def _send_at(form: Form, *, service: str | None, now_ms: int) -> int | None:
    if form.get("ScheduleType") is None:
        return None
    if service is None:
        raise Refusal(35118, "MessagingServiceSid is required to schedule a message")
    if form.get("ScheduleType") != "fixed":
        raise Refusal(35117, "ScheduleType must be 'fixed'")
    raw = form.get("SendAt")
    if raw is None:
        raise Refusal(35111, "SendAt timestamp is missing")
    try:
        send_at_ms = milliseconds(datetime.fromisoformat(raw))
    except ValueError:
        raise _bad_schedule(35115) from None
    if not _SOONEST <= timedelta(milliseconds=send_at_ms - now_ms) <= _LATEST:
        raise _bad_schedule(35114)
    return send_at_ms


def _bad_schedule(code: int) -> Refusal:
    return Refusal(
        code, "SendAt time must be between 300 seconds and 35 days (3024000 seconds) in the future, inclusive"
    )
