"""Campaign definitions: the JSON a marketer publishes, checked and compiled to numbered instructions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any

from app.campaigns.domain.vocabulary import Path
from app.kernel.errors import Invalid

LONGEST_WAIT = timedelta(days=3650)
_KNOWN_CHANNELS = (
    "whatsapp",
)  # others come with their gateways; until then a definition cannot ask for them


@dataclass(frozen=True, slots=True)
class MessageStep:
    """Send one approved template on the first channel of the order."""

    key: str
    template: str
    channels: tuple[str, ...]
    optional: bool = False
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class WaitStep:
    """Wait for `length`, then, where `until` is given, until that local time of day."""

    key: str
    length: timedelta
    until: time | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class EndStep:
    """The path ends here."""

    key: str
    reason: str
    enabled: bool = True


Step = MessageStep | WaitStep | EndStep


@dataclass(frozen=True, slots=True)
class CompiledPath:
    """Numbered steps of one path; `index` finds a step's number by its stable key."""

    name: str
    steps: tuple[Step, ...]
    index: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CompiledVersion:
    """One published version, ready to run. `structure_hash` ignores timing, switches and templates."""

    id: int
    campaign_id: int
    number: int
    paths: Mapping[str, CompiledPath]
    structure_hash: str

    def step(self, path: str | None, key: str | None) -> Step | None:
        """Return the step at a position, or None where this version has no such position."""
        compiled = self.paths.get(path or "")
        if compiled is None or key is None or key not in compiled.index:
            return None
        return compiled.steps[compiled.index[key]]


def compile_definition(
    definition: Mapping[str, Any], *, version_id: int, campaign_id: int, number: int
) -> CompiledVersion:
    """Check a definition and compile it. Raises `Invalid` that names the path and the step at fault."""
    given = definition.get("paths")
    if not isinstance(given, Mapping) or Path.NURTURE not in given:
        raise Invalid("A definition needs `paths` with at least a `nurture` path.")
    seen: set[str] = set()
    paths = {name: _compile_path(name, steps, seen) for name, steps in given.items()}
    return CompiledVersion(version_id, campaign_id, number, paths, structure_hash(paths))


def structure_hash(paths: Mapping[str, CompiledPath]) -> str:
    """Hash what a live enrolment's position depends on: paths, step keys, kinds and their order."""
    shape = {
        name: [(step.key, type(step).__name__) for step in path.steps] for name, path in sorted(paths.items())
    }
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:16]


def _compile_path(name: str, steps: Any, seen: set[str]) -> CompiledPath:
    if name not in set(Path):
        raise Invalid(f"There is no path `{name}`; paths are {', '.join(Path)}.")
    if not isinstance(steps, list) or not steps:
        raise Invalid(f"Path `{name}` has no steps.")
    compiled = tuple(_compile_step(name, number, step, seen) for number, step in enumerate(steps, start=1))
    return CompiledPath(name, compiled, {step.key: at for at, step in enumerate(compiled)})


def _compile_step(path: str, number: int, step: Any, seen: set[str]) -> Step:
    where = f"Path `{path}`, step {number}"
    if not isinstance(step, Mapping) or not isinstance(step.get("key"), str) or not step["key"]:
        raise Invalid(f"{where}: a step is an object with a stable `key`.")
    key = step["key"]
    if key in seen:
        raise Invalid(f"{where}: the key `{key}` is used twice in this campaign.")
    seen.add(key)
    where = f"{where} (`{key}`)"
    enabled = bool(step.get("enabled", True))
    match step.get("kind"):
        case "message":
            if not step.get("template"):
                raise Invalid(f"{where}: a message names its `template`.")
            channels = _channels(where, step.get("channels", ["whatsapp"]))
            optional = bool(step.get("optional", False))
            if not enabled and not optional:
                raise Invalid(f"{where}: only an optional step can be switched off.")
            return MessageStep(key, str(step["template"]), channels, optional, enabled)
        case "wait":
            return WaitStep(key, _length(where, step), _local_time(where, step.get("until")), enabled)
        case "end":
            return EndStep(key, str(step.get("reason", "path_end")), True)
        case other:
            raise Invalid(f"{where}: unknown kind `{other}`; known are message, wait, end.")


def _channels(where: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not given or not all(c in _KNOWN_CHANNELS for c in given):
        raise Invalid(f"{where}: `channels` is a list; known is {', '.join(_KNOWN_CHANNELS)}.")
    return tuple(given)


def _length(where: str, step: Mapping[str, Any]) -> timedelta:
    parts = {unit: step.get(unit, 0) for unit in ("days", "hours", "minutes")}
    if any(isinstance(v, bool) or not isinstance(v, int | float) or v < 0 for v in parts.values()):
        raise Invalid(f"{where}: days, hours and minutes are numbers from 0 up.")
    try:
        length = timedelta(**parts)
    except (OverflowError, ValueError):
        length = timedelta.max
    if length > LONGEST_WAIT:
        raise Invalid(f"{where}: a wait is at most {LONGEST_WAIT.days} days long.")
    return length


def _local_time(where: str, given: Any) -> time | None:
    if given is None:
        return None
    try:
        at = time.fromisoformat(given)
    except (TypeError, ValueError):
        at = None
    if at is None or at.tzinfo is not None:
        raise Invalid(f"{where}: `until` is a local time such as 10:00.")
    return at
