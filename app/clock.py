"""Business time. The only module that calls `datetime.now`; everything else is handed `now` or a Clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Business time (waits, windows, SLA). May run fast in a demo; never used for leases or provider deadlines."""

    def now(self) -> datetime:
        """Return the present business time, in UTC."""
        ...

    def real_seconds_until(self, moment: datetime) -> float:
        """Return how many real seconds pass until business time reaches `moment`; 0 if it has."""
        ...


class SystemClock:
    """Business time that is real time."""

    def now(self) -> datetime:
        """Return the present time, in UTC."""
        return datetime.now(UTC)

    def real_seconds_until(self, moment: datetime) -> float:
        """Return the real seconds until `moment`; 0 if it has passed."""
        return max(0.0, (moment - self.now()).total_seconds())


@dataclass(frozen=True, slots=True)
class DemoReading:
    """One row of `demo_clock`: at `real_base` it was `demo_base`, and it runs `rate` times as fast since."""

    real_base: datetime
    demo_base: datetime
    rate: float

    def at(self, real: datetime) -> datetime:
        """Return the demo time that belongs to a real moment."""
        return self.demo_base + (real - self.real_base) * self.rate


class DemoClock:
    """Business time read from the last known row of `demo_clock`; a follower keeps the row fresh."""

    def __init__(self, reading: DemoReading) -> None:
        self.reading = reading

    def now(self) -> datetime:
        """Return the present demo time, in UTC."""
        return self.reading.at(datetime.now(UTC))

    def real_seconds_until(self, moment: datetime) -> float:
        """Return the real seconds until the demo clock shows `moment`; infinite while it stands still."""
        remaining = (moment - self.now()).total_seconds()
        if remaining <= 0:
            return 0.0
        return remaining / self.reading.rate if self.reading.rate > 0 else float("inf")


class FixedClock:
    """A clock that stands still until it is moved: for tests and dry runs."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        """Return the moment it was set to."""
        return self._moment

    def real_seconds_until(self, moment: datetime) -> float:
        """Return 0 for what has passed, infinity for what has not: this clock does not move by itself."""
        return 0.0 if moment <= self._moment else float("inf")

    def advance(self, by: timedelta) -> None:
        """Move the clock forward."""
        self._moment += by
