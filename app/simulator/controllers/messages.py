"""The provider's Messages resource over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar import Request, Response, Router, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.simulator.controllers.access import account_only
from app.simulator.creation import Form
from app.simulator.media import file_of
from app.simulator.messages import media_sid
from app.simulator.protocol import hang_up
from app.simulator.refusals import Refusal, not_found
from app.simulator.resources import API_VERSION, Page, message_resource, page_resource
from app.simulator.simulator import Simulator
from app.simulator.switchboard import ListQuery, Reply
from app.simulator.timekeeping import milliseconds

AnyRequest = Request[Any, Any, State]
_JSON = "application/json"
_encode = msgspec.json.encode
_MAX_PAGE = 1000


@post("/Messages.json", status_code=201)
async def create_message(request: AnyRequest, simulator: NamedDependency[Simulator]) -> Response[bytes]:
    """Accept a message, or show what a fault says."""
    reply = await simulator.switchboard.create(await _form(request))
    if reply.hang_up is not None:
        hang_up(request.scope, reply.hang_up)
    return _answer(reply)


@get("/Messages.json")
async def list_messages(request: AnyRequest, simulator: NamedDependency[Simulator]) -> Response[bytes]:
    """List messages, newest first."""
    pairs = parse_qsl(request.scope["query_string"].decode("latin-1"))
    form = Form(pairs)
    filters = tuple((name, value) for name, value in pairs if name not in {"Page", "PageSize", "PageToken"})
    page = Page(
        number=_whole(form.get("Page"), usual=0, low=0),
        size=min(_whole(form.get("PageSize"), usual=50, low=1), _MAX_PAGE),
        filters=filters,
    )
    found = simulator.switchboard.listed(_query(form))
    return _answer(
        Reply(status=200, body=page_resource(found, page=page, account_sid=simulator.settings.account_sid))
    )


@get("/Messages/{name:str}")
async def fetch_message(name: FromPath[str], simulator: NamedDependency[Simulator]) -> Response[bytes]:
    """Return one message."""
    message = simulator.switchboard.fetched(name.removesuffix(".json"))
    return _answer(
        Reply(status=200, body=message_resource(message, account_sid=simulator.settings.account_sid))
    )


@post("/Messages/{name:str}", status_code=200)
async def update_message(
    name: FromPath[str], request: AnyRequest, simulator: NamedDependency[Simulator]
) -> Response[bytes]:
    """Cancel a scheduled message; the only change there is."""
    form = await _form(request)
    if form.get("Status") != "canceled":
        raise Refusal(20001, "Invalid parameter: Status must be 'canceled'")
    message = simulator.switchboard.cancelled(name.removesuffix(".json"))
    await simulator.store.written()
    return _answer(
        Reply(status=200, body=message_resource(message, account_sid=simulator.settings.account_sid))
    )


@get("/Messages/{sid:str}/Media/{media:str}")
async def fetch_media(
    sid: FromPath[str], media: FromPath[str], simulator: NamedDependency[Simulator]
) -> Response[bytes]:
    """Return a file that a phone sent."""
    message = simulator.switchboard.fetched(sid)
    for index, content_type in enumerate(message.media_types):
        if media.removesuffix(".json") == media_sid(sid, index):
            name = simulator.records.profiles.get(message.phone, "")
            return Response(file_of(content_type, name=name), media_type=content_type)
    raise not_found(f"/Messages/{sid}/Media/{media}")


messages_router = Router(
    path=f"/{API_VERSION}/Accounts/{{account_sid:str}}",
    guards=[account_only],
    route_handlers=[create_message, list_messages, fetch_message, update_message, fetch_media],
)


async def _form(request: AnyRequest) -> Form:
    body = (await request.body()).decode("utf-8", "replace")
    return Form(parse_qsl(body, keep_blank_values=True))


def _answer(reply: Reply) -> Response[bytes]:
    return Response(_encode(reply.body), status_code=reply.status, headers=reply.headers, media_type=_JSON)


def _whole(text: str | None, *, usual: int, low: int) -> int:
    return max(int(text), low) if text is not None and text.isdecimal() else usual


def _query(form: Form) -> ListQuery:
    exact = form.get("DateSent")
    low, high = form.get("DateSent>"), form.get("DateSent<")
    return ListQuery(
        to=form.get("To"),
        sender=form.get("From"),
        sent_from_ms=_from_ms(low or exact),
        sent_until_ms=_until_ms(high or exact),
    )


def _from_ms(text: str | None) -> int | None:
    return None if text is None else milliseconds(_moment(text))


def _until_ms(text: str | None) -> int | None:
    """Return the end of a filter: a date alone means its whole day (UTC)."""
    if text is None:
        return None
    whole_day = timedelta(days=1) - timedelta(milliseconds=1) if "T" not in text else timedelta(0)
    return milliseconds(_moment(text) + whole_day)


def _moment(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(20001, "Invalid parameter: DateSent") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
