"""Campaign versions as they run: paths of numbered steps, with jumps that only lead forward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time, timedelta
from enum import StrEnum

from app.campaigns.domain.conditions import Test


class Need(StrEnum):
    """What a version's steps want to know besides the enrolment; facts nobody needs are not read."""

    CHANNELS = "which channels reach the person"
    SIGNALS = "what the person did, and when"
    VALUES = "the facts that conditions look at"
    BOOKING = "the booking that waits hang on"
    CALENDAR = "working days and holidays"


@dataclass(frozen=True, slots=True)
class SendWindow:
    """The local days (0 = Monday) and hours [opens, closes) in which a message may go out."""

    days: frozenset[int]
    opens: time
    closes: time


@dataclass(frozen=True, slots=True)
class MessageStep:
    """Send one approved template on the first channel of the order that reaches the person."""

    key: str
    template: str
    channels: tuple[str, ...]
    optional: bool = False
    enabled: bool = True
    window: SendWindow | None = None


@dataclass(frozen=True, slots=True)
class BookingMoment:
    """A moment that hangs on the booking: `offset` after its start or end, before it where negative."""

    edge: str  # start, end
    offset: timedelta


@dataclass(frozen=True, slots=True)
class WaitStep:
    """Wait for `length` and `business_days`, then, where `until` is given, until that local time of day.

    With `booking` it waits for that moment instead; one already past skips the message that follows.
    """

    key: str
    length: timedelta
    until: time | None = None
    enabled: bool = True
    business_days: int = 0
    booking: BookingMoment | None = None


@dataclass(frozen=True, slots=True)
class WaitForStep:
    """Wait until one of the signals was seen since the step before began; after `length` go to `otherwise`."""

    key: str
    signals: tuple[str, ...]
    length: timedelta
    otherwise: int


@dataclass(frozen=True, slots=True)
class ConditionStep:
    """Go on where the test holds, else go to `otherwise`."""

    key: str
    test: Test
    otherwise: int


@dataclass(frozen=True, slots=True)
class JumpStep:
    """Go to a later step: where a branch rejoins the path. Made by the compiler."""

    key: str
    to: int


@dataclass(frozen=True, slots=True)
class TaskStep:
    """Ask a person to do something within `due`; the path goes on at once."""

    key: str
    task: str
    title: str
    due: timedelta
    who: str  # owner, pool
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class EndStep:
    """The path ends here."""

    key: str
    reason: str
    enabled: bool = True


Step = MessageStep | WaitStep | WaitForStep | ConditionStep | JumpStep | TaskStep | EndStep


@dataclass(frozen=True, slots=True)
class CompiledPath:
    """Numbered steps of one path; `index` finds a step's number by its stable key."""

    name: str
    steps: tuple[Step, ...]
    index: Mapping[str, int]

    def key_at(self, number: int) -> str | None:
        """Return the key of a step by its number; None behind the last one."""
        return self.steps[number].key if number < len(self.steps) else None


@dataclass(frozen=True, slots=True)
class CompiledVersion:
    """One published version, ready to run. `structure_hash` ignores timing, switches and templates."""

    id: int
    campaign_id: int
    number: int
    paths: Mapping[str, CompiledPath]
    structure_hash: str
    needs: frozenset[Need] = frozenset()

    def step(self, path: str | None, key: str | None) -> Step | None:
        """Return the step at a position, or None where this version has no such position."""
        compiled = self.paths.get(path or "")
        if compiled is None or key is None or key not in compiled.index:
            return None
        return compiled.steps[compiled.index[key]]

    @property
    def channels(self) -> frozenset[str]:
        """The channels that its messages can use."""
        return frozenset(channel for step in self.messages for channel in step.channels)

    @property
    def messages(self) -> tuple[MessageStep, ...]:
        """The message steps of all paths, in order."""
        return tuple(
            step for path in self.paths.values() for step in path.steps if isinstance(step, MessageStep)
        )
