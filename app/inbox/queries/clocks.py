"""A handoff's columns as the clock that screens show."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.web.views import ClockState, ReplyClock

CLOCK_COLUMNS = "h.due_at, h.warn_at, h.clock_started_at, h.waiting_since"


def clock_of(row: Row[Any], now: datetime) -> ReplyClock | None:
    """Return the clock in a row with `CLOCK_COLUMNS`; None where no handoff is open."""
    if row.waiting_since is not None:
        return ReplyClock("waiting", words="Their turn")
    if row.due_at is None:
        return None
    return ReplyClock(
        _state(row, now), due_at=row.due_at, warn_at=row.warn_at, started_at=row.clock_started_at
    )


def _state(row: Row[Any], now: datetime) -> ClockState:
    if now >= row.due_at:
        return "overdue"
    return "soon" if row.warn_at is not None and now >= row.warn_at else "on_time"
