"""Which listed message, if any, is the one whose outcome we do not know?"""

from app.messaging.domain.addresses import parse_address
from app.messaging.gateways.base import (
    CannotTell,
    FindResult,
    Found,
    ListedMessage,
    Listing,
    NotFound,
    SentQuery,
    sender_wire,
)


def match_sent(query: SentQuery, listing: Listing) -> FindResult:
    """Found only if exactly one message fits and no other attempt explains it.

    A candidate is ours (`outbound-api`), to the same address, from the same sender or service as far as
    listed, created in the period and not known. With the same text it fits. A candidate with another text, or
    without a readable time, might still be ours: then nobody can tell.
    """
    candidates = [message for message in listing.messages if _is_candidate(query, message)]
    fitting = [message for message in candidates if _fits(query, message)]
    if len(fitting) > 1:
        return CannotTell("several_fit")
    if len(fitting) == 1:
        return _found(fitting[0])
    if candidates:
        return CannotTell("unexplained_message")
    return NotFound(complete=listing.complete)


def _is_candidate(query: SentQuery, message: ListedMessage) -> bool:
    return (
        message.direction == "outbound-api"
        and message.provider_message_id not in query.known_provider_ids
        and parse_address(message.to_address or "") == query.to
        and _same_or_unlisted(
            sender_wire(channel=query.to.channel, sender=query.sender), message.from_address
        )
        and _same_or_unlisted(query.messaging_service_sid, message.messaging_service_sid)
        and _in_period(query, message)
    )


def _same_or_unlisted(wanted: str | None, listed: str | None) -> bool:
    """An accepted message has no sender yet; a query without one takes any."""
    return wanted is None or listed is None or wanted == listed


def _in_period(query: SentQuery, message: ListedMessage) -> bool:
    """The list has full seconds, so the beginning is taken down to its second."""
    if message.created_at is None:
        return True
    return query.created_from.replace(microsecond=0) <= message.created_at < query.created_to


def _fits(query: SentQuery, message: ListedMessage) -> bool:
    if message.created_at is None:
        return False
    return query.body is None or _spaced(query.body) == _spaced(message.body)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _found(message: ListedMessage) -> FindResult:
    if message.created_at is None:
        return CannotTell("unreadable_time")
    return Found(
        message.provider_message_id, message.status, message.body, message.created_at, message.error_code
    )
