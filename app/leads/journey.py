"""The ledger in plain words: what happened, who did it, when and why. Pure; names are looked up before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from app.leads.reasons import OUTCOMES, channel_words, moment_words, reason_words
from app.web.views import TimelineEvent

LONGEST_QUOTE: Final = 160
_PATHS: Final = {
    "nurture": "Nurture messages",
    "confirmation": "Visit confirmation",
    "post_visit": "After the visit",
    "rebook": "Booking again",
}
_ACTORS: Final = {
    "engine": "The campaign",
    "provider": "The provider",
    "routing": "Routing",
    "system": "The reply clock",
    "lead": "The lead",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One ledger event as stored. `facts` are its personal values, empty once they were erased."""

    id: int
    type: str
    at: datetime
    actor: str
    cause: str | None = None
    enrolment_id: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A send by name: `template` for the campaign's, `author` for an adviser's; `text` is what it said."""

    kind: str
    template: str | None
    author: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Names:
    """What the lines refer to by id."""

    users: Mapping[int, str] = field(default_factory=dict)
    sends: Mapping[int, SentMessage] = field(default_factory=dict)
    inbound: Mapping[int, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[tuple[int, str], str] = field(default_factory=dict)
    campaigns: Mapping[int, str] = field(default_factory=dict)
    campaign_keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells lines to one reader: times are in their zone."""

    names: Names
    zone: str
    now: datetime

    def tell(self, line: Line, *, is_latest: bool = False) -> TimelineEvent:
        """Return one event in words. A type that has none yet is shown by its name, never dropped."""
        words = WORDS.get(line.type)
        title, detail = words(line, self) if words else (line.type.replace("_", " ").capitalize(), "")
        return TimelineEvent(
            key=str(line.id),
            at=line.at,
            title=_sentence(title),
            detail=_sentence(detail),
            actor=self.who(line.actor),
            cause=self._why(line),
            is_latest=is_latest,
        )

    def who(self, actor: str) -> str:
        """Return an actor by name."""
        kind, _, number = actor.partition(":")
        if kind == "user" and number.isdigit():
            return self.names.users.get(int(number), "A former colleague")
        if kind == "signal":
            return "The lead"
        if kind == "import":
            return f"Import {number}"
        if kind == "cli":
            return f"{number}, on the command line"
        return _ACTORS.get(actor, actor[:1].upper() + actor[1:])

    def why(self, reason: object) -> str:
        """Return a reason in words."""
        if not reason:
            return ""
        return reason_words(str(reason), zone=self.zone, now=self.now, campaigns=self.names.campaign_keys)

    def when(self, moment: object) -> str:
        """Return a stored moment in words."""
        return moment_words(moment, zone=self.zone, now=self.now)

    def message(self, line: Line) -> str:
        """Return the message that a line is about by name: `“Welcome”`, `Aina's message`."""
        sent = self._sent(line)
        if sent is not None and sent.kind == "adviser":
            return f"{(sent.author or 'An adviser').split()[0]}'s message"
        if sent is not None and sent.kind == "system":
            return "The confirmation"
        name = sent.template if sent is not None else None
        if name is None and line.data.get("template"):
            key = str(line.data["template"])
            name = self.names.templates.get(key, key.replace("_", " "))
        if name is None and line.data.get("step"):
            step = str(line.data["step"])
            name = self.names.steps.get((line.enrolment_id or 0, step), step.replace("_", " "))
        return f"“{name}”" if name else "A message"

    def said(self, line: Line) -> str:
        """Return what our message said."""
        sent = self._sent(line)
        return quoted(sent.text) if sent is not None and sent.text else ""

    def heard(self, line: Line) -> str:
        """Return what the lead wrote; empty where it was erased or was no text."""
        for name in ("text", "words"):
            if name in line.facts:
                return quoted(line.facts[name])
        kind, _, number = (line.cause or "").partition(":")
        text = self.names.inbound.get(int(number)) if kind == "signal" and number.isdigit() else None
        return quoted(text) if text else ""

    def user(self, number: object) -> str | None:
        """Return a colleague by id."""
        return self.names.users.get(int(number), "A former colleague") if isinstance(number, int) else None

    def _sent(self, line: Line) -> SentMessage | None:
        number = send_of(line.data)
        return self.names.sends.get(number) if number is not None else None

    def _why(self, line: Line) -> str:
        cause = line.cause or ""
        if not cause or cause == line.actor or line.type in _CAUSE_IS_TOLD:
            return ""
        kind, _, _ = cause.partition(":")
        if kind == "signal":
            return "by their message"
        if kind in ("user", "import", "cli"):
            return f"by {self.who(cause)}"
        return self.why(cause)


def quoted(text: str) -> str:
    """Return words in quotation marks, on one line, cut where they are long."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + '…'}”"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


# --- one function for each type that says more than its name -------------------------------------------------------

Words = Callable[[Line, Teller], tuple[str, str]]


def _plain(title: str, detail: str = "") -> Words:
    return lambda line, teller: (title, detail)


def _by_cause(title: str) -> Words:
    return lambda line, teller: (title, teller.why(line.cause))


def _of_message(words: str) -> Words:
    return lambda line, teller: (f"{teller.message(line)} {words}", teller.why(line.cause))


def _enrolled(line: Line, teller: Teller) -> tuple[str, str]:
    campaign = teller.names.campaigns.get(line.enrolment_id or 0)
    generation = line.data.get("generation", 1)
    detail = _joined(
        f"version {line.data['version']}" if line.data.get("version") else "",
        f"for the {_nth(generation)} time" if isinstance(generation, int) and generation > 1 else "",
        f"in spite of a rest period: {line.data['override']}" if line.data.get("override") else "",
    )
    return f"Joined “{campaign}”" if campaign else "Joined a campaign", detail


def _nth(number: int) -> str:
    return {2: "second", 3: "third", 4: "fourth"}.get(number, f"{number}th")


def _touched(line: Line, teller: Teller) -> tuple[str, str]:
    return "Came in again", f"{_campaign(line, teller)} runs already, so nothing starts twice"


def _refused(line: Line, teller: Teller) -> tuple[str, str]:
    why = teller.why(line.cause)
    if line.data.get("waits"):
        return f"Waits for their turn in {_campaign(line, teller)}", why
    if line.data.get("waited"):
        note = str(line.data.get("note") or "")
        return f"Waits no more for {_campaign(line, teller)}", f"{why}: {note}" if note else why
    return f"Not taken into {_campaign(line, teller)}", teller.why(line.cause)


def _campaign(line: Line, teller: Teller) -> str:
    key = str(line.data.get("campaign", ""))
    return f"“{teller.names.campaign_keys.get(key, key.replace('_', ' '))}”" if key else "the campaign"


def _path_entered(line: Line, teller: Teller) -> tuple[str, str]:
    path, lap = str(line.data.get("path", "")), line.data.get("lap", 1)
    again = f"for the {_nth(lap)} time" if isinstance(lap, int) and lap > 1 else ""
    if path not in _PATHS:
        return f"The path “{path.replace('_', ' ')}” begins" if path else "A path begins", again
    return f"{_PATHS[path]} begin", again


def _queued(line: Line, teller: Teller) -> tuple[str, str]:
    return f"{teller.message(line)} is due", ""


def _accepted_by_provider(line: Line, teller: Teller) -> tuple[str, str]:
    if line.data.get("again"):
        return f"The provider took {teller.message(line)} a second time", teller.why(line.cause)
    return f"{teller.message(line)} sent", teller.said(line)


def _failed(line: Line, teller: Teller) -> tuple[str, str]:
    late = "after the provider had taken it" if line.data.get("later") else ""
    return f"{teller.message(line)} was not delivered", _joined(teller.why(line.cause), late)


def _unknown(line: Line, teller: Teller) -> tuple[str, str]:
    if line.cause == "needs_review":
        return f"Nobody can tell whether {teller.message(line)} went out", "a person has to look"
    return (
        f"Not certain whether {teller.message(line)} went out",
        "the provider is asked; nothing is sent twice",
    )


def _deferred(line: Line, teller: Teller) -> tuple[str, str]:
    until = teller.when(line.data.get("until"))
    return f"{teller.message(line)} put off", _joined(
        teller.why(line.cause), f"again {until}" if until else ""
    )


def _replied(line: Line, teller: Teller) -> tuple[str, str]:
    if line.data.get("may_want_to_stop"):
        return "Wrote something that may mean stop", teller.heard(line)
    return "The lead answered", teller.heard(line)


def _auto_replied(line: Line, teller: Teller) -> tuple[str, str]:
    until = teller.when(line.data.get("until"))
    return "Automatic answer", f"the campaign waits until {until}" if until else ""


def _opted_out(line: Line, teller: Teller) -> tuple[str, str]:
    if line.data.get("reason") == "provider_block":
        return f"Blocked us on {channel_words(line.data.get('channel'))}", teller.why(line.cause)
    return "Asked us to stop", teller.heard(line)


def _bounced(line: Line, teller: Teller) -> tuple[str, str]:
    return f"Cannot be reached on {channel_words(line.data.get('channel'))}", teller.why(line.cause)


def _suppressed(line: Line, teller: Teller) -> tuple[str, str]:
    channel = line.data.get("channel")
    title = (
        "Not to be contacted any more" if channel == "all" else f"{channel_words(channel)} closed for them"
    )
    return title, ""


def _paused(line: Line, teller: Teller) -> tuple[str, str]:
    hold = "it stays held until it is released" if line.data.get("under_hold") else ""
    return "Campaign paused", _joined(teller.why(line.data.get("reason") or line.cause), hold)


def _held(line: Line, teller: Teller) -> tuple[str, str]:
    reason = line.data.get("reason") or (line.cause if not (line.cause or "").startswith("user:") else "")
    return "Journey held", teller.why(reason)


def _released(line: Line, teller: Teller) -> tuple[str, str]:
    if line.data.get("what") != "rest":
        return "Hold released", ""
    until = teller.when(line.data.get("until"))
    return "Their rest was ended", f"it would have lasted until {until}" if until else ""


def _condition(line: Line, teller: Teller) -> tuple[str, str]:
    branch = line.data.get("branch")
    return "A branch was chosen", str(branch).replace("_", " ") if branch else ""


def _handoff_opened(line: Line, teller: Teller) -> tuple[str, str]:
    due = teller.when(line.data.get("due_at"))
    doubtful = line.data.get("flag") == "may_want_to_stop"
    title = "May want to stop: handed to a person" if doubtful else "Handed to a person"
    return title, f"first reply due {due}" if due else ""


def _assigned(line: Line, teller: Teller) -> tuple[str, str]:
    owner, reason = teller.user(line.data.get("owner_id")), str(line.data.get("reason") or "")
    if owner is None:
        return "Back in the pool", reason
    load, capacity = line.data.get("load"), line.data.get("capacity")
    seen = f"{load} of {capacity} leads before" if load is not None and capacity is not None else ""
    above = "above the capacity" if line.data.get("above_capacity") else ""
    return f"{owner} has the lead", _joined(reason, seen, above)


def _accepted(line: Line, teller: Teller) -> tuple[str, str]:
    return f"{teller.user(line.data.get('user_id')) or teller.who(line.actor)} takes care", ""


def _answered(line: Line, teller: Teller) -> tuple[str, str]:
    seconds, in_time = line.data.get("seconds"), line.data.get("in_time")
    took = f"after {_working(seconds)} of working time" if isinstance(seconds, int) else ""
    timely = "" if in_time is None else "in time" if in_time else "too late"
    name = teller.user(line.data.get("user_id")) or teller.who(line.actor)
    return f"{name} answered", _joined("first reply" if line.data.get("is_first") else "", took, timely)


def _working(seconds: int) -> str:
    minutes = seconds // 60
    if minutes < 1:
        return "less than a minute"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _clock(title: str, words: str) -> Words:
    def tell(line: Line, teller: Teller) -> tuple[str, str]:
        due = teller.when(line.data.get("due_at"))
        return title, f"{words} {due}" if due else ""

    return tell


def _handoff_closed(line: Line, teller: Teller) -> tuple[str, str]:
    outcome = str(line.data.get("outcome", ""))
    until = teller.when(line.data.get("not_now_until"))
    return f"Handoff closed: {OUTCOMES.get(outcome, outcome)}", f"until {until}" if until else ""


def _task_opened(line: Line, teller: Teller) -> tuple[str, str]:
    if line.data.get("kind") != "review":
        return f"Task for a person: {_kind(line)}", teller.why(line.cause)
    why = "" if line.cause == "needs_review" else teller.why(line.cause)
    if line.data.get("ref") == "cooldown":
        until = teller.when(line.data.get("until"))
        return (
            "A person has to decide",
            f"it began while they were to rest{f', until {until}' if until else ''}",
        )
    if send_of(line.data) is None:
        return "A person has to look", why
    return f"A person has to look: was {teller.message(line)} sent?", why


def _task_done(line: Line, teller: Teller) -> tuple[str, str]:
    verdict = str(line.data.get("verdict") or line.data.get("outcome") or "")
    if line.data.get("kind") != "review":
        return f"Task done: {_kind(line)}", verdict.replace("_", " ")
    told = {
        "sent": "it was sent",
        "again": "send it again",
        "skip": "leave it out",
        "goes_on": "it goes on in spite of the rest",
    }
    return "Review done", told.get(verdict, verdict)


def _kind(line: Line) -> str:
    return str(line.data.get("kind") or "task").replace("_", " ")


def send_of(data: Mapping[str, Any]) -> int | None:
    """Return the send that an event is about: by its own field, or by the subject of a review."""
    if isinstance(data.get("send_id"), int):
        return int(data["send_id"])
    kind, _, number = str(data.get("ref") or "").partition(":")
    return int(number) if kind == "send" and number.isdecimal() and len(number) <= 18 else None


def _version(title: str) -> Words:
    return lambda line, teller: (title, f"version {line.data['version']}" if line.data.get("version") else "")


def _closed(line: Line, teller: Teller) -> tuple[str, str]:
    ended = line.cause == "path_ended"
    return "Journey closed", teller.why(line.cause) if ended else OUTCOMES.get(
        line.cause or "", line.cause or ""
    )


def _merged(line: Line, teller: Teller) -> tuple[str, str]:
    other = line.data.get("survivor_id") or line.data.get("contact_id")
    return "Became one with another contact", f"contact {other}" if other else ""


def _ignored(line: Line, teller: Teller) -> tuple[str, str]:
    stimulus, at, state = (line.cause or "").partition(" at ")
    return "Noted; nothing changed", f"{stimulus.replace('_', ' ')} while {state}" if at else teller.why(
        line.cause
    )


WORDS: Final[dict[str, Words]] = {
    "enrolled": _enrolled,
    "touched": _touched,
    "enrol_refused": _refused,
    "path_entered": _path_entered,
    "send_queued": _queued,
    "send_started": lambda line, teller: (f"{teller.message(line)} on its way to the provider", ""),
    "send_accepted": _accepted_by_provider,
    "delivered": _of_message("delivered"),
    "read": _of_message("read"),
    "clicked": _of_message("opened by its link"),
    "failed": _failed,
    "unknown": _unknown,
    "skipped": _of_message("left out"),
    "deferred": _deferred,
    "superseded": _of_message("not needed any more"),
    "replied": _replied,
    "noted": _plain("A colleague wrote themselves", "the campaign keeps quiet"),
    "auto_replied": _auto_replied,
    "called": _plain("Answered a call"),
    "crm_changed": _plain("Changed in the CRM"),
    "booked": _plain("Visit booked"),
    "rescheduled": _plain("Visit moved to another time"),
    "cancelled": _plain("Visit cancelled"),
    "attended": _plain("Came to the visit"),
    "no_show": _plain("Did not come to the visit"),
    "opted_out": _opted_out,
    "opted_in": lambda line, teller: ("Asked to hear from us again", teller.heard(line)),
    "bounced": _bounced,
    "complained": _plain("Reported us as unwanted"),
    "suppressed": _suppressed,
    "paused": _paused,
    "resumed": _plain("Campaign goes on"),
    "held": _held,
    "released": _released,
    "condition_evaluated": _condition,
    "handoff_opened": _handoff_opened,
    "assigned": _assigned,
    "accepted": _accepted,
    "answered": _answered,
    "sla_warned": _clock("Reply soon due", "due"),
    "sla_breached": _clock("Reply overdue", "was due"),
    "escalated": _plain("Raised to a manager"),
    "handoff_closed": _handoff_closed,
    "task_opened": _task_opened,
    "task_done": _task_done,
    "version_adopted": _version("New timing of the campaign taken up"),
    "version_moved": _version("Moved to another version of the campaign"),
    "merged": _merged,
    "closed": _closed,
    "exhausted": _by_cause("Campaign ended without an answer"),
    "exited": _by_cause("Left the campaign"),
    "ignored": _ignored,
}
"""Every type of ledger event. A new type is a line here."""

_CAUSE_IS_TOLD: Final = frozenset(
    {
        "enrol_refused",
        "send_accepted",
        "delivered",
        "read",
        "failed",
        "unknown",
        "skipped",
        "deferred",
        "superseded",
        "bounced",
        "paused",
        "held",
        "task_opened",
        "closed",
        "exhausted",
        "exited",
        "ignored",
        "touched",
    }
)
"""Types whose words tell their cause already."""
