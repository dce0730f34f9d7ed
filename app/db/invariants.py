"""What an invariant of the engine is: one query that must return no row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Invariant:
    """`sql` returns the offending rows, as `contact_id` and `detail` (ids and states, nothing personal)."""

    id: str
    title: str
    sql: str
