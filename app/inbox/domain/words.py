"""Thread and panel in plain words: kinds of messages, events, stages, places in a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

MediaKind = Literal["image", "audio", "video", "document", "location", "contact", "sticker", "other"]

LANGUAGES: Final = {"en": "English", "ms": "Malay", "zh": "Chinese", "ta": "Tamil", "id": "Indonesian"}

_KINDS: Final[dict[str, tuple[MediaKind, str]]] = {
    "image": ("image", "Photo"),
    "audio": ("audio", "Voice message"),
    "video": ("video", "Video"),
    "document": ("document", "Document"),
    "sticker": ("sticker", "Sticker"),
    "location": ("location", "Place"),
    "contact_card": ("contact", "Contact card"),
    "unsupported": ("other", "A kind of message that cannot be shown here"),
}
_TITLES: Final = {
    "enrolled": "Joined the campaign",
    "touched": "Came in again",
    "enrol_refused": "Not taken into a campaign",
    "path_entered": "New path",
    "send_queued": "Message written",
    "send_started": "Message on its way",
    "send_accepted": "Message taken by the provider",
    "delivered": "Delivered",
    "read": "Read",
    "failed": "Not delivered",
    "unknown": "Not certain whether it went out",
    "skipped": "Message left out",
    "deferred": "Message put off",
    "superseded": "Message not needed any more",
    "replied": "Lead answered",
    "auto_replied": "Automatic answer",
    "opted_out": "Asked us to stop",
    "opted_in": "Asked to hear from us again",
    "suppressed": "Channel closed",
    "paused": "Campaign paused",
    "resumed": "Campaign goes on",
    "held": "Campaign held for a check",
    "released": "Check done",
    "handoff_opened": "Handed to a person",
    "assigned": "Assigned",
    "accepted": "Accepted",
    "answered": "We answered",
    "sla_warned": "Reply soon due",
    "sla_breached": "Reply overdue",
    "handoff_closed": "Handoff closed",
    "closed": "Closed",
    "exhausted": "Campaign ended without an answer",
    "exited": "Left the campaign",
}
_OUTCOMES: Final = {
    "booked": "visit booked",
    "won": "won",
    "lost": "lost",
    "not_now": "not now",
    "resumed": "campaign goes on",
    "opted_out": "asked us to stop",
    "merged": "merged",
    "no_action": "nothing to do",
}
_STAGES: Final = {
    "nurturing": "Nurturing",
    "engaged": "Engaged",
    "booked": "Booked",
    "attended": "Attended",
    "no_show": "No-show",
    "closed": "Closed",
    "exhausted": "Exhausted",
    "opted_out": "Opted out",
    "exited": "Exited",
}
_LINE: Final = ("nurturing", "engaged", "booked", "attended", "closed")
SYSTEM_LINES: Final = (
    "handoff_opened",
    "assigned",
    "handoff_closed",
    "paused",
    "resumed",
    "held",
    "released",
    "opted_out",
    "opted_in",
)
"""Events that stand as lines in the thread."""


def media_of(kind: str) -> tuple[MediaKind, str] | None:
    """Return kind and label of what a message carries besides text; None for plain text."""
    if kind in ("text", "button", "list_reply", "template"):
        return None
    return _KINDS.get(kind, _KINDS["unsupported"])


def last_words(*, text: str | None, kind: str | None) -> str:
    """Return the line under a name in the list: the text, else what kind of message it was."""
    if text:
        return text
    media = media_of(kind or "text")
    return media[1] if media else ""


def language_words(code: str) -> str:
    """Return a language's name in English."""
    return LANGUAGES.get(code.partition("-")[0].partition("_")[0], code)


def event_title(type: str, data: Mapping[str, Any]) -> str:
    """Return a ledger event as a short title."""
    if type == "handoff_closed":
        outcome = str(data.get("outcome", ""))
        return f"Handoff closed: {_OUTCOMES.get(outcome, outcome)}"
    if type == "released" and data.get("what") == "rest":
        return "Their rest was ended"
    if type == "enrol_refused" and data.get("waits"):
        return "Waits for their turn in a campaign"
    return _TITLES.get(type, type.replace("_", " ").capitalize())


def system_line(type: str, data: Mapping[str, Any], *, owner_name: str | None) -> str:
    """Return a ledger event as a line of the thread."""
    if type == "assigned":
        return f"{owner_name} takes care" if owner_name else "Back in the pool"
    if type == "handoff_opened" and data.get("flag") == "may_want_to_stop":
        return "May want to stop: handed to a person"
    return event_title(type, data)


def stage_words(stage: str | None) -> str:
    """Return a stage as it is written on screens; a person without an enrolment has none."""
    return _STAGES.get(stage or "", "No campaign")


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the journey bar."""

    label: str
    state: Literal["past", "now", "ahead"]


def journey_bar(stage: str | None) -> tuple[Segment, ...]:
    """Return the main line with the present stage marked; empty for people without an enrolment.

    A stage beside the line (no-show, opted out, …) takes the place it was reached from.
    """
    if stage is None:
        return ()
    at = {"no_show": 3, "exhausted": 1, "opted_out": 1, "exited": 1}.get(stage)
    labels = [stage_words(one) for one in _LINE]
    if at is None:
        at = _LINE.index(stage) if stage in _LINE else 0
    else:
        labels[at] = stage_words(stage)
    return tuple(
        Segment(label, "past" if n < at else "now" if n == at else "ahead") for n, label in enumerate(labels)
    )


def position_words(definition: Mapping[str, Any] | None, *, path: str | None, step: str | None) -> str:
    """Return the place in a path as `Message 2 of 6`; empty where there is none.

    Waiting after a message counts as standing at that message.
    """
    steps: Sequence[Mapping[str, Any]] = (definition or {}).get("paths", {}).get(path, [])
    keys = [one.get("key") for one in steps]
    if step not in keys:
        return ""
    total = sum(one.get("kind") == "message" for one in steps)
    reached = sum(one.get("kind") == "message" for one in steps[: keys.index(step) + 1])
    return f"Message {max(reached, 1)} of {total}" if total else ""


def next_words(definition: Mapping[str, Any] | None, *, path: str | None, step: str | None) -> str:
    """Return the template of the message that comes next on a path, in words; empty where none does."""
    steps: Sequence[Mapping[str, Any]] = (definition or {}).get("paths", {}).get(path, [])
    keys = [one.get("key") for one in steps]
    if step not in keys:
        return ""
    ahead = (
        one for one in steps[keys.index(step) :] if one.get("kind") == "message" and one.get("enabled", True)
    )
    found = next(ahead, None)
    return str(found.get("template", "")).replace("_", " ") if found else ""
