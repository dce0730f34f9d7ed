"""Delivery states: their order, and what a late or strange report may change."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.messaging.domain.addresses import Address
from app.messaging.domain.inbound import RawFields

RANKS: Final = {
    "accepted": 0,
    "scheduled": 0,
    "queued": 1,
    "sending": 2,
    "sent": 3,
    "delivered": 4,
    "read": 5,
}
FAILURES: Final = frozenset({"failed", "undelivered", "canceled"})
_DELIVERED: Final = RANKS["delivered"]
_SEND_STATUS: Final = {
    "accepted": "accepted",
    "scheduled": "accepted",
    "queued": "accepted",
    "sending": "accepted",
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "undelivered": "undelivered",
    "failed": "failed",
    "canceled": "failed",
}


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """One report about one message of ours. A status we do not know is kept, with `rank` None."""

    provider_message_id: str
    attempt_id: str | None
    status: str
    rank: int | None
    error_code: int | None
    error_message: str
    to_address: Address | None
    from_address: Address | None
    raw: RawFields


class RankVerdict(StrEnum):
    RAISED = "raised"
    UNCHANGED = "unchanged"
    """The same state again: a redelivery."""
    LATE = "late"
    """A lower state after a higher one: normal, since order is not guaranteed."""
    FAILED = "failed"
    FAILURE_AFTER_DELIVERY = "failure_after_delivery"
    PROGRESS_AFTER_FAILURE = "progress_after_failure"
    UNKNOWN_STATUS = "unknown_status"


@dataclass(frozen=True, slots=True)
class RankDecision:
    """The state that holds from now on, and why."""

    status: str | None
    verdict: RankVerdict

    @property
    def changes_state(self) -> bool:
        return self.verdict in {RankVerdict.RAISED, RankVerdict.FAILED}

    @property
    def is_anomaly(self) -> bool:
        """Whether a person should see it in the ledger: it contradicts what was reported before."""
        return self.verdict in {RankVerdict.FAILURE_AFTER_DELIVERY, RankVerdict.PROGRESS_AFTER_FAILURE}


def rank_of(status: str) -> int | None:
    """The place of a state on the way to `read`; `None` for failures and states we do not know."""
    return RANKS.get(status)


def is_failure(status: str) -> bool:
    """Whether the provider gave the message up."""
    return status in FAILURES


def send_status_for(status: str) -> str | None:
    """Our send's state for a provider's one: its own queueing is `accepted`; `None` for unknown ones."""
    return _SEND_STATUS.get(status)


def apply_rank(*, current: str | None, new: str) -> RankDecision:
    """Decide what a report does to the state known so far (`None`: nothing known yet).

    The rank never falls and a state never leaves a failure. A failure after `delivered` or `read` is an
    anomaly that changes nothing. Applying any set of reports of one kind in any order ends in the same state.
    """
    if new in FAILURES:
        return _after_failure_report(current, new)
    rank = RANKS.get(new)
    if rank is None:
        return RankDecision(current, RankVerdict.UNKNOWN_STATUS)
    if current in FAILURES:
        # "sent" behind "failed" is mere disorder; a delivery contradicts the failure.
        contradicts = rank >= _DELIVERED
        return RankDecision(current, RankVerdict.PROGRESS_AFTER_FAILURE if contradicts else RankVerdict.LATE)
    if current == new:
        return RankDecision(current, RankVerdict.UNCHANGED)
    known = RANKS.get(current, -1) if current is not None else -1
    if rank > known:
        return RankDecision(new, RankVerdict.RAISED)
    return RankDecision(current, RankVerdict.LATE)


def _after_failure_report(current: str | None, new: str) -> RankDecision:
    if current in FAILURES:
        return RankDecision(current, RankVerdict.UNCHANGED)
    if current is not None and RANKS.get(current, -1) >= _DELIVERED:
        return RankDecision(current, RankVerdict.FAILURE_AFTER_DELIVERY)
    return RankDecision(new, RankVerdict.FAILED)
