"""What happened in messaging, for reactions: ids only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InboundReceived:
    """A lead's message was added to the thread."""

    contact_id: int
    signal_id: int


@dataclass(frozen=True, slots=True)
class SendChanged:
    """A send's status changed; its bubble shows another tick."""

    contact_id: int
    send_id: int
    kind: str


@dataclass(frozen=True, slots=True)
class AdviserSendFailed:
    """A message that an adviser wrote did not reach the lead after all."""

    contact_id: int
    send_id: int
    author_id: int
    reason: str
