"""The gates at the last moment before a send: pure, in the order of `_CAMPAIGN_GATES`, each verdict explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.campaigns.domain.definition import SendWindow
from app.campaigns.domain.schedule import quiet_until, window_opens
from app.messaging.domain.window import window_open

RETRY_CLOSED = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The organisation's rules: opening hours in the recipient's zone, the least gap between campaign messages."""

    opens: time = time(8, 0)
    closes: time = time(21, 0)
    contact_gap: timedelta = timedelta(hours=20)
    sms_countries: frozenset[str] = frozenset({"MY"})


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What the gates look at for one send, read in the same transaction that starts it."""

    kind: str  # campaign, adviser, system
    channel: str
    kill_switches: tuple[str, ...]
    campaign_active: bool
    address: str | None
    suppressed: tuple[str, ...]  # reasons of standing suppressions of this channel or of all
    consent: bool | None
    sender_status: str
    template_approval: str | None  # None: free text
    whatsapp_inbound_at: datetime | None
    zone: str
    last_campaign_send_at: datetime | None
    window: SendWindow | None = None  # the step's own
    about_visit: bool = False  # a confirmation or a reminder: the lead's own act asked for it
    country: str | None = None  # of the number
    zone_known: bool = True  # or only assumed: good enough where the person has to write first, not for SMS


@dataclass(frozen=True, slots=True)
class Pass:
    """It may go out now."""

    outcome: str = field(default="pass", init=False)


@dataclass(frozen=True, slots=True)
class Skip:
    """It can never go out: recorded, and the flow goes on."""

    reason: str
    outcome: str = field(default="skip", init=False)


@dataclass(frozen=True, slots=True)
class Defer:
    """Not now: again at `until` (business time)."""

    reason: str
    until: datetime
    outcome: str = field(default="defer", init=False)


Verdict = Pass | Skip | Defer


def judge(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict:
    """Return the verdict of the first gate that does not pass."""
    gates = _CAMPAIGN_GATES if facts.kind == "campaign" else _SHORT_GATES
    for gate in gates:
        verdict = gate(facts, policy, now)
        if verdict is not None:
            return verdict
    return Pass()


Gate = Callable[[GateFacts, GatePolicy, datetime], Verdict | None]


def _kill_switch(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return Defer(f"kill_switch:{facts.kill_switches[0]}", now) if facts.kill_switches else None


def _campaign(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return None if facts.campaign_active else Defer("campaign_paused", now)


def _address(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return None if facts.address else Skip("no_address")


def _suppression(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return Skip(f"suppressed:{facts.suppressed[0]}") if facts.suppressed else None


def _suppression_for_people(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    """A person may answer somebody who opted out of the machine, but not through a closed door of the provider."""
    hard = [r for r in facts.suppressed if r in ("provider_block", "unreachable")]
    return Skip(f"suppressed:{hard[0]}") if hard else None


def _consent(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return None if facts.consent else Skip("no_consent")


def _country(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    """SMS is regulated by country: where we may not write, the provider would refuse, or bill a fortune."""
    if facts.channel != "sms" or facts.country in policy.sms_countries:
        return None
    return Skip(f"country:{facts.country or 'unknown'}")


def _zone(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return None if facts.zone_known or facts.channel != "sms" else Skip("zone_unknown")


def _sender(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    return None if facts.sender_status == "active" else Defer(f"sender_{facts.sender_status}", now)


def _sender_for_people(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    """A stop of marketing does not silence people."""
    if facts.sender_status == "marketing_off":
        return None
    return _sender(facts, policy, now)


def _template(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    """Free text needs an open window; a template needs approval. A rejected one is skipped, a pending one waits."""
    if facts.channel != "whatsapp":
        return None
    if facts.template_approval is None:
        return None if window_open(facts.whatsapp_inbound_at, now) else Skip("window_closed")
    if facts.template_approval == "approved":
        return None
    if facts.template_approval in ("pending", "received", "paused", "unsubmitted"):
        return Defer(f"template_{facts.template_approval}", now + RETRY_CLOSED)
    return Skip(f"template_{facts.template_approval}")


def _quiet_hours(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    opens = quiet_until(now, opens=policy.opens, closes=policy.closes, zone=facts.zone)
    return Defer("quiet_hours", opens) if opens is not None else None


def _send_window(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    opens = window_opens(facts.window, now, zone=facts.zone) if facts.window is not None else None
    return Defer("send_window", opens) if opens is not None else None


def _contact_gap(facts: GateFacts, policy: GatePolicy, now: datetime) -> Verdict | None:
    if facts.last_campaign_send_at is None or facts.about_visit:
        return None
    free_at = facts.last_campaign_send_at + policy.contact_gap
    return Defer("contact_gap", free_at) if free_at > now else None


# Rate and cap are the planner's: it reserves them before a send is queued.
_CAMPAIGN_GATES: tuple[Gate, ...] = (
    _kill_switch,
    _campaign,
    _address,
    _suppression,
    _consent,
    _country,
    _sender,
    _template,
    _zone,
    _quiet_hours,
    _send_window,
    _contact_gap,
)
_SHORT_GATES: tuple[Gate, ...] = (
    _kill_switch,
    _address,
    _suppression_for_people,
    _country,
    _sender_for_people,
    _template,
)


def validity_seconds(now: datetime, *, policy: GatePolicy, zone: str, longest: int = 14_400) -> int:
    """Return how long the provider may try, so that nothing is delivered after the day's last hour (min. 60 s)."""
    local = now.astimezone(ZoneInfo(zone))
    closes = local.replace(hour=policy.closes.hour, minute=policy.closes.minute, second=0, microsecond=0)
    return max(60, min(longest, int((closes - local).total_seconds())))
