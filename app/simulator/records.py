"""Everything the simulator knows: in memory for reading, each change put into the store."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from app.simulator.addresses import phone_of
from app.simulator.contents import Content
from app.simulator.faults import FaultRule
from app.simulator.messages import Message
from app.simulator.store import Store
from app.simulator.timekeeping import DemoReading


class Behaviour(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the provider and the phones act when no fault says otherwise. Delays are real milliseconds."""

    sent_after_ms: int = 40
    delivered_after_ms: int = 60
    auto_read_after_ms: int | None = None
    """Every phone opens its chat this long after delivery; None = only when somebody opens it."""
    read_receipts: bool = True
    window_hours: float | None = 24
    """How long an inbound WhatsApp message allows free text, in demo time; None = always allowed."""
    opt_out_sms: bool = True
    opt_out_whatsapp: bool = False
    """The provider itself handles STOP and START on this channel: 21610 and `OptOutType`."""
    list_delay_ms: int = 0
    """A new message shows in lists this much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One create request, whatever became of it. `outcome` tells what the caller saw."""

    number: int
    at_ms: int
    to: str | None
    content_sid: str | None
    attempt: str | None
    outcome: str
    status: int | None
    code: int | None
    sid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptOut:
    """A phone told a sender to stop, and the provider keeps to it."""

    address: str
    business: str


def newest_first(records: Records) -> list[str]:
    """Return every phone known, the one with the newest message first."""
    return [phone for _, phone in sorted(((at, phone) for phone, at in records.latest.items()), reverse=True)]


class Records:
    """The simulator's memory. Reading is from memory; `store` holds the same for the next start."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._empty()
        self._load()

    def _empty(self) -> None:
        self.messages: dict[str, Message] = {}
        self.by_phone: defaultdict[str, list[str]] = defaultdict(list)
        self.revisions: defaultdict[str, int] = defaultdict(int)
        self.latest: dict[str, int] = {}
        """When each phone known sent or got something last, in demo time; 0 = it only has a name."""
        self.revision = 0
        self.windows: dict[tuple[str, str], int] = {}
        self.contents: dict[str, Content] = {}
        self.profiles: dict[str, str] = {}
        self.services: dict[str, tuple[str, ...]] = {}
        self.opt_outs: dict[str, OptOut] = {}
        self.inbound_ids: dict[str, str] = {}
        self.requests: list[RequestRecord] = []
        self.rules: tuple[FaultRule, ...] = ()
        self.behaviour = Behaviour()
        self.demo_reading = DemoReading()

    def reset(self) -> None:
        """Forget everything, at once."""
        self.store.clear()
        self._empty()

    def save_message(self, message: Message) -> Message:
        """Keep a message, new or changed."""
        self._index(message)
        self.store.put("message", message.sid, message)
        return message

    def change_message(self, sid: str, **changes: Any) -> Message:
        """Keep a message with some fields changed; returns it."""
        return self.save_message(replace(self.messages[sid], **changes))

    def thread(self, phone: str) -> list[Message]:
        """Return all messages of a phone in the order in which it shows them."""
        return sorted(
            (self.messages[sid] for sid in self.by_phone.get(phone, ())), key=lambda message: message.demo_ms
        )

    def save_content(self, content: Content) -> None:
        """Keep a template."""
        self.contents[content.sid] = content
        self.store.put("content", content.sid, content)

    def save_profile(self, phone: str, name: str) -> None:
        """Keep the name that a phone shows to others."""
        self.profiles[phone] = name
        self.latest.setdefault(phone, 0)
        self._touch(phone)
        self.store.put("profile", phone, name)

    def save_service(self, sid: str, senders: tuple[str, ...]) -> None:
        """Keep which addresses a messaging service sends from."""
        self.services[sid] = senders
        self.store.put("service", sid, senders)

    def save_opt_out(self, *, address: str, business: str, stopped: bool) -> None:
        """Remember that a phone said STOP to a sender, or took it back."""
        key = f"{address}>{business}"
        if stopped:
            self.opt_outs[key] = OptOut(address=address, business=business)
        else:
            self.opt_outs.pop(key, None)
        self.store.put("opt_out", key, self.opt_outs.get(key))

    def is_opted_out(self, *, address: str, business: str | None) -> bool:
        """Tell whether this address told this sender to stop."""
        return f"{address}>{business}" in self.opt_outs

    def save_inbound_id(self, client_id: str, sid: str) -> None:
        """Remember which message a client-made id stands for."""
        self.inbound_ids[client_id] = sid
        self.store.put("inbound_id", client_id, sid)

    def save_request(self, record: RequestRecord) -> None:
        """Keep a create request, or what became of it later."""
        if record.number == len(self.requests):
            self.requests.append(record)
        else:
            self.requests[record.number] = record
        self.store.put("request", str(record.number), record)

    def save_rules(self, rules: tuple[FaultRule, ...]) -> None:
        """Keep the fault rules in force."""
        self.rules = rules
        self.store.put("rules", "all", rules)

    def save_behaviour(self, behaviour: Behaviour) -> None:
        """Keep how the provider acts."""
        self.behaviour = behaviour
        self.store.put("behaviour", "all", behaviour)

    def save_demo_reading(self, reading: DemoReading) -> None:
        """Keep how the demo clock runs."""
        self.demo_reading = reading
        self.store.put("demo_clock", "all", reading)

    def _index(self, message: Message) -> None:
        phone = message.phone
        if message.sid not in self.messages:
            self.by_phone[phone].append(message.sid)
        self.messages[message.sid] = message
        self.latest[phone] = max(self.latest.get(phone, 0), message.demo_ms)
        self._touch(phone)
        if not message.is_outbound:
            key = (phone_of(message.sender or ""), message.to)
            self.windows[key] = max(self.windows.get(key, message.demo_ms), message.demo_ms)

    def _touch(self, phone: str) -> None:
        self.revisions[phone] += 1
        self.revision += 1

    def _load(self) -> None:
        for message in self._documents("message", Message):
            self._index(message)
        self.contents = {content.sid: content for content in self._documents("content", Content)}
        self.requests = list(self._documents("request", RequestRecord))
        self.profiles = dict(self._keyed("profile", str))
        self.latest = dict.fromkeys(self.profiles, 0) | self.latest
        self.services = dict(self._keyed("service", tuple[str, ...]))
        self.inbound_ids = dict(self._keyed("inbound_id", str))
        for key, opt_out in self._keyed("opt_out", OptOut | None):
            if opt_out is not None:
                self.opt_outs[key] = opt_out
        self.rules = next(iter(self._documents("rules", tuple[FaultRule, ...])), ())
        self.demo_reading = next(iter(self._documents("demo_clock", DemoReading)), self.demo_reading)
        self.behaviour = next(iter(self._documents("behaviour", Behaviour)), self.behaviour)

    def _documents(self, kind: str, of: Any) -> list[Any]:
        return [document for _, document in self._keyed(kind, of)]

    def _keyed(self, kind: str, of: Any) -> list[tuple[str, Any]]:
        decoder = msgspec.json.Decoder(of)
        return [(key, decoder.decode(body)) for key, body in self.store.load(kind)]
