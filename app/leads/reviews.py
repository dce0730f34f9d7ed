"""A question for a person about one message or journey, in words, with the answers that fit it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from app.leads.views import ReviewAnswer

VERDICT_DONE: Final = {
    "sent": "Noted: it was sent.",
    "again": "It is sent again.",
    "skip": "The message is left out.",
}
JOURNEY_DONE: Final = "The journey goes on."

_SENT: Final = ReviewAnswer("sent", "It was sent", "check")
_AGAIN: Final = ReviewAnswer(
    "again",
    "Send it again",
    "rotate-cw",
    confirm_title="Send this message again?",
    confirm_text="If the first one did arrive after all, the lead gets it twice. Nothing can be taken back.",
)
_RETRY: Final = ReviewAnswer("again", "Send it again", "rotate-cw")
_SKIP: Final = ReviewAnswer("skip", "Skip it", "x")
_GO_ON: Final = ReviewAnswer("skip", "Let the journey go on", "play")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at the provider. `looked_after` is when it was last looked for, counted from the try."""

    outcome: str | None
    code: str | None
    text: str | None
    looks: int
    looked_after: timedelta | None


def is_in_doubt(attempts: Sequence[Attempt]) -> bool:
    """Say whether the message may have gone out: the last try has no certain outcome."""
    return bool(attempts) and attempts[-1].outcome in (None, "unknown")


def answers_to(attempts: Sequence[Attempt] | None) -> tuple[ReviewAnswer, ...]:
    """Return the answers that make sense; None for a journey that is held without a message.

    Only a message that may have gone out can be said to be sent, and only sending that one again may double it.
    """
    if attempts is None:
        return (_GO_ON,)
    return (_SENT, _AGAIN, _SKIP) if is_in_doubt(attempts) else (_RETRY, _SKIP)


def provider_words(attempts: Sequence[Attempt]) -> str:
    """Return what the provider said to the last try."""
    if not attempts:
        return "It was never asked to send it"
    last = attempts[-1]
    said = last.text or ""
    code = f"reason {last.code}" if last.code else ""
    match last.outcome:
        case "rejected" | "failed":
            return ": ".join(part for part in ("It refused the message", said or code) if part)
        case "not_sent":
            return "It could not be reached, so nothing was sent"
        case "ruled_not_sent":
            return "One of us said that it was not sent"
        case "accepted":
            return "It took the message"
        case _:
            return "Nothing that can be relied on: the answer was lost"


def look_words(attempts: Sequence[Attempt]) -> str:
    """Return whether the message was looked for at the provider; empty where there was nothing to look for."""
    if not is_in_doubt(attempts):
        return ""
    last = attempts[-1]
    if not last.looks:
        return "Not looked for yet"
    times = "Looked for once" if last.looks == 1 else f"Looked for {last.looks} times"
    after = f", the last time {_after(last.looked_after)} after the try" if last.looked_after else ""
    return f"{times}{after}: not found"


def _after(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < 120:
        return f"{max(seconds, 0)} seconds"
    return f"{seconds // 60} minutes" if seconds < 7200 else f"{seconds // 3600} hours"
