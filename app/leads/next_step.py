"""What the machine will do next, when, and why then: from the version, the position and the rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.advisers.domain.sla import DEFAULT_CALENDAR
from app.campaigns.domain.conditions import facts_in
from app.campaigns.domain.definition import (
    CompiledVersion,
    ConditionStep,
    EndStep,
    JumpStep,
    MessageStep,
    TaskStep,
    WaitForStep,
    WaitStep,
)
from app.campaigns.domain.gates import GatePolicy
from app.campaigns.domain.schedule import quiet_until, wait_due
from app.leads.reasons import plan_words, reason_words
from app.leads.views import NextStep
from app.web.words import plural

ENDS: Final = {
    "nurturing": "“exhausted”, with a rest of 60 days",
    "no_show": "“exhausted”, with a rest of 60 days",
    "attended": "“closed”, with a rest of 30 days",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one enrolment stands. `stops` are what holds every message back: kill switches, a paused campaign.

    `in_flight` is the status of the send that holds the enrolment's lock.
    """

    stage: str
    automation: str
    path: str | None
    step: str | None
    wait_from: datetime | None
    next_run_at: datetime | None
    last_sent_at: datetime | None
    resume_at: datetime | None
    pause_reason: str | None
    hold_reason: str | None
    has_handoff: bool
    in_flight: str | None
    stops: Sequence[str]
    zone: str


def next_step(
    standing: Standing,
    *,
    version: CompiledVersion,
    templates: Mapping[str, str],
    policy: GatePolicy,
    reader_zone: str,
    now: datetime,
) -> NextStep | None:
    """Return the next planned step; None once the journey is over. Times count as nothing else comes between."""
    match standing.automation:
        case "completed":
            return None
        case "paused":
            return _paused(standing, reader_zone, now)
        case "held":
            why = reason_words(standing.hold_reason, zone=reader_zone, now=now)
            return NextStep("Nothing until the hold is released", _sentence(why or "a person has to decide"))
    if standing.in_flight is not None:
        return _in_flight(standing, version, templates, reader_zone, now)
    return _ahead(standing, version, templates, policy, reader_zone, now)


def _paused(standing: Standing, zone: str, now: datetime) -> NextStep:
    why = _sentence(reason_words(standing.pause_reason, zone=zone, now=now)) or "Paused"
    if standing.resume_at is not None:
        return NextStep("The campaign goes on by itself", why, at=standing.resume_at)
    if standing.has_handoff:
        return NextStep(
            "Nothing by the campaign", f"{why}. It goes on once a person gives the lead back to it"
        )
    return NextStep("Nothing by the campaign", f"{why}. It goes on once somebody resumes it")


def _in_flight(
    standing: Standing, version: CompiledVersion, templates: Mapping[str, str], zone: str, now: datetime
) -> NextStep:
    step = version.step(standing.path, standing.step)
    name = _name(step, templates) if isinstance(step, MessageStep) else "A message"
    if standing.in_flight == "unknown":
        return NextStep(
            f"{name}: not certain whether it went out", "The provider is asked; nothing is sent twice"
        )
    if standing.in_flight == "sending":
        return NextStep(f"{name} is on its way to the provider", "Its outcome is awaited")
    why = "; ".join(reason_words(one, zone=zone, now=now) for one in standing.stops)
    return NextStep(f"{name} goes out now", _sentence(why) or "It waits for its turn at the sender")


def _ahead(
    standing: Standing,
    version: CompiledVersion,
    templates: Mapping[str, str],
    policy: GatePolicy,
    reader_zone: str,
    now: datetime,
) -> NextStep:
    if standing.stage == "booked" and standing.step is None:
        return NextStep(
            "Somebody marks whether they came", "The visit's messages are out", at=standing.next_run_at
        )
    path = version.paths.get(standing.path or "")
    number = path.index.get(standing.step or "") if path is not None else None
    if path is None or number is None:
        return NextStep(
            "A person has to look", "This campaign version does not have the step the lead stands at"
        )
    at = max(standing.next_run_at or now, now)
    reasons: list[str] = []
    first = number
    while number < len(path.steps):
        step = path.steps[number]
        number += 1
        match step:
            case WaitStep():
                if number - 1 != first:  # the wait the lead stands at is in the timer already
                    at = max(at, _wait_ends(step, at, standing))
                if step.enabled:
                    reasons.append(_wait_words(step))
            case MessageStep(enabled=False):
                reasons.append(f"{_name(step, templates)} is switched off")
            case MessageStep():
                return _message(standing, step, templates, at, reasons, policy, reader_zone, now)
            case WaitForStep():
                return NextStep(
                    f"Waits until they have {_any_of(step.signals)}",
                    _sentence(_listed([*reasons, f"for {_length(step.length)} at most"])),
                    at=at if number - 1 == first else None,
                )
            case ConditionStep():
                asked = _any_of([fact.replace(".", " ") for fact in facts_in(step.test)])
                return NextStep(
                    "The path parts here", _sentence(_listed([*reasons, f"it depends on {asked}"])), at=at
                )
            case TaskStep():
                reasons.append(f"a task for a person: {step.title}")
            case JumpStep():
                number = step.to
            case EndStep():
                break
    ending = ENDS.get(standing.stage, "its end")
    return NextStep(
        "No further message", _sentence(_listed([*reasons, f"the journey then ends as {ending}"])), at=at
    )


def _message(
    standing: Standing,
    step: MessageStep,
    templates: Mapping[str, str],
    at: datetime,
    reasons: list[str],
    policy: GatePolicy,
    reader_zone: str,
    now: datetime,
) -> NextStep:
    due = at
    if standing.last_sent_at is not None and standing.last_sent_at + policy.contact_gap > at:
        at = standing.last_sent_at + policy.contact_gap
        reasons.append("at least 20 hours after the last message")
    opens = quiet_until(at, opens=policy.opens, closes=policy.closes, zone=standing.zone)
    if opens is not None:
        at = opens
        reasons.append(f"quiet hours where they live until {plan_words(opens, now=now, zone=standing.zone)}")
    if standing.stops:
        stopped = [reason_words(one, zone=reader_zone, now=now) for one in standing.stops]
        return NextStep(f"{_name(step, templates)} waits", _sentence(_listed(stopped)), at=None)
    if not reasons:
        reasons.append("due now" if due <= now else "as planned")
    return NextStep(_name(step, templates), _sentence(_listed(reasons)), at=at)


def _wait_ends(step: WaitStep, begins: datetime, standing: Standing) -> datetime:
    if step.booking is not None:
        return begins  # the words say what it hangs on; the timer is set when the journey gets there
    return wait_due(step, wait_from=begins, zone=standing.zone, calendar=DEFAULT_CALENDAR)


def _name(step: MessageStep, templates: Mapping[str, str]) -> str:
    return f"“{templates.get(step.template, step.template.replace('_', ' '))}”"


def _wait_words(step: WaitStep) -> str:
    if step.booking is not None:
        offset = _length(abs(step.booking.offset))
        side = "before" if step.booking.offset < timedelta(0) else "after"
        return f"{offset} {side} the visit {step.booking.edge}s"
    days = f"{plural(step.business_days, 'working day')} " if step.business_days else ""
    length = f"{days}{_length(step.length)}".strip()
    if step.until is None:
        return f"{length} after the message before" if length else "at once"
    return (
        f"{length} later, at {step.until:%H:%M} their time" if length else f"at {step.until:%H:%M} their time"
    )


def _length(length: timedelta) -> str:
    hours, minutes = divmod(length.seconds // 60, 60)
    parts = [
        plural(length.days, "day") if length.days else "",
        plural(hours, "hour") if hours else "",
        plural(minutes, "minute") if minutes else "",
    ]
    return " ".join(part for part in parts if part)


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(name.replace("_", " ") for name in names)


def _listed(parts: Sequence[str]) -> str:
    return "; ".join(part for part in parts if part)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
