"""The phones' pages: a list of phones, and one phone with its chat open."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

from jinja2 import Environment
from litestar import Request, Response, Router, get, post
from litestar.datastructures import ResponseHeader, State
from litestar.di import NamedDependency
from litestar.enums import MediaType
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect

from app.simulator.addresses import is_address, phone_of
from app.simulator.controllers.access import this_machine_only
from app.simulator.creation import Form
from app.simulator.faults import FaultRule
from app.simulator.inbound import MEDIA, Kind, PhoneMessage
from app.simulator.phone_views import KNOBS, Phone, phone_list, phone_view
from app.simulator.refusals import not_found
from app.simulator.simulator import Simulator
from app.simulator.timekeeping import moment
from app.web.rendering import make_environment, page_context
from app.web.security_headers import security_headers

AnyRequest = Request[Any, Any, State]
_NO_CHANGE = 204
_WORDS = {"stop": "STOP", "start": "START"}


@dataclass(frozen=True, slots=True)
class PhonePages:
    """Renders the simulator's templates."""

    environment: Environment

    @classmethod
    def of(cls, root: Path) -> PhonePages:
        """Return the pages of the project at `root`."""
        return cls(make_environment(templates=root / "templates", static=root / "static"))

    def answer(
        self, template: str, *, request: AnyRequest, simulator: Simulator, status: int = 200, **values: object
    ) -> Response[str]:
        """Return a rendered page or fragment."""
        now = moment(simulator.time.demo_ms(real_ms=simulator.time.now_ms()))
        zone, theme = simulator.settings.zone, request.cookies.get("theme")
        context = page_context(now=now, zone=zone, theme=theme, csrf_token="")
        body = self.environment.get_template(template).render(context | values)
        return Response(body, status_code=status, media_type=MediaType.HTML)


@get("/")
async def list_phones(
    request: AnyRequest,
    simulator: NamedDependency[Simulator],
    pages: NamedDependency[PhonePages],
    q: FromQuery[str] = "",
) -> Response[str]:
    """Show the phones; the newest message first."""
    phones = phone_list(simulator.records, query=q)
    return pages.answer("simulator/index.html", request=request, simulator=simulator, phones=phones)


@get("/rows")
async def list_phone_rows(
    request: AnyRequest,
    simulator: NamedDependency[Simulator],
    pages: NamedDependency[PhonePages],
    q: FromQuery[str] = "",
    current: FromQuery[str] = "",
    version: FromQuery[int] = -1,
) -> Response[str]:
    """Show the list alone; 204 when nothing changed since `version`."""
    if version == simulator.records.revision:
        return Response("", status_code=_NO_CHANGE)
    phones = phone_list(simulator.records, query=q, current=current)
    return pages.answer("simulator/_phones.html", request=request, simulator=simulator, phones=phones)


@post("/", status_code=303)
async def open_new_phone(
    request: AnyRequest, simulator: NamedDependency[Simulator], pages: NamedDependency[PhonePages]
) -> Response[str] | Redirect:
    """Take a new phone into the list and open it; 422 with words for a number that is none."""
    form = await _form(request)
    number = "".join((form.get("number") or "").split()).replace("-", "")
    if not is_address(number):
        phones = phone_list(simulator.records, query="")
        problem = "Write the number with its country code, such as +60 12 345 6789."
        return pages.answer(
            "simulator/index.html",
            request=request,
            simulator=simulator,
            status=422,
            phones=phones,
            problem=problem,
        )
    simulator.records.save_profile(
        phone_of(number), form.get("name") or simulator.records.profiles.get(number, "")
    )
    return Redirect(f"/phone/{phone_of(number)}", status_code=303)


@get("/{number:str}")
async def show_phone(
    number: FromPath[str],
    request: AnyRequest,
    simulator: NamedDependency[Simulator],
    pages: NamedDependency[PhonePages],
    q: FromQuery[str] = "",
) -> Response[str]:
    """Show one phone with its chat open: what was delivered is read now."""
    phone = _opened(simulator, number)
    phones = phone_list(simulator.records, query=q, current=number)
    return pages.answer(
        "simulator/show.html",
        request=request,
        simulator=simulator,
        phone=phone,
        phones=phones,
        client_id=secrets.token_hex(8),
    )


@get("/{number:str}/thread")
async def show_thread(
    number: FromPath[str],
    request: AnyRequest,
    simulator: NamedDependency[Simulator],
    pages: NamedDependency[PhonePages],
    version: FromQuery[str] = "",
) -> Response[str]:
    """Show the chat and the panel beside it; 204 when nothing changed since `version`."""
    phone = _opened(simulator, number)
    if phone.version == version:
        return Response("", status_code=_NO_CHANGE)
    return pages.answer("simulator/thread.html", request=request, simulator=simulator, phone=phone)


@post("/{number:str}/messages", status_code=303)
async def send_message(
    number: FromPath[str],
    request: AnyRequest,
    simulator: NamedDependency[Simulator],
    pages: NamedDependency[PhonePages],
) -> Response[str] | Redirect:
    """Send something from the phone, once for each `client_id`."""
    sent = _sent(await _form(request), number=number, business=simulator.phones.business_of(number))
    if sent is not None:
        await simulator.phones.send(sent)
    return _shown_again(number, request, simulator, pages)


@post("/{number:str}/faults", status_code=303)
async def arm_fault(
    number: FromPath[str],
    request: AnyRequest,
    simulator: NamedDependency[Simulator],
    pages: NamedDependency[PhonePages],
) -> Response[str] | Redirect:
    """Arm a fault for the next message to this phone, or disarm it when it was armed."""
    key = (await _form(request)).get("fault") or ""
    if key not in KNOBS:
        raise not_found(f"/phone/{number}/faults/{key}")
    fault = KNOBS[key][1]
    armed = [rule for rule in simulator.faults.rules() if rule.to == number and rule.fault == fault]
    for rule in armed:
        simulator.faults.remove(rule.rule_id)
    if not armed:
        simulator.faults.add(FaultRule(fault=fault, to=number))
    simulator.records.save_rules(simulator.faults.rules())
    return _shown_again(number, request, simulator, pages)


phone_router = Router(
    path="/phone",
    guards=[this_machine_only],
    response_headers=[
        ResponseHeader(name=name, value=value)
        for name, value in security_headers(public_base_url="http://127.0.0.1").items()
    ],
    route_handlers=[
        list_phones,
        list_phone_rows,
        open_new_phone,
        show_phone,
        show_thread,
        send_message,
        arm_fault,
    ],
)


async def _form(request: AnyRequest) -> Form:
    form = await request.form()
    return Form((name, str(value)) for name, value in form.multi_items())


def _opened(simulator: Simulator, number: str) -> Phone:
    """Return the phone with its chat open. Raises Refusal 20404 for what cannot be a phone."""
    if not is_address(number) and not is_address(f"whatsapp:{number}"):
        raise not_found(f"/phone/{number}")
    simulator.delivery.read(simulator.records.thread(number))
    return phone_view(
        simulator.records,
        number=number,
        business=simulator.phones.business_of(number),
        rules=simulator.faults.rules(),
        zone=ZoneInfo(simulator.settings.zone),
    )


def _shown_again(
    number: str, request: AnyRequest, simulator: Simulator, pages: PhonePages
) -> Response[str] | Redirect:
    if request.headers.get("hx-request") == "true":
        phone = _opened(simulator, number)
        return pages.answer("simulator/thread.html", request=request, simulator=simulator, phone=phone)
    return Redirect(f"/phone/{number}", status_code=303)


def _sent(form: Form, *, number: str, business: str) -> PhoneMessage | None:
    """Return what the form sends; None when there is nothing in it."""
    kind, body = form.get("kind") or "text", (form.get("body") or "").strip()
    client_id = form.get("client_id")
    if kind in _WORDS:
        return PhoneMessage(sender=number, to=business, body=_WORDS[kind], client_id=client_id)
    if kind == "button":
        return PhoneMessage(
            sender=number,
            to=business,
            kind="button",
            client_id=client_id,
            button_text=form.get("title") or "",
            button_payload=form.get("payload") or "",
            replied_to=form.get("replied_to"),
        )
    if kind == "location" or kind in MEDIA:
        return PhoneMessage(
            sender=number, to=business, kind=cast("Kind", kind), body=body, client_id=client_id
        )
    return PhoneMessage(sender=number, to=business, body=body, client_id=client_id) if body else None
