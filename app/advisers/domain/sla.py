"""The reply clock: how long an answer may take in working time, and when somebody is warned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.kernel.working_calendar import Shift, WorkingCalendar, same_hours

DEFAULT_CALENDAR: Final = WorkingCalendar(
    zone="Asia/Kuala_Lumpur", week=same_hours(days=6, shifts=(Shift.between("09:00", "18:00"),))
)


@dataclass(frozen=True, slots=True)
class SlaPolicy:
    """Working minutes from a lead's first unanswered message. A warning comes before its breach."""

    first_reply_minutes: int = 15
    first_warn_minutes: int = 10
    next_reply_minutes: int = 60
    next_warn_minutes: int = 45

    def __post_init__(self) -> None:
        if not 0 < self.first_warn_minutes < self.first_reply_minutes:
            raise ValueError("The warning of a first reply comes before it is due.")
        if not 0 < self.next_warn_minutes < self.next_reply_minutes:
            raise ValueError("The warning of a next reply comes before it is due.")


@dataclass(frozen=True, slots=True)
class WorkingRules:
    """When the organisation works, and how fast it answers."""

    sla: SlaPolicy = SlaPolicy()
    calendar: WorkingCalendar = DEFAULT_CALENDAR

    def first_clock(self, *, started_at: datetime) -> ReplyClock:
        """Return the clock of a handoff just opened; outside working hours it begins at the next opening."""
        return self._clock(started_at, self.sla.first_warn_minutes, self.sla.first_reply_minutes)

    def next_clock(self, *, started_at: datetime) -> ReplyClock:
        """Return the clock of a message that came after an answer."""
        return self._clock(started_at, self.sla.next_warn_minutes, self.sla.next_reply_minutes)

    def _clock(self, started_at: datetime, warn_minutes: int, due_minutes: int) -> ReplyClock:
        return ReplyClock(
            started_at=started_at,
            warn_at=self.calendar.add_working_minutes(started_at, warn_minutes),
            due_at=self.calendar.add_working_minutes(started_at, due_minutes),
        )


@dataclass(frozen=True, slots=True)
class ReplyClock:
    """A running clock. It stops on a human answer or an outcome, never on what the machine sends."""

    started_at: datetime
    warn_at: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """How long an answer took in working time, and whether it came before it was due."""

    seconds: int
    in_time: bool


def answer_time(
    *, calendar: WorkingCalendar, started_at: datetime, due_at: datetime, answered_at: datetime
) -> AnswerTime:
    """Measure an answer. A due time is the last moment that is still in time."""
    seconds = calendar.working_seconds_between(started_at, answered_at)
    return AnswerTime(seconds=round(seconds), in_time=answered_at <= due_at)
