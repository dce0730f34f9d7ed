"""Rules of signing in: how long a session lasts, how guessing is slowed down, what a password must be.

All of this is real time (the database's clock): a fast demo clock ends nobody's session.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.kernel.errors import Conflict, Invalid, WarmlineError

SESSION_IDLE = timedelta(hours=12)
"""A session ends this long after its last use: yesterday's screen left open asks again in the morning."""
SESSION_LIFE = timedelta(days=14)
"""However much it is used, a session ends this long after the sign-in."""
SEEN_EVERY = timedelta(minutes=1)
"""Use is written down at most this often, so that reading a page does not mean a write."""

MIN_PASSWORD = 10
MAX_PASSWORD = 1000
BRAKE_WINDOW = timedelta(hours=1)
BRAKE_FIRST = timedelta(seconds=30)
BRAKE_LONGEST = timedelta(minutes=15)
FREE_TRIES_PER_EMAIL = 5
FREE_TRIES_PER_ADDRESS = 30
"""An office behind one address has many people who mistype."""


class SignInRefused(WarmlineError):
    """Wrong e-mail or wrong password: which of them is not said."""

    status = 422
    code = "sign_in_refused"

    def __init__(self) -> None:
        super().__init__("E-mail or password is not right.")


class TooManyTries(WarmlineError):
    """Guessing is slowed down; says how long to wait, also to whoever knows the password."""

    status = 429
    code = "too_many_tries"

    def __init__(self, wait: timedelta) -> None:
        seconds = max(1, round(wait.total_seconds()))
        super().__init__(f"Too many tries. Try again in {_wait_words(seconds)}.", retry_after_seconds=seconds)


class EmailTaken(Conflict):
    """Somebody has this e-mail already."""

    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("Somebody with this e-mail exists already.")


@dataclass(frozen=True, slots=True)
class Brake:
    """One thing whose failures are counted, and how many of them are free."""

    key: str
    free: int


def brakes_for(*, email: str, address: str) -> tuple[Brake, ...]:
    """Return what a try counts against, in lock order: the address it came from and the name it tried.

    The name is kept as a hash: people type passwords into the wrong field.
    """
    brakes = (
        Brake(f"address:{_network(address)}", FREE_TRIES_PER_ADDRESS),
        Brake(f"email:{hashlib.sha256(email.encode()).hexdigest()}", FREE_TRIES_PER_EMAIL),
    )
    return tuple(sorted(brakes, key=lambda brake: brake.key))


def wait_after(failures: Sequence[datetime], *, free: int, now: datetime) -> timedelta:
    """Return how long to wait before the next try, given the failures of the last `BRAKE_WINDOW`, oldest
    first.

    The first `free` cost nothing; after that each doubles the pause since the last one, up to
    `BRAKE_LONGEST`.
    """
    if len(failures) < free:
        return timedelta(0)
    doublings = min(len(failures) - free, 10)
    pause = min(BRAKE_FIRST * (1 << doublings), BRAKE_LONGEST)
    return max(timedelta(0), failures[-1] + pause - now)


def check_password(password: str) -> None:
    """Raise `Invalid` unless a new password is long enough to be worth guessing at."""
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise Invalid(f"A password has at least {MIN_PASSWORD} characters.", field="password")


def new_secret() -> str:
    """Return a session's secret: 256 bits of chance. Only its hash is stored."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a session's secret, under which the session is found."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _network(address: str) -> str:
    """Return what stands for one visitor: an IPv4 address, or the /64 that an IPv6 one can roam in."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _wait_words(seconds: int) -> str:
    if seconds < 90:
        return f"{seconds} seconds" if seconds != 1 else "1 second"
    return f"{-(-seconds // 60)} minutes"
