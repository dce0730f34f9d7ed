"""What became of the steps of a journey, as conditions ask for it: `step.KEY.outcome`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.campaigns.domain.stimuli import Seen

_SENT = frozenset({"accepted", "sent", "delivered"})
_FAILED = frozenset({"failed", "undelivered"})


@dataclass(frozen=True, slots=True)
class SentStep:
    """The send of one step: its status, and when the provider took it."""

    step: str
    status: str
    accepted_at: datetime | None


def outcomes_of(sends: Sequence[SentStep], seen: Iterable[Seen], skipped: Iterable[str]) -> dict[str, str]:
    """Return the outcome of each step by its key: replied, clicked, read, sent, failed or skipped.

    `sends` come in the order in which they were made, a later lap last. What the person did belongs to the last
    message accepted before it. A step that is still on its way has no outcome.
    """
    outcomes = dict.fromkeys(skipped, "skipped")
    for send in sends:
        outcome = _of_status(send.status)
        if outcome is not None:
            outcomes[send.step] = outcome
    for kind in ("clicked", "replied"):
        for one in seen:
            answered = _last_before(sends, one.at) if one.kind == kind else None
            if answered is not None:
                outcomes[answered.step] = kind
    return outcomes


def _of_status(status: str) -> str | None:
    if status in _SENT:
        return "sent"
    if status in _FAILED:
        return "failed"
    return status if status in ("read", "skipped") else None


def _last_before(sends: Sequence[SentStep], at: datetime) -> SentStep | None:
    before = [s for s in sends if s.accepted_at is not None and s.accepted_at <= at]
    return max(before, key=lambda s: s.accepted_at or at, default=None)
