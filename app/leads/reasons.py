"""Why something happened or did not, in plain words: gate verdicts, causes, provider's codes, pauses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from app.web.words import day_and_time, full_moment

CHANNELS: Final = {"whatsapp": "WhatsApp", "sms": "SMS", "email": "E-mail", "all": "every channel"}
SUPPRESSIONS: Final = {
    "stop_word": "they asked us to stop",
    "provider_block": "they blocked us, or opted out with the provider",
    "unreachable": "this number cannot be reached",
    "complaint": "they complained",
    "operator": "closed by one of us",
}
_WORDS: Final = {
    # gates
    "quiet_hours": "quiet hours where they live: nothing goes out between 21:00 and 08:00",
    "contact_gap": "at least 20 hours between two campaign messages to one person",
    "campaign_paused": "the campaign is paused",
    "no_address": "there is no number to send to",
    "no_consent": "they did not agree to be written to on this channel",
    "sender_off": "the sender is switched off",
    "sender_credentials": "the provider refuses the sender's credentials",
    "sender_missing": "there is no sender",
    "window_closed": "the 24-hour reply window is closed, and there is no template for it",
    "template_pending": "the template waits for approval",
    "template_received": "the template waits for approval",
    "template_unsubmitted": "the template was not submitted for approval yet",
    "template_paused": "the provider has paused the template",
    "template_rejected": "the template was not approved",
    "template_disabled": "the provider has disabled the template",
    "capacity": "the advisers have their hands full",
    "too_late": "its moment had passed",
    "step_off": "this step is switched off",
    "send_window": "this message has its own days and hours",
    "zone_unknown": "nobody knows their time zone, and an SMS must not come at night",
    "channel": "another channel reaches them",
    # standing down
    "unread_inbound": "a message from them came in at that moment and is read first",
    "position_moved": "the journey had moved on",
    "arrived_after_all": "the first try had arrived after all",
    "lock_lost": "the journey had moved on",
    "paused": "the campaign is paused for this lead",
    "held": "the journey is held for a check",
    "closed": "the journey was closed",
    "exhausted": "the journey had ended",
    "opted_out": "they asked us to stop",
    "exited": "the journey had ended",
    "already_sent": "it was sent before",
    "review": "decided by a person",
    "lease_expired": "the program that sent it stopped before it knew",
    "needs_review": "a person has to look",
    # who told us
    "finish": "",
    "callback": "reported by the provider",
    "look_up": "found at the provider",
    "reap": "nobody reported the outcome in time",
    "reviewer": "confirmed by a person",
    "outcome known": "the outcome is known now",
    # doors
    "suppressed": "they are not to be contacted",
    "no_usable_channel": "there is no channel to reach them on",
    "unknown_contact": "nobody knows this contact",
    "twice_in_this_batch": "named twice in the same list",
    "with_an_adviser": "they talk with one of us",
    "withdrawn": "taken back by one of us",
    "expired": "their turn did not come in time",
    "campaign_closed": "the campaign is closed",
    "its_turn": "nothing is in the way any more",
    # pauses and ends
    "cancelled": "they cancelled their visit",
    "handoff_open": "a person has this lead",
    "after_confirmation": "their booking is confirmed first",
    "path_ended": "all its messages were sent",
    "visit_not_marked": "nobody marked whether they came",
    "no_booking": "a step waits for a booking, and there is none",
    "replied": "they answered",
    "called": "they answered a call",
    "noted": "a colleague writes to them",
    "may_want_to_stop": "they may want us to stop",
    "auto_reply": "an automatic answer came back",
    "operator": "paused by one of us",
    "cooldown": "it began while they were to rest",
    "inconclusive": "nobody can tell whether a message went out",
    "version_mismatch": "the campaign's version does not have this step",
    "no_usable_channel_left": "there is no channel left to reach them on",
    "resume_due": "the date has come",
    "won": "won",
    "lost": "lost",
    "not_now": "not now",
    "merged": "they became part of another contact",
    "failure_after_delivery": "the provider reported a failure after the delivery",
    "progress_after_failure": "the provider reported progress after a failure",
    "rate_limited": "the provider asked us to slow down",
}
OUTCOMES: Final = {
    "booked": "visit booked",
    "won": "won",
    "lost": "lost",
    "not_now": "not now",
    "resumed": "back to the campaign",
    "opted_out": "asked us to stop",
    "merged": "merged",
    "no_action": "nothing to do",
}
_SWITCHES: Final = {
    "global": "all sending is stopped by the kill switch",
    "channel": "this channel is stopped by the kill switch",
    "campaign": "this campaign is stopped by the kill switch",
    "sender": "this sender is stopped by the kill switch",
}
_CODE: Final = re.compile(r"[0-9]{3,6}")


def reason_words(
    reason: str | None, *, zone: str, now: datetime, campaigns: Mapping[str, str] | None = None
) -> str:
    """Return a stored reason in plain words, without a capital or a full stop; what people wrote stays as it is.

    `campaigns` are names by key.
    """
    if not reason:
        return ""
    if reason in _WORDS:
        return _WORDS[reason]
    if _CODE.fullmatch(reason):
        return f"the provider's reason {reason}"
    kind, colon, rest = reason.partition(":")
    if not colon:
        return reason.replace("_", " ") if reason.islower() and " " not in reason else reason
    match kind:
        case "country":
            return "SMS is not sent to numbers of that country"
        case "channel":
            why = reason_words(rest, zone=zone, now=now, campaigns=campaigns)
            return f"another channel is tried: {why}"
        case "not_again":
            why = reason_words(rest, zone=zone, now=now, campaigns=campaigns)
            return f"it did not arrive, and was not tried again: {why}"
        case "kill_switch":
            return _SWITCHES.get(rest.partition(":")[0], "stopped by the kill switch")
        case "suppressed":
            return f"not to be contacted: {SUPPRESSIONS.get(rest, rest)}"
        case "live_in":
            return f"they are in the campaign “{(campaigns or {}).get(rest, rest.replace('_', ' '))}” now"
        case "in_cooldown_until":
            return f"they rest until {_date(rest, zone, now)}"
        case _:
            return reason


def channel_words(channel: str | None) -> str:
    """Return a channel as it is written on screens."""
    return CHANNELS.get(channel or "", channel or "this channel")


def moment_words(text: object, *, zone: str, now: datetime) -> str:
    """Return a stored ISO moment for the middle of a sentence, such as `tomorrow 08:00`; empty for anything else."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return ""
    return plan_words(at, zone=zone, now=now) if at.tzinfo is not None else ""


def plan_words(at: datetime, *, zone: str, now: datetime) -> str:
    """Return a moment for the middle of a sentence: `today 14:00`, `Fri 4 Dec 09:00`."""
    words = day_and_time(at, now=now, zone=zone)
    return words[0].lower() + words[1:] if words.startswith(("Today", "Tomorrow", "Yesterday")) else words


def _date(text: str, zone: str, now: datetime) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return full_moment(at, zone=zone) if at.tzinfo is not None else text
