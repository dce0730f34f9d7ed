"""Whether and how a person may be written to by an adviser, and who may do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from app.kernel.errors import Conflict, Invalid, WarmlineError
from app.kernel.roles import Role
from app.messaging.domain.window import window_closes_at, window_open

HARD: Final = {
    "provider_block": "{name} has blocked us, or opted out with the provider.",
    "unreachable": "{name} cannot be reached on this channel.",
}
"""Suppressions that no person can write through."""


class Mode(StrEnum):
    """What the composer offers."""

    FREE = "free"
    TEMPLATE = "template"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes."""

    user_id: int
    role: Role


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A standing suppression: a channel or `all`, and why."""

    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about a contact when somebody is about to write. `name` is how people call them."""

    name: str
    has_phone: bool
    has_whatsapp: bool
    suppressed: Sequence[Suppressed]
    whatsapp_inbound_at: datetime | None
    last_inbound_channel: str | None
    whatsapp_sender_id: int | None
    sms_sender_id: int | None
    owner_id: int | None = None
    owner_name: str | None = None
    is_in_pool: bool = False

    def reasons(self, channel: str) -> list[str]:
        """Return why a channel is closed, if it is."""
        return [one.reason for one in self.suppressed if one.channel in ("all", channel)]


@dataclass(frozen=True, slots=True)
class Way:
    """How an answer can go out now. `words` say why it cannot, or not freely."""

    mode: Mode
    channel: str
    sender_id: int | None
    has_templates: bool = False
    closes_at: datetime | None = None
    words: str = ""


def way_to(standing: Standing, now: datetime) -> Way:
    """Choose channel and mode: by SMS where the lead wrote there last and no window is open, else WhatsApp.

    An adviser may answer somebody who opted out of the machine while their window is open, because they wrote;
    templates start a conversation anew, and that is what they asked us not to do.
    """
    is_open = window_open(standing.whatsapp_inbound_at, now)
    if not is_open and standing.last_inbound_channel == "sms" and _reaches_by_sms(standing):
        return Way(Mode.FREE, "sms", standing.sms_sender_id)
    blocked = _why_blocked(standing)
    if blocked:
        return Way(Mode.BLOCKED, "whatsapp", None, words=blocked)
    has_opted_out = bool(standing.reasons("whatsapp"))
    if is_open:
        return Way(
            Mode.FREE,
            "whatsapp",
            standing.whatsapp_sender_id,
            has_templates=not has_opted_out,
            closes_at=window_closes_at(standing.whatsapp_inbound_at),
        )
    if has_opted_out:
        words = f"{standing.name} asked us to stop. An answer is possible once they write again."
        return Way(Mode.BLOCKED, "whatsapp", None, words=words)
    return Way(Mode.TEMPLATE, "whatsapp", standing.whatsapp_sender_id, has_templates=True)


def check_free_text(way: Way) -> None:
    """Raise `Invalid` in plain words unless free text may go out now."""
    _check_open(way)
    if way.mode is Mode.TEMPLATE:
        raise Invalid(
            "The reply window is closed: the lead last wrote more than 24 hours ago. "
            "Choose an approved template; your text is kept.",
            field="text",
        )


def check_template(way: Way) -> None:
    """Raise `Invalid` in plain words unless a template may go out now."""
    _check_open(way)
    if not way.has_templates:
        raise Invalid("No template can go to this lead now. Write your answer freely.", field="template_id")


def check_colleague(standing: Standing, author: Author) -> None:
    """Raise `Conflict` if a colleague owns the lead: nobody answers over them but managers."""
    if standing.owner_id in (None, author.user_id) or author.role.is_one_of(Role.MANAGER):
        return
    raise Conflict(f"{standing.owner_name or 'A colleague'} answers this lead. Your text is kept.")


def is_visible(standing_owner_id: int | None, author: Author) -> bool:
    """Say whether a person sees a lead: their own, and those that nobody owns; managers see all."""
    return standing_owner_id in (None, author.user_id) or author.role.is_one_of(Role.MANAGER)


def check_fresh(*, seen_version: int, version: int, own_since: int) -> None:
    """Raise `Stale` if somebody else's message came after what the author saw. One's own do not count."""
    if version - own_since > seen_version:
        raise Stale


class Stale(Conflict):
    """A newer message is in the thread; what was written is kept."""

    code = "stale"

    def __init__(self) -> None:
        super().__init__(
            "There is a newer message in this conversation. Read it first, then send: your text is kept."
        )


def draft_is_kept(error: WarmlineError) -> bool:
    """Say whether a refusal leads back to the composer with what was written."""
    return isinstance(error, Conflict | Invalid)


def _reaches_by_sms(standing: Standing) -> bool:
    is_closed = any(reason in HARD for reason in standing.reasons("sms"))
    return standing.has_phone and standing.sms_sender_id is not None and not is_closed


def _why_blocked(standing: Standing) -> str:
    if not (standing.has_phone or standing.has_whatsapp):
        return f"There is no number to reach {standing.name} at."
    for reason in standing.reasons("whatsapp"):
        if reason in HARD:
            return HARD[reason].format(name=standing.name)
    if standing.whatsapp_sender_id is None:
        return "There is no sender for WhatsApp. An administrator has to set one up."
    return ""


def _check_open(way: Way) -> None:
    if way.mode is Mode.BLOCKED:
        raise Invalid(way.words, field="text")
