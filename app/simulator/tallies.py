"""Counting what phones really received: a message counts once the simulator accepted it, whatever its caller
was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.simulator.messages import NOT_DELIVERED, Message

FIELDS: dict[str, Callable[[Message], str | None]] = {
    "to": lambda message: message.to,
    "phone": lambda message: message.phone,
    "content_sid": lambda message: message.content_sid,
    "content_variables": lambda message: message.content_variables,
    "body": lambda message: message.body,
    "sender": lambda message: message.business,
    "attempt": lambda message: message.attempt,
    "status": lambda message: message.status,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Messages that agree in the fields grouped by."""

    group: dict[str, str | None]
    accepted: int
    failed: int
    """Of these: failed, undelivered or cancelled later."""
    sids: tuple[str, ...]


def tally(messages: Iterable[Message], *, by: Iterable[str]) -> list[Tally]:
    """Return the outbound messages counted by these fields. Raises KeyError for an unknown field."""
    readers = [(name, FIELDS[name]) for name in by]
    groups: dict[tuple[str | None, ...], list[Message]] = {}
    for message in messages:
        if message.is_outbound:
            groups.setdefault(tuple(read(message) for _, read in readers), []).append(message)
    return [
        Tally(
            group=dict(zip((name for name, _ in readers), values, strict=True)),
            accepted=len(members),
            failed=sum(member.status in NOT_DELIVERED for member in members),
            sids=tuple(member.sid for member in members),
        )
        for values, members in groups.items()
    ]


def duplicates(messages: Iterable[Message], *, by: Iterable[str]) -> list[Tally]:
    """Return only the groups with more than one message."""
    return [found for found in tally(messages, by=by) if found.accepted > 1]
