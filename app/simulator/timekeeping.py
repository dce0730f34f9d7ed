"""Two times: the real one, which the provider stamps on messages, and the demo's, which phones and 24-hour
windows follow.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReading:
    """The demo clock showed `shows_ms` at the real moment `set_ms` and runs `rate` times as fast since."""

    set_ms: int = 0
    shows_ms: int = 0
    rate: float = 1.0


class ProviderTime:
    """Real time, and a demo time that may run ahead of it. Both are milliseconds since 1970, UTC."""

    def __init__(self) -> None:
        self._reading = DemoReading()

    def now_ms(self) -> int:
        """Return the real time."""
        return int(time.time() * 1000)

    def demo_ms(self, *, real_ms: int) -> int:
        """Return the demo time that belongs to a real moment; the same moment until somebody set the demo
        clock.
        """
        reading = self._reading
        return reading.shows_ms + round((real_ms - reading.set_ms) * reading.rate)

    def follow(self, reading: DemoReading) -> None:
        """Let the demo time go by a reading; the default one is real time."""
        self._reading = reading


def rfc2822(ms: int | None) -> str | None:
    """Return a moment as the provider prints it, such as `Sun, 29 Nov 2026 02:40:10 +0000`."""
    return None if ms is None else format_datetime(moment(ms))


def moment(ms: int) -> datetime:
    """Return milliseconds since 1970 as a UTC datetime."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def milliseconds(at: datetime) -> int:
    """Return a moment as milliseconds since 1970; a naive one is taken as UTC."""
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
