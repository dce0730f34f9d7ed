"""Half-open periods of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Period:
    """From `starts` up to, and without, `ends`. Both are aware."""

    starts: datetime
    ends: datetime

    def __contains__(self, moment: datetime) -> bool:
        return self.starts <= moment < self.ends

    @property
    def length(self) -> timedelta:
        """Return how long it lasts; nothing where it ends before it starts."""
        return max(self.ends - self.starts, timedelta(0))
