"""The state of one of our messages as a bubble shows it, in plain words, and whether trying again can help."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from app.messaging.gateways.twilio.errors import rule_for

State = Literal["queued", "sending", "sent", "delivered", "read", "failed", "unknown"]

UNCERTAIN: Final = (
    "We do not know yet whether it arrived. We are finding out; sending it again could double it."
)
REVIEW: Final = "We could not find out whether it arrived. A person has to decide before it goes out again."
CERTAINLY_NOT_SENT: Final = frozenset({"rejected", "not_sent", "failed", "ruled_not_sent"})
WINDOW_CLOSED: Final = "63016"

# What the campaign does about a failure; an adviser's own message goes again only by their hand.
_PROMISES: Final = re.compile(r" We (?:try|wait) [^.]*\.|; the message goes out later")

_STATES: Final[dict[str, State]] = {
    "queued": "queued",
    "sending": "sending",
    "accepted": "sending",
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "unknown": "unknown",
}
_REASONS: Final = {
    "window_closed": "The reply window had closed before it went out: only an approved template can be sent now.",
    "no_address": "There is no number to send it to.",
    "suppressed:provider_block": "This person has blocked us, or opted out with the provider.",
    "suppressed:unreachable": "This person cannot be reached on this channel.",
    "template_rejected": "The template is not approved any more.",
    "template_disabled": "The template is not approved any more.",
}
_HELD_BACK: Final = {
    "kill_switch": "Held back: sending is switched off at the moment.",
    "sender": "Held back: our sender is off at the moment. An administrator must look at it.",
    "template": "Held back: the template is not approved at the moment.",
}


@dataclass(frozen=True, slots=True)
class SendFacts:
    """One send as stored; `outcomes` are those of its attempts (None: still open), `code` the last one's."""

    kind: str
    status: str
    reason: str | None = None
    code: str | None = None
    outcomes: Sequence[str | None] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a bubble says. `failure` is empty where all is well."""

    state: State
    failure: str = ""
    can_retry: bool = False


def delivery_of(send: SendFacts, *, is_window_open: bool) -> Delivery:
    """Return the state in words. Retry is offered for an adviser's own message that certainly reached nobody."""
    if send.status in ("waiting", "superseded", "skipped") and send.kind != "adviser":
        return Delivery("queued" if send.status == "waiting" else "failed", _why_not(send))
    if send.status in ("waiting", "skipped", "superseded", "failed", "undelivered"):
        return Delivery("failed", _why_not(send), can_retry=_helps(send, is_window_open))
    if send.status == "needs_review":
        if send.outcomes and is_certain(send.outcomes):
            return Delivery("failed", _why_not(send), can_retry=_helps(send, is_window_open))
        return Delivery("unknown", REVIEW) if send.outcomes else Delivery("failed", send.reason or REVIEW)
    state = _STATES.get(send.status, "unknown")
    return Delivery(state, UNCERTAIN if state == "unknown" else "")


def is_certain(outcomes: Sequence[str | None]) -> bool:
    """Say whether every attempt certainly reached nobody."""
    return all(outcome in CERTAINLY_NOT_SENT for outcome in outcomes)


def _helps(send: SendFacts, is_window_open: bool) -> bool:
    if send.kind != "adviser" or send.status in ("skipped", "superseded") or not is_certain(send.outcomes):
        return False
    if send.status == "waiting" or send.code is None:
        return True
    if send.code == WINDOW_CLOSED:
        return is_window_open
    return not (send.code.isdecimal() and rule_for(int(send.code)).permanent)


def _why_not(send: SendFacts) -> str:
    for text in (send.reason, send.code):
        if text is None:
            continue
        if text in _REASONS:
            return _REASONS[text]
        if text.isascii() and text.isdecimal():
            return _advice(int(text), send.kind)
    cause = (send.reason or "").partition(":")[0].partition("_")[0]
    if send.status == "waiting":
        known = "kill_switch" if cause == "kill" else cause
        return _HELD_BACK.get(known, "Held back for the moment.")
    if send.status == "superseded":
        return "It was not needed any more."
    return "The provider did not take it."


def _advice(code: int, kind: str) -> str:
    advice = rule_for(code).advice
    return advice if kind == "campaign" else _PROMISES.sub("", advice)
