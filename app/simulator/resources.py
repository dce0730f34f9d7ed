"""The JSON of the provider's Messages resource: one message, and a page of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from urllib.parse import urlencode

from app.simulator.addresses import is_whatsapp
from app.simulator.messages import Message
from app.simulator.timekeeping import rfc2822

API_VERSION = "2010-04-01"
_GSM = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà^{}\\[~]|€"
)


def messages_uri(account_sid: str) -> str:
    """Return the path of the collection, without its `.json`."""
    return f"/{API_VERSION}/Accounts/{account_sid}/Messages"


def message_resource(message: Message, *, account_sid: str) -> dict[str, object]:
    """Return a message as the API shows it."""
    uri = f"{messages_uri(account_sid)}/{message.sid}"
    return {
        "account_sid": account_sid,
        "api_version": API_VERSION,
        "body": message.body,
        "date_created": rfc2822(message.created_ms),
        "date_sent": rfc2822(message.sent_ms),
        "date_updated": rfc2822(message.updated_ms),
        "direction": message.direction,
        "error_code": message.error_code,
        "error_message": message.error_message,
        "from": message.sender,
        "messaging_service_sid": message.messaging_service_sid,
        "num_media": str(len(message.media_types) or len(message.media_urls)),
        "num_segments": _segments(message),
        "price": None,
        "price_unit": None,
        "sid": message.sid,
        "status": message.status,
        "subresource_uris": {"media": f"{uri}/Media.json"},
        "to": message.to,
        "uri": f"{uri}.json",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which page of a list is asked for, and the filters that its links repeat."""

    number: int
    size: int
    filters: tuple[tuple[str, str], ...] = ()


def page_resource(messages: Sequence[Message], *, page: Page, account_sid: str) -> dict[str, object]:
    """Return one page of a list of messages, already filtered and in order."""
    start = page.number * page.size
    shown = messages[start : start + page.size]
    last = max(0, ceil(len(messages) / page.size) - 1)
    return {
        "first_page_uri": _page_uri(0, page=page, account_sid=account_sid),
        "end": start + max(0, len(shown) - 1),
        "previous_page_uri": _page_uri(page.number - 1, page=page, account_sid=account_sid)
        if page.number > 0
        else None,
        "messages": [message_resource(message, account_sid=account_sid) for message in shown],
        "uri": _page_uri(page.number, page=page, account_sid=account_sid),
        "page_size": page.size,
        "start": start,
        "next_page_uri": _page_uri(page.number + 1, page=page, account_sid=account_sid)
        if page.number < last
        else None,
        "page": page.number,
    }


def _page_uri(number: int, *, page: Page, account_sid: str) -> str:
    query = urlencode([*page.filters, ("PageSize", page.size), ("Page", number)])
    return f"{messages_uri(account_sid)}.json?{query}"


def _segments(message: Message) -> str:
    if message.status == "accepted":
        return "0"
    if is_whatsapp(message.to) or not message.body:
        return "1"
    if set(message.body) <= _GSM:
        length, single, part = len(message.body), 160, 153
    else:
        length, single, part = len(message.body.encode("utf-16-le")) // 2, 70, 67
    return "1" if length <= single else str(ceil(length / part))
