"""The organisation's working hours and reply times, as stored in `settings`.

What is absent has its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, Final, TypeVar

import msgspec
import structlog

from app.advisers.domain.sla import DEFAULT_CALENDAR, SlaPolicy, WorkingRules
from app.db.session import UnitOfWork
from app.kernel.working_calendar import Shift, WorkingCalendar

log = structlog.get_logger(__name__)

SLA_KEY: Final = "sla"
CALENDAR_KEY: Final = "working_calendar"
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

T = TypeVar("T")


class CalendarSetting(msgspec.Struct, frozen=True):
    """`{"zone": …, "week": {"mon": [["09:00", "13:00"], …], …}, "holidays": ["2026-12-25", …]}`."""

    zone: str
    week: dict[str, list[tuple[str, str]]]
    holidays: list[date] = []


async def load_rules(uow: UnitOfWork) -> WorkingRules:
    """Return the rules in force.

    A stored value that cannot be used is logged and its default used: a reply must never be lost to a
    setting.
    """
    rows = await uow.execute(
        "SELECT key, value FROM settings WHERE key IN (:sla, :calendar)",
        {"sla": SLA_KEY, "calendar": CALENDAR_KEY},
    )
    stored: Mapping[str, Any] = {row.key: row.value for row in rows}
    return WorkingRules(
        sla=_read(stored, SLA_KEY, lambda value: msgspec.convert(value, SlaPolicy), SlaPolicy()),
        calendar=_read(stored, CALENDAR_KEY, _calendar, replace(DEFAULT_CALENDAR, zone=uow.zone)),
    )


def _read(stored: Mapping[str, Any], key: str, read: Callable[[Any], T], default: T) -> T:
    if key not in stored:
        return default
    try:
        return read(stored[key])
    except (ValueError, msgspec.ValidationError) as error:
        log.error("settings.unusable", key=key, error=type(error).__name__)
        return default


def _calendar(value: Any) -> WorkingCalendar:
    setting = msgspec.convert(value, CalendarSetting)
    if unknown := set(setting.week) - set(WEEKDAYS):
        raise ValueError(f"Unknown weekdays: {sorted(unknown)}")
    week = tuple(
        tuple(Shift.between(starts, ends) for starts, ends in setting.week.get(day, ())) for day in WEEKDAYS
    )
    return WorkingCalendar(zone=setting.zone, week=week, holidays=frozenset(setting.holidays))
