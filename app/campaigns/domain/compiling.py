"""From the JSON a marketer publishes to numbered steps: every fault is named with its path and its step."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import time, timedelta
from typing import Any

from app.campaigns.domain.conditions import facts_in, read_test, step_of
from app.campaigns.domain.definition import (
    BookingMoment,
    CompiledPath,
    CompiledVersion,
    ConditionStep,
    EndStep,
    JumpStep,
    MessageStep,
    Need,
    SendWindow,
    Step,
    TaskStep,
    WaitForStep,
    WaitStep,
)
from app.campaigns.domain.vocabulary import Path
from app.kernel.errors import Invalid

LONGEST_WAIT = timedelta(days=3650)
MOST_STEPS = 200
DEEPEST = 4
CHANNELS = ("whatsapp", "sms")  # e-mail comes with its gateway; until then a definition cannot ask for it
SIGNALS = ("replied", "clicked", "read", "delivered", "called", "booked", "noted", "crm_changed")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TASKS = ("call", "visit", "follow_up", "review")
KINDS = ("message", "wait", "wait_for", "condition", "task", "end")


def compile_definition(
    definition: Mapping[str, Any], *, version_id: int, campaign_id: int, number: int
) -> CompiledVersion:
    """Check a definition and compile it. Raises `Invalid` that names the path and the step at fault."""
    given = definition.get("paths")
    if not isinstance(given, Mapping) or Path.NURTURE not in given:
        raise Invalid("A definition needs `paths` with at least a `nurture` path.")
    seen: set[str] = set()
    paths = {name: _compile_path(name, steps, seen) for name, steps in given.items()}
    _check_outcomes(paths, seen)
    return CompiledVersion(version_id, campaign_id, number, paths, structure_hash(paths), _needs(paths))


def structure_hash(paths: Mapping[str, CompiledPath]) -> str:
    """Hash what a live enrolment's position depends on: paths, step keys, kinds, their order, and the jumps."""
    shape = {name: [_shape(step) for step in path.steps] for name, path in sorted(paths.items())}
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:16]


def _shape(step: Step) -> list[Any]:
    match step:
        case WaitForStep() | ConditionStep():
            return [step.key, type(step).__name__, step.otherwise]
        case JumpStep():
            return [step.key, type(step).__name__, step.to]
        case _:
            return [step.key, type(step).__name__]


def _needs(paths: Mapping[str, CompiledPath]) -> frozenset[Need]:
    needs = {Need.BOOKING} if Path.CONFIRMATION in paths else set()
    channels: set[str] = set()
    for step in (step for path in paths.values() for step in path.steps):
        match step:
            case MessageStep():
                channels.update(step.channels)
            case WaitStep(booking=BookingMoment()):
                needs.add(Need.BOOKING)
            case WaitStep(business_days=days) if days:
                needs.add(Need.CALENDAR)
            case WaitForStep():
                needs.add(Need.SIGNALS)
            case ConditionStep():
                needs.add(Need.VALUES)
            case _:
                pass
    return frozenset(needs | {Need.CHANNELS} if len(channels) > 1 else needs)


def _check_outcomes(paths: Mapping[str, CompiledPath], keys: set[str]) -> None:
    for path in paths.values():
        for step in path.steps:
            if isinstance(step, ConditionStep):
                for asked in filter(None, map(step_of, facts_in(step.test))):
                    if asked not in keys:
                        raise Invalid(
                            f"Path `{path.name}` (`{step.key}`): there is no step `{asked}` to ask about."
                        )


def _compile_path(name: str, steps: Any, seen: set[str]) -> CompiledPath:
    if name not in set(Path):
        raise Invalid(f"There is no path `{name}`; paths are {', '.join(Path)}.")
    if not isinstance(steps, list) or not steps:
        raise Invalid(f"Path `{name}` has no steps.")
    compiled: list[Step] = []
    _compile_steps(f"Path `{name}`", steps, compiled, seen, 0)
    if len(compiled) > MOST_STEPS:
        raise Invalid(f"Path `{name}` has more than {MOST_STEPS} steps.")
    return CompiledPath(name, tuple(compiled), {step.key: at for at, step in enumerate(compiled)})


def _compile_steps(where: str, steps: Any, into: list[Step], seen: set[str], depth: int) -> None:
    """Append the steps of one list; the branches of a step are laid out behind it, in line."""
    if not isinstance(steps, list) or depth > DEEPEST:
        raise Invalid(f"{where}: a branch is a list of steps, at most {DEEPEST} deep.")
    for number, step in enumerate(steps, start=1):
        at = f"{where}, step {number}"
        key = _key(at, step, seen)
        at = f"{at} (`{key}`)"
        if step.get("kind") in ("wait_for", "condition"):
            _compile_branching(at, key, step, into, seen, depth)
        else:
            into.append(_compile_plain(at, key, step))


def _compile_branching(
    where: str, key: str, step: Mapping[str, Any], into: list[Step], seen: set[str], depth: int
) -> None:
    """Lay a step with two branches out: step, `then`, jump over, `else`. Without branches both go on behind it."""
    at = len(into)
    into.append(EndStep(key, ""))  # its place; the step itself is known once its branch is
    _compile_steps(f"{where}, `then`", step.get("then", []), into, seen, depth + 1)
    otherwise = len(into)
    if step.get("else"):
        jump = len(into)
        into.append(EndStep(f"{key}.join", ""))
        otherwise = len(into)
        _compile_steps(f"{where}, `else`", step["else"], into, seen, depth + 1)
        into[jump] = JumpStep(f"{key}.join", len(into))
    if step["kind"] == "condition":
        if not step.get("then") and not step.get("else"):
            raise Invalid(f"{where}: a condition has steps in `then` or in `else`.")
        into[at] = ConditionStep(key, read_test(where, step.get("if")), otherwise)
        return
    length = _length(where, step)
    if not length:
        raise Invalid(f"{where}: a wait_for says after which time it gives up, such as `days`.")
    into[at] = WaitForStep(key, _signals(where, step.get("signals")), length, otherwise)


def _compile_plain(where: str, key: str, step: Mapping[str, Any]) -> Step:
    enabled = bool(step.get("enabled", True))
    match step.get("kind"):
        case "message":
            if not step.get("template"):
                raise Invalid(f"{where}: a message names its `template`.")
            channels = _channels(where, step.get("channels", ["whatsapp"]))
            optional = bool(step.get("optional", False))
            if not enabled and not optional:
                raise Invalid(f"{where}: only an optional step can be switched off.")
            window = _window(where, step.get("send_window"))
            return MessageStep(key, str(step["template"]), channels, optional, enabled, window)
        case "wait":
            return _wait(where, key, step, enabled)
        case "task":
            return _task(where, key, step, enabled)
        case "end":
            return EndStep(key, str(step.get("reason", "path_end")), True)
        case other:
            raise Invalid(f"{where}: unknown kind `{other}`; known are {', '.join(KINDS)}.")


def _key(where: str, step: Any, seen: set[str]) -> str:
    if not isinstance(step, Mapping) or not isinstance(step.get("key"), str) or not step["key"]:
        raise Invalid(f"{where}: a step is an object with a stable `key`.")
    key: str = step["key"]
    if ":" in key or key.endswith(".join"):
        raise Invalid(f"{where}: the key `{key}` has a colon or ends in `.join`, which are the engine's own.")
    if key in seen:
        raise Invalid(f"{where}: the key `{key}` is used twice in this campaign.")
    seen.add(key)
    return key


def _wait(where: str, key: str, step: Mapping[str, Any], enabled: bool) -> WaitStep:
    days = step.get("business_days", 0)
    if isinstance(days, bool) or not isinstance(days, int) or not 0 <= days <= 250:
        raise Invalid(f"{where}: `business_days` is a whole number from 0 to 250.")
    length, until = _length(where, step), step.get("until")
    if isinstance(until, Mapping):
        if length or days:
            raise Invalid(f"{where}: a wait until a booking has no length of its own.")
        return WaitStep(key, length, None, enabled, 0, _booking_moment(where, until))
    return WaitStep(key, length, _local_time(where, until), enabled, days)


def _booking_moment(where: str, given: Mapping[str, Any]) -> BookingMoment:
    edge = given.get("booking")
    if edge not in ("start", "end") or ("before" in given) == ("after" in given):
        raise Invalid(
            f"{where}: `until` names the booking's `start` or `end` and either `before` or `after` it."
        )
    before = "before" in given
    offset = _length(where, given["before"] if before else given["after"])
    return BookingMoment(edge, -offset if before else offset)


def _task(where: str, key: str, step: Mapping[str, Any], enabled: bool) -> TaskStep:
    if step.get("task") not in TASKS:
        raise Invalid(f"{where}: `task` is one of {', '.join(TASKS)}.")
    title = step.get("title")
    if not isinstance(title, str) or not title.strip():
        raise Invalid(f"{where}: a task has a `title` that says what to do.")
    who = step.get("who", "owner")
    if who not in ("owner", "pool"):
        raise Invalid(f"{where}: `who` is owner or pool.")
    due = _length(where, step.get("due", {"days": 1}))
    return TaskStep(key, step["task"], title.strip(), due, who, enabled)


def _channels(where: str, given: Any) -> tuple[str, ...]:
    known = isinstance(given, list | tuple) and given and all(c in CHANNELS for c in given)
    if not known or len(set(given)) != len(given):
        raise Invalid(f"{where}: `channels` is a list, each once; known are {', '.join(CHANNELS)}.")
    return tuple(given)


def _signals(where: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(kind in SIGNALS for kind in given):
        raise Invalid(f"{where}: `signals` is a list; known are {', '.join(SIGNALS)}.")
    return tuple(given)


def _window(where: str, given: Any) -> SendWindow | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise Invalid(f"{where}: `send_window` is an object with `days`, `from` and `to`.")
    days = given.get("days", list(WEEKDAYS))
    if not isinstance(days, list) or not days or not all(day in WEEKDAYS for day in days):
        raise Invalid(f"{where}: `days` of a send window are {', '.join(WEEKDAYS)}.")
    opens = _local_time(where, given.get("from", "00:00"), "from")
    closes = _local_time(where, given.get("to", "23:59"), "to")
    if opens is None or closes is None or opens >= closes:
        raise Invalid(f"{where}: a send window opens before it closes, on the same day.")
    return SendWindow(frozenset(WEEKDAYS.index(day) for day in days), opens, closes)


def _length(where: str, step: Any) -> timedelta:
    if not isinstance(step, Mapping):
        raise Invalid(f"{where}: a length is an object with days, hours or minutes.")
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


def _local_time(where: str, given: Any, name: str = "until") -> time | None:
    if given is None:
        return None
    try:
        at = time.fromisoformat(given)
    except (TypeError, ValueError):
        at = None
    if at is None or at.tzinfo is not None:
        raise Invalid(f"{where}: `{name}` is a local time such as 10:00.")
    return at
