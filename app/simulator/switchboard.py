"""The Messages resource at work: accepts, lists, fetches and cancels messages, and lets faults happen on the
way.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from app.simulator.addresses import is_whatsapp, phone_of
from app.simulator.contents import render
from app.simulator.creation import CreateRequest, Form, read_create_request, unknown_content
from app.simulator.delivery import Delivery, service_sender
from app.simulator.faults import (
    CallbackScript,
    DieAfterAccept,
    Error,
    ErrorAfterAccept,
    FaultBook,
    RefuseBefore,
    RequestFault,
    TimeOut,
    TooManyRequests,
)
from app.simulator.messages import Button, Message, attempt_in
from app.simulator.records import Records, RequestRecord
from app.simulator.refusals import Refusal, error_body, message_of, not_found
from app.simulator.resources import message_resource
from app.simulator.settings import SimulatorSettings
from app.simulator.timekeeping import ProviderTime

_HOUR_MS = 3_600_000
_NO_BUTTONS: tuple[Button, ...] = ()
HangUp = Literal["close", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the caller is to see: an answer, or the end of the connection."""

    status: int = 201
    body: dict[str, object] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: HangUp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """The filters of a list. Times are real milliseconds, both ends included."""

    to: str | None = None
    sender: str | None = None
    sent_from_ms: int | None = None
    sent_until_ms: int | None = None

    def keeps(self, message: Message) -> bool:
        """Tell whether a message passes. As with the provider, one that was not sent yet passes no filter by
        time.
        """
        if self.to is not None and message.to != self.to:
            return False
        if self.sender is not None and message.sender != self.sender:
            return False
        if self.sent_from_ms is None and self.sent_until_ms is None:
            return True
        if message.sent_ms is None:
            return False
        sent_second = message.sent_ms // 1000 * 1000
        after = self.sent_from_ms is None or sent_second >= self.sent_from_ms
        return after and (self.sent_until_ms is None or sent_second <= self.sent_until_ms)


class Switchboard:
    """Answers create, list, fetch and cancel. A create is answered only when the message is in the store."""

    def __init__(
        self,
        *,
        settings: SimulatorSettings,
        records: Records,
        faults: FaultBook,
        time: ProviderTime,
        delivery: Delivery,
    ) -> None:
        self._settings = settings
        self._records = records
        self._faults = faults
        self._time = time
        self._delivery = delivery

    async def create(self, form: Form) -> Reply:
        """Carry out a create request and return what the caller is to see."""
        try:
            request = read_create_request(form, now_ms=self._time.now_ms())
            self._check_account(request)
        except Refusal as refusal:
            return await self._refuse(form, refusal)
        verdict = self._faults.draw(to=request.to, content_sid=request.content_sid)
        if verdict.spent:
            self._records.save_rules(self._faults.rules())
        if verdict.request is None:
            return await self._accept(form, request, verdict.script)
        return await self._stumble(form, request, verdict.script, verdict.request)

    def listed(self, query: ListQuery) -> list[Message]:
        """Return the messages that pass, newest first."""
        visible_until = self._time.now_ms() - self._records.behaviour.list_delay_ms
        found = [m for m in self._candidates(query) if m.created_ms <= visible_until and query.keeps(m)]
        return sorted(found, key=lambda message: message.created_ms, reverse=True)

    def fetched(self, sid: str) -> Message:
        """Return one message. Raises Refusal 20404."""
        message = self._records.messages.get(sid)
        if message is None:
            raise not_found(f"/Messages/{sid}.json")
        return message

    def cancelled(self, sid: str) -> Message:
        """Cancel a scheduled message. Raises Refusal 20404, or 30409 when it is no longer scheduled."""
        if self.fetched(sid).status != "scheduled":
            raise Refusal(30409, "This message cannot be canceled", status=409)
        return self._records.change_message(sid, status="canceled", updated_ms=self._time.now_ms())

    def _candidates(self, query: ListQuery) -> Iterator[Message]:
        """Yield the messages that a query may concern, in the reverse order of their arrival."""
        messages = self._records.messages
        if query.to is None:
            return reversed(messages.values())
        own = self._records.by_phone.get(phone_of(query.to))
        return (messages[sid] for sid in reversed(own)) if own is not None else reversed(messages.values())

    def _check_account(self, request: CreateRequest) -> None:
        if request.content_sid is not None and request.content_sid not in self._records.contents:
            raise unknown_content()
        if self._records.is_opted_out(address=request.to, business=self._business(request)):
            raise Refusal(21610, message_of(21610))

    def _business(self, request: CreateRequest) -> str:
        if request.sender is not None:
            return request.sender
        return service_sender(
            self._records, self._settings, service=request.messaging_service_sid, to=request.to
        )

    async def _refuse(self, form: Form, refusal: Refusal) -> Reply:
        self._record(form, outcome="refused", status=refusal.status, code=refusal.code)
        await self._records.store.written()
        return Reply(status=refusal.status, body=refusal.body())

    async def _stumble(
        self, form: Form, request: CreateRequest, script: CallbackScript, fault: RequestFault
    ) -> Reply:
        match fault:
            case RefuseBefore(reset=reset):
                self._record(form, outcome="hung_up_before")
                return Reply(hang_up="reset" if reset else "close")
            case Error(code=code, status=status, message=message, retry_after=retry_after):
                self._record(form, outcome="refused", status=status, code=code)
                body = error_body(code=code, message=message or message_of(code), status=status)
                return Reply(status=status, body=body, headers=_retry_after(retry_after))
            case TooManyRequests(retry_after=retry_after):
                self._record(form, outcome="refused", status=429, code=20429)
                body = error_body(code=20429, message=message_of(20429), status=429)
                return Reply(status=429, body=body, headers=_retry_after(retry_after))
            case DieAfterAccept(reset=reset):
                await self._accept(form, request, script, outcome="hung_up_after")
                return Reply(hang_up="reset" if reset else "close")
            case ErrorAfterAccept(status=status):
                await self._accept(form, request, script, outcome="answered_error_after", status=status)
                return Reply(
                    status=status, body=error_body(code=20500, message=message_of(20500), status=status)
                )
            case TimeOut():
                return await self._time_out(form, request, script, fault)

    async def _time_out(
        self, form: Form, request: CreateRequest, script: CallbackScript, fault: TimeOut
    ) -> Reply:
        if fault.stored == "before":
            reply = await self._accept(form, request, script, outcome="answered_late")
            await asyncio.sleep(fault.seconds)
            return reply
        if fault.stored == "after":
            return await self._store_late(form, request, script, seconds=fault.seconds)
        self._record(form, outcome="never_stored", status=503, code=20503)
        await asyncio.sleep(fault.seconds)
        return Reply(status=503, body=error_body(code=20503, message=message_of(20503), status=503))

    async def _store_late(
        self, form: Form, request: CreateRequest, script: CallbackScript, *, seconds: float
    ) -> Reply:
        """Store and answer after a while; until then it counts as under way, and a reset drops it."""

        async def later() -> Reply:
            await asyncio.sleep(seconds)
            return await self._accept(form, request, script, outcome="stored_late")

        task = self._delivery.spawn(later())
        await asyncio.wait({task})
        return Reply(hang_up="close") if task.cancelled() else task.result()

    async def _accept(
        self,
        form: Form,
        request: CreateRequest,
        script: CallbackScript,
        *,
        outcome: str = "created",
        status: int = 201,
    ) -> Reply:
        message = self._records.save_message(self._message(request, script))
        self._record(form, outcome=outcome, status=status, sid=message.sid)
        await self._records.store.written()
        self._delivery.deliver(message)
        return Reply(status=201, body=message_resource(message, account_sid=self._settings.account_sid))

    def _message(self, request: CreateRequest, script: CallbackScript) -> Message:
        now_ms = self._time.now_ms()
        demo_ms = self._time.demo_ms(real_ms=now_ms)
        body, buttons = request.body, _NO_BUTTONS
        if request.content_sid is not None:
            body, buttons = render(self._records.contents[request.content_sid], request.values)
        rich = request.content_sid is not None or request.media_urls
        return Message(
            sid=("MM" if rich else "SM") + secrets.token_hex(16),
            direction="outbound-api",
            kind="template" if request.content_sid else "media" if request.media_urls else "text",
            status="scheduled" if request.send_at_ms else "accepted" if request.sender is None else "queued",
            to=request.to,
            sender=request.sender,
            body=body,
            created_ms=now_ms,
            updated_ms=now_ms,
            demo_ms=demo_ms,
            messaging_service_sid=request.messaging_service_sid,
            content_sid=request.content_sid,
            content_variables=request.content_variables,
            buttons=buttons,
            media_urls=request.media_urls,
            status_callback=request.status_callback,
            send_at_ms=request.send_at_ms,
            outside_window=self._is_outside_window(request, demo_ms=demo_ms),
            script=script,
        )

    def _is_outside_window(self, request: CreateRequest, *, demo_ms: int) -> bool:
        hours = self._records.behaviour.window_hours
        if hours is None or request.content_sid is not None or not is_whatsapp(request.to):
            return False
        opened_ms = self._records.windows.get((phone_of(request.to), self._business(request)))
        return opened_ms is None or demo_ms - opened_ms > hours * _HOUR_MS

    def _record(
        self,
        form: Form,
        *,
        outcome: str,
        status: int | None = None,
        code: int | None = None,
        sid: str | None = None,
    ) -> None:
        self._records.save_request(
            RequestRecord(
                number=len(self._records.requests),
                at_ms=self._time.now_ms(),
                to=form.get("To"),
                content_sid=form.get("ContentSid"),
                attempt=attempt_in(form.get("StatusCallback")),
                outcome=outcome,
                status=status,
                code=code,
                sid=sid,
            )
        )


def _retry_after(seconds: int | None) -> dict[str, str]:
    return {} if seconds is None else {"Retry-After": str(seconds)}
