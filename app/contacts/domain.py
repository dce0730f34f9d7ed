"""What is said about people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Information:
    """What came with a wish to enrol. `consents` maps channels to yes or no; `source` says where it comes from.

    `by_lead`: the person said so themselves just now (their own form), so it is newer than what is known.
    """

    source: str
    by_lead: bool = False
    name: str | None = None
    language: str | None = None
    time_zone: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    consents: Mapping[str, bool] = field(default_factory=dict)
