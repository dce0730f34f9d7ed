"""The control API, in JSON: faults, phones' messages, counts, and how the provider behaves. For tests and the
demo.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import msgspec
from litestar import Router, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody

from app.simulator.addresses import phone_of
from app.simulator.contents import Content
from app.simulator.controllers.access import this_machine_only
from app.simulator.faults import FaultRule
from app.simulator.inbound import Handed, PhoneMessage
from app.simulator.messages import Button, Message
from app.simulator.records import Behaviour, RequestRecord, newest_first
from app.simulator.refusals import Refusal
from app.simulator.simulator import Simulator
from app.simulator.tallies import FIELDS, Tally, duplicates, tally
from app.simulator.timekeeping import DemoReading, milliseconds


class Phone(msgspec.Struct, frozen=True, kw_only=True):
    """A phone that sent or received something, or has a name. Times in real milliseconds."""

    number: str
    name: str
    accepted: int
    sent: int
    last_ms: int | None


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """Whether nothing is under way any more."""

    idle: bool
    pending: int


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The name that a phone shows."""

    number: str
    name: str


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The addresses that a messaging service sends from."""

    sid: str
    senders: tuple[str, ...]


class DemoTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the demo clock shows now and how many times as fast as real time it runs."""

    shows: datetime
    rate: float = 1.0


class Reset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Forget everything; `seed` starts chance over with another number."""

    seed: int | None = None


class Past(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A message of the past, planted without any webhook, so that a phone shows the history that the demo
    tells.
    """

    phone: str
    direction: Literal["outbound-api", "inbound"]
    at: datetime
    body: str
    business: str | None = None
    sid: str | None = None
    content_sid: str | None = None
    buttons: tuple[Button, ...] = ()
    status: Literal["sent", "delivered", "read", "failed", "undelivered"] = "read"
    error_code: int | None = None


@post("/faults", status_code=201)
async def add_faults(
    data: JSONBody[FaultRule | list[FaultRule]], simulator: NamedDependency[Simulator]
) -> list[FaultRule]:
    """Put one rule or several in force."""
    added = [simulator.faults.add(rule) for rule in ([data] if isinstance(data, FaultRule) else data)]
    simulator.records.save_rules(simulator.faults.rules())
    await simulator.store.written()
    return added


@get("/faults")
async def list_faults(simulator: NamedDependency[Simulator]) -> list[FaultRule]:
    """Return the rules in force."""
    return list(simulator.faults.rules())


@delete("/faults", status_code=204)
async def remove_faults(simulator: NamedDependency[Simulator], rule_id: FromQuery[str | None] = None) -> None:
    """Take one rule (`?rule_id=`) or all out of force."""
    simulator.faults.remove(rule_id)
    simulator.records.save_rules(simulator.faults.rules())


@get("/behaviour")
async def show_behaviour(simulator: NamedDependency[Simulator]) -> Behaviour:
    """Return how the provider acts when no fault says otherwise."""
    return simulator.records.behaviour


@put("/behaviour")
async def set_behaviour(data: JSONBody[Behaviour], simulator: NamedDependency[Simulator]) -> Behaviour:
    """Set how the provider acts; a field not given takes its default."""
    simulator.records.save_behaviour(data)
    return data


@put("/clock", status_code=204)
async def set_clock(data: JSONBody[DemoTime], simulator: NamedDependency[Simulator]) -> None:
    """Let phones and 24-hour windows follow the demo clock."""
    now_ms = simulator.time.now_ms()
    reading = DemoReading(set_ms=now_ms, shows_ms=milliseconds(data.shows), rate=data.rate)
    simulator.time.follow(reading)
    simulator.records.save_demo_reading(reading)


@post("/contents", status_code=201)
async def add_contents(data: JSONBody[Content | list[Content]], simulator: NamedDependency[Simulator]) -> int:
    """Make templates known; returns how many."""
    contents = [data] if isinstance(data, Content) else data
    for content in contents:
        simulator.records.save_content(content)
    await simulator.store.written()
    return len(contents)


@post("/profiles", status_code=201)
async def add_profiles(data: JSONBody[Profile | list[Profile]], simulator: NamedDependency[Simulator]) -> int:
    """Give phones their names; returns how many."""
    profiles = [data] if isinstance(data, Profile) else data
    for profile in profiles:
        simulator.records.save_profile(phone_of(profile.number), profile.name)
    await simulator.store.written()
    return len(profiles)


@post("/services", status_code=201)
async def add_service(data: JSONBody[Service], simulator: NamedDependency[Simulator]) -> Service:
    """Say which addresses a messaging service sends from."""
    simulator.records.save_service(data.sid, data.senders)
    await simulator.store.written()
    return data


@post("/history", status_code=201)
async def add_history(data: JSONBody[list[Past]], simulator: NamedDependency[Simulator]) -> int:
    """Plant messages of the past; returns how many. The same `sid` again replaces the message."""
    for past in data:
        simulator.records.save_message(_past_message(past, simulator))
    await simulator.store.written()
    return len(data)


@post("/inbound", status_code=201)
async def send_inbound(
    data: JSONBody[PhoneMessage], simulator: NamedDependency[Simulator], wait: FromQuery[bool] = False
) -> Handed:
    """Let a phone send something; `?wait=true` answers after the business did."""
    return await simulator.phones.send(data, wait=wait)


@post("/phones/{number:str}/open", status_code=204)
async def open_phone(number: FromPath[str], simulator: NamedDependency[Simulator]) -> None:
    """Open the chat on a phone: what was delivered is read."""
    simulator.delivery.read(simulator.records.thread(number))


@get("/phones")
async def list_phones(simulator: NamedDependency[Simulator]) -> list[Phone]:
    """Return every phone known, the one with the newest message first."""
    return [phone_summary(simulator, number) for number in newest_first(simulator.records)]


@get("/phones/{number:str}/messages")
async def list_phone_messages(number: FromPath[str], simulator: NamedDependency[Simulator]) -> list[Message]:
    """Return everything that a phone sent and was sent, in its order."""
    return simulator.records.thread(number)


@get("/counts")
async def count_messages(
    simulator: NamedDependency[Simulator], group: FromQuery[str] = "to,content_sid"
) -> list[Tally]:
    """Return how many messages each group received."""
    return tally(simulator.records.messages.values(), by=_fields(group))


@get("/duplicates")
async def list_duplicates(
    simulator: NamedDependency[Simulator], by: FromQuery[str] = "to,content_sid,body"
) -> list[Tally]:
    """Return the groups that received more than one message."""
    return duplicates(simulator.records.messages.values(), by=_fields(by))


@get("/requests")
async def list_requests(simulator: NamedDependency[Simulator]) -> list[RequestRecord]:
    """Return every create request, with what its caller saw."""
    return simulator.records.requests


@get("/idle")
async def show_idle(simulator: NamedDependency[Simulator], within: FromQuery[float] = 0.0) -> Idle:
    """Tell whether any callback is under way; `?within=` waits that many seconds for it to end."""
    idle = (
        await simulator.delivery.idle(within_seconds=within)
        if within > 0
        else simulator.delivery.pending == 0
    )
    return Idle(idle=idle, pending=simulator.delivery.pending)


@post("/reset", status_code=204)
async def reset(simulator: NamedDependency[Simulator], data: JSONBody[Reset | None] = None) -> None:
    """Forget everything."""
    await simulator.reset(seed=data.seed if data else None)


control_router = Router(
    path="/control",
    guards=[this_machine_only],
    route_handlers=[
        add_faults,
        list_faults,
        remove_faults,
        show_behaviour,
        set_behaviour,
        set_clock,
        add_contents,
        add_profiles,
        add_service,
        add_history,
        send_inbound,
        open_phone,
        list_phones,
        list_phone_messages,
        count_messages,
        list_duplicates,
        list_requests,
        show_idle,
        reset,
    ],
)


def phone_summary(simulator: Simulator, number: str) -> Phone:
    """Return a phone with its counts."""
    thread = simulator.records.thread(number)
    accepted = sum(message.is_outbound for message in thread)
    return Phone(
        number=number,
        name=simulator.records.profiles.get(number, ""),
        accepted=accepted,
        sent=len(thread) - accepted,
        last_ms=thread[-1].demo_ms if thread else None,
    )


def _fields(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in FIELDS]
    if unknown or not names:
        raise Refusal(20001, f"Group by some of: {', '.join(FIELDS)}")
    return names


def _past_message(past: Past, simulator: Simulator) -> Message:
    at_ms = milliseconds(past.at)
    business = past.business or f"whatsapp:{simulator.settings.default_sender}"
    phone = (
        past.phone
        if past.phone.startswith("whatsapp:") or not business.startswith("whatsapp:")
        else f"whatsapp:{past.phone}"
    )
    message = Message(
        sid=past.sid or "SM" + secrets.token_hex(16),
        direction=past.direction,
        kind="template" if past.content_sid else "text",
        status=past.status,
        to=phone,
        sender=business,
        body=past.body,
        created_ms=at_ms,
        updated_ms=at_ms,
        demo_ms=at_ms,
        sent_ms=at_ms,
        content_sid=past.content_sid,
        buttons=past.buttons,
        error_code=past.error_code,
        stalled=True,
    )
    if past.direction == "inbound":
        changes: dict[str, Any] = {"to": business, "sender": phone, "status": "received", "answered": True}
        return replace(message, **changes)
    return message
