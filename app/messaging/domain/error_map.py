"""What the engine does about a provider's error code: the vocabulary. The codes are each gateway's."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Disposition(StrEnum):
    SKIP = "skip"
    """Permanent for this message; the flow goes on."""
    MARK_BAD_ADDRESS = "mark_bad_address"
    """Skip, and the address is no good for this channel."""
    UNREACHABLE = "unreachable"
    """Skip; the person is not on this channel: another one may be tried."""
    SUPPRESS = "suppress"
    """The person or the provider closed the channel: suppress it."""
    DEFER = "defer"
    """Temporary: a new attempt later."""
    REVIEW = "review"
    """A person looks at it."""
    PAUSE = "pause"
    """The campaign or sender stops until a person has looked."""
    PAUSE_MARKETING = "pause_marketing"
    """All marketing of the sender stops."""
    CREDS = "creds"
    """Credentials or registration: tell the administrator, stop the channel."""
    TEMPLATE = "template"
    """Only an approved template can go out now."""
    UNKNOWN = "unknown"
    """Nobody knows whether it was sent: look it up before anything else."""


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """What one code means.

    `permanent`: trying the same message again cannot help. `delay`: the least wait before a new attempt,
    to be doubled on each further one. `max_tries`: new attempts allowed for this cause, then `exhausted`
    holds. `pause_after`: this many in a row from one campaign pause it. `after_repeats`: what repeats of it
    for one person lead to. `in_north_america` replaces the disposition for numbers that start with +1.
    """

    code: int | None
    disposition: Disposition
    permanent: bool
    advice: str
    delay: timedelta | None = None
    max_tries: int | None = None
    exhausted: Disposition | None = None
    pause_after: int | None = None
    after_repeats: Disposition | None = None
    in_north_america: Disposition | None = None
