"""What the phone's pages show: plain values made from records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from app.simulator.addresses import is_whatsapp, phone_of
from app.simulator.faults import (
    DieAfterAccept,
    Duplicate,
    Fault,
    FaultRule,
    LateFailure,
    Lose,
    RefuseBefore,
    Reorder,
    TimeOut,
)
from app.simulator.messages import Button, Message
from app.simulator.records import Records, newest_first
from app.simulator.timekeeping import moment

_LINK = re.compile(r"https?://[^\s<>\"]+[^\s<>\".,;:!?)]")
_FILES = {
    "image": "Photo",
    "voice": "Voice message, 0:07",
    "document": "PDF",
    "sticker": "Sticker",
    "contact": "Contact card",
    "location": "Location",
    "media": "File",
}
_SHOWN = 60
KNOBS: dict[str, tuple[str, Fault]] = {
    "lose": ("Lose its callbacks", Lose()),
    "duplicate": ("Deliver its callbacks twice", Duplicate(copies=2)),
    "reorder": ("Shuffle its callbacks", Reorder()),
    "time_out": ("Time out after accepting", TimeOut(seconds=20, stored="before")),
    "die": ("Hang up after accepting", DieAfterAccept()),
    "refuse": ("Hang up before accepting", RefuseBefore()),
    "fail": ("Report it undelivered later", LateFailure(code=63024, after="sent")),
}
"""What can go wrong with the next message to a phone, by name: the words on the button, and the fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a text: plain, or a link when it has an `href`."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyButton:
    """A button under a bubble. A quick reply can be pressed once; a link opens `href`."""

    title: str
    payload: str
    href: str | None
    is_pressed: bool
    client_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    """One message on the phone. `way` is the phone's own view: `in` came from the business."""

    sid: str
    way: str
    at: datetime
    pieces: tuple[Piece, ...]
    file_kind: str | None
    file_label: str
    file_detail: str
    buttons: tuple[ReplyButton, ...]
    quoted: str
    state: str
    """Own messages: `queued`, `delivered` when the business took it, else `failed`. The business's: empty."""
    is_sms: bool
    note: str
    """Set for a message that never arrived: why, in words. Nothing else of it is shown then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneRow:
    """A phone in the list."""

    number: str
    name: str
    words: str
    at: datetime | None
    unread: int
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneList:
    """The phones that fit the search, newest first; `more` were left out."""

    rows: tuple[PhoneRow, ...]
    more: int
    query: str
    version: int
    current: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A fault that can be armed for the next message."""

    key: str
    words: str
    is_armed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What the provider holds of one message that it was asked to send."""

    sid: str
    words: str
    status: str
    code: int | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """A phone with its chat open."""

    number: str
    name: str
    business: str
    """The number that this phone writes to, without its channel."""
    channel: str
    days: tuple[tuple[datetime, tuple[Bubble, ...]], ...]
    """The bubbles by day, in the phone's zone."""
    knobs: tuple[Knob, ...]
    facts: tuple[Fact, ...]
    version: str


def phone_list(records: Records, *, query: str, current: str = "") -> PhoneList:
    """Return the phones whose name or number holds the query."""
    wanted = query.strip().casefold()
    digits = re.sub(r"[\s-]", "", wanted)
    fitting = [
        number
        for number in newest_first(records)
        if wanted in records.profiles.get(number, "").casefold() or (digits and digits in number.casefold())
    ]
    rows = tuple(_row(records, number, is_current=number == current) for number in fitting[:_SHOWN])
    more = max(0, len(fitting) - _SHOWN)
    return PhoneList(rows=rows, more=more, query=query, version=records.revision, current=current)


def phone_view(
    records: Records, *, number: str, business: str, rules: Iterable[FaultRule], zone: ZoneInfo
) -> Phone:
    """Return one phone as its owner sees it, with what the provider knows beside it."""
    thread = records.thread(number)
    armed = frozenset(_knob_of(rule) for rule in rules if rule.to == number)
    knobs = tuple(Knob(key=key, words=words, is_armed=key in armed) for key, (words, _) in KNOBS.items())
    return Phone(
        number=number,
        name=records.profiles.get(number, ""),
        business=phone_of(business),
        channel="WhatsApp" if is_whatsapp(business) else "SMS",
        days=_by_day(_bubbles(thread), zone),
        knobs=knobs,
        facts=tuple(_fact(message) for message in reversed(thread) if message.is_outbound)[:8],
        version=f"{records.revisions[number]}.{'.'.join(sorted(armed))}",
    )


def linked(text: str) -> tuple[Piece, ...]:
    """Return the text in pieces, its web addresses as links."""
    pieces: list[Piece] = []
    end = 0
    for found in _LINK.finditer(text):
        if found.start() > end:
            pieces.append(Piece(text=text[end : found.start()]))
        pieces.append(Piece(text=found[0], href=found[0]))
        end = found.end()
    if end < len(text):
        pieces.append(Piece(text=text[end:]))
    return tuple(pieces)


def _knob_of(rule: FaultRule) -> str:
    return next((key for key, (_, fault) in KNOBS.items() if fault == rule.fault), "")


def _row(records: Records, number: str, *, is_current: bool) -> PhoneRow:
    thread = [message for message in records.thread(number) if _is_on_phone(message)]
    last = thread[-1] if thread else None
    return PhoneRow(
        number=number,
        name=records.profiles.get(number, ""),
        words=_summary(last) if last else "",
        at=moment(last.demo_ms) if last else None,
        unread=sum(message.status == "delivered" for message in thread if message.is_outbound),
        is_current=is_current,
    )


def _summary(message: Message) -> str:
    words = message.body or _FILES.get(message.kind, "")
    return words if message.is_outbound else f"You: {words}"


def _is_on_phone(message: Message) -> bool:
    return not message.is_outbound or message.status in {"delivered", "read"}


def _bubbles(thread: list[Message]) -> tuple[Bubble, ...]:
    pressed = {(message.replied_to, message.button_payload) for message in thread if message.kind == "button"}
    by_sid = {message.sid: message for message in thread}
    bubbles: list[Bubble] = []
    for message in thread:
        if not _is_on_phone(message) and message.status not in {"failed", "undelivered"}:
            continue
        at = moment(message.demo_ms)
        bubbles.append(
            Bubble(
                sid=message.sid,
                way="in" if message.is_outbound else "out",
                at=at,
                pieces=linked(message.body),
                file_kind=message.kind if message.kind in _FILES else None,
                file_label=_file_label(message),
                file_detail=message.location.address if message.location else "",
                buttons=tuple(_button(message, button, pressed) for button in message.buttons),
                quoted=by_sid[message.replied_to].body if message.replied_to in by_sid else "",
                state=_own_state(message),
                is_sms=not is_whatsapp(message.to),
                note=_note(message),
            )
        )
    return tuple(bubbles)


def _by_day(bubbles: Iterable[Bubble], zone: ZoneInfo) -> tuple[tuple[datetime, tuple[Bubble, ...]], ...]:
    days = groupby(bubbles, key=lambda bubble: bubble.at.astimezone(zone).date())
    groups = [tuple(members) for _, members in days]
    return tuple((members[0].at, members) for members in groups)


def _file_label(message: Message) -> str:
    if message.location is not None:
        return message.location.label or "Location"
    return message.body if message.kind == "document" else _FILES.get(message.kind, "")


def _button(message: Message, button: Button, pressed: set[tuple[str | None, str | None]]) -> ReplyButton:
    payload = button.payload or button.title
    is_web = button.kind == "url" and _LINK.fullmatch(button.url) is not None
    return ReplyButton(
        title=button.title,
        payload=payload,
        href=button.url if is_web else None,
        is_pressed=(message.sid, payload) in pressed,
        client_id=f"{message.sid}-{payload}",
    )


def _own_state(message: Message) -> str:
    if message.is_outbound:
        return ""
    return {None: "queued", True: "delivered", False: "failed"}[message.answered]


def _note(message: Message) -> str:
    if _is_on_phone(message):
        return ""
    return f"A message did not arrive: {message.error_message or message.status} ({message.error_code})"


def _fact(message: Message) -> Fact:
    return Fact(
        sid=message.sid,
        words=message.body or _FILES.get(message.kind, ""),
        status=message.status,
        code=message.error_code,
        at=moment(message.demo_ms),
    )
