"""What happens to an accepted message: sent, delivered, read or failed, and the status callbacks that tell of
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

from app.simulator.addresses import is_whatsapp, masked
from app.simulator.faults import FaultBook, LateFailure
from app.simulator.messages import INITIAL, Message, Status
from app.simulator.records import Records
from app.simulator.refusals import message_of
from app.simulator.resources import API_VERSION
from app.simulator.settings import SimulatorSettings
from app.simulator.timekeeping import ProviderTime, moment
from app.simulator.webhooks import WebhookCaller

log = structlog.get_logger()
T = TypeVar("T")
_CHANNEL_INSTALL_SID = "XE" + "5" * 32
_WINDOW_CLOSED = LateFailure(code=63016, after="accepted", status="failed")


class Delivery:
    """Carries messages to their phones, one task each, and counts what is still under way."""

    def __init__(
        self,
        *,
        settings: SimulatorSettings,
        records: Records,
        faults: FaultBook,
        time: ProviderTime,
        webhooks: WebhookCaller,
    ) -> None:
        self._settings = settings
        self._records = records
        self._faults = faults
        self._time = time
        self._webhooks = webhooks
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiting_for_schedule = 0
        self._changed = asyncio.Event()

    @property
    def pending(self) -> int:
        """How many messages and callbacks are under way; waiting for a scheduled time does not count."""
        return len(self._tasks) - self._waiting_for_schedule

    async def idle(self, *, within_seconds: float) -> bool:
        """Wait until nothing is under way; False when that took too long."""
        try:
            async with asyncio.timeout(within_seconds):
                while self.pending:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def deliver(self, message: Message) -> None:
        """Begin to carry a message that was accepted (or go on with one after a restart)."""
        self.spawn(self._carry(message.sid))

    def resume(self) -> None:
        """Go on with every message that was under way when the simulator stopped."""
        for message in tuple(self._records.messages.values()):
            if (
                message.is_outbound
                and not message.stalled
                and message.status in {*INITIAL, "scheduled", "sending", "sent"}
            ):
                self.deliver(message)

    def read(self, messages: list[Message]) -> None:
        """The phone's owner saw these: mark what was delivered as read and tell so, where read receipts are
        on.
        """
        if not self._records.behaviour.read_receipts:
            return
        for message in messages:
            if message.is_outbound and message.status == "delivered" and is_whatsapp(message.to):
                read = self._advance(message.sid, "read")
                self.spawn(self._tell(read, ["read"]))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something that counts as under way."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def stop(self) -> None:
        """Drop what is under way; `resume` takes it up at the next start."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._changed.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("simulator.delivery_failed", exc_info=task.exception())

    async def _carry(self, sid: str) -> None:
        message = self._records.messages[sid]
        if message.status == "scheduled" and not await self._due(sid):
            return
        failure = _WINDOW_CLOSED if message.outside_window else message.script.failure
        told: list[Status] = []
        for status in _journey(message, failure):
            await self._pause_before(status)
            if sid not in self._records.messages:
                return  # everything was reset meanwhile
            message = self._advance(sid, status, failure)
            if message.script.reorder:
                told.append(status)
            else:
                await self._tell(message, [status])
        await self._tell(message, self._faults.shuffled(told))
        await self._read_by_itself(sid)

    async def _due(self, sid: str) -> bool:
        """Wait for the scheduled time; False when the message was cancelled before it came."""
        self._waiting_for_schedule += 1
        self._changed.set()
        try:
            wait_ms = (self._records.messages[sid].send_at_ms or 0) - self._time.now_ms()
            await asyncio.sleep(max(0.0, wait_ms / 1000))
        finally:
            self._waiting_for_schedule -= 1
        return sid in self._records.messages and self._records.messages[sid].status == "scheduled"

    async def _pause_before(self, status: Status) -> None:
        behaviour = self._records.behaviour
        wait_ms = behaviour.delivered_after_ms if status == "delivered" else behaviour.sent_after_ms
        await asyncio.sleep(wait_ms / 1000)

    async def _read_by_itself(self, sid: str) -> None:
        wait_ms = self._records.behaviour.auto_read_after_ms
        if wait_ms is None or self._records.messages[sid].status != "delivered":
            return
        await asyncio.sleep(wait_ms / 1000)
        if sid in self._records.messages:
            self.read([self._records.messages[sid]])

    def _advance(self, sid: str, status: Status, failure: LateFailure | None = None) -> Message:
        now_ms = self._time.now_ms()
        message = self._records.messages[sid]
        changes: dict[str, Any] = {
            "status": status,
            "updated_ms": now_ms,
            "sender": message.sender or self._picked(message),
        }
        if status == "sent":
            changes["sent_ms"] = now_ms
        if failure is not None and status == failure.status:
            changes |= {
                "error_code": failure.code,
                "error_message": message_of(failure.code),
                "stalled": True,
            }
        if status == "sent" and message.script.never_delivered:
            changes["stalled"] = True
        return self._records.change_message(sid, **changes)

    def _picked(self, message: Message) -> str:
        """Return the sender that the messaging service picks: its first one on the message's channel."""
        return service_sender(
            self._records, self._settings, service=message.messaging_service_sid, to=message.to
        )

    async def _tell(self, message: Message, statuses: list[Status]) -> None:
        """Post the callbacks of these statuses, in turn; all at once when they are to arrive out of order."""
        url = message.status_callback
        if url is None:
            return
        if message.script.delay_ms and statuses:
            await asyncio.sleep(message.script.delay_ms / 1000)
        batches = [
            self._post_copies(url, message, status) for status in statuses if not message.script.loses(status)
        ]
        if message.script.reorder:
            await asyncio.gather(*batches)
        else:
            for batch in batches:
                await batch

    async def _post_copies(self, url: str, message: Message, status: Status) -> None:
        params = status_params(message, status=status, account_sid=self._settings.account_sid)
        await asyncio.gather(
            *(self._webhooks.post(url=url, params=params) for _ in range(message.script.copies))
        )


def service_sender(records: Records, settings: SimulatorSettings, *, service: str | None, to: str) -> str:
    """Return the address that a messaging service sends from to this recipient."""
    for sender in records.services.get(service or "", ()):
        if is_whatsapp(sender) == is_whatsapp(to):
            return sender
    return f"whatsapp:{settings.default_sender}" if is_whatsapp(to) else settings.default_sender


def _journey(message: Message, failure: LateFailure | None) -> list[Status]:
    """Return the statuses still ahead of a message."""
    ahead: list[Status] = ["sent", "delivered"]
    if failure is not None:
        ahead = [*ahead[: ["accepted", "sent", "delivered"].index(failure.after)], failure.status]
    elif message.script.never_delivered:
        ahead = ["sent"]
    return ahead[1:] if message.status == "sent" and ahead[0] == "sent" else ahead


def status_params(message: Message, *, status: Status, account_sid: str) -> dict[str, str]:
    """Return the parameters of a status callback."""
    params = {
        "ApiVersion": API_VERSION,
        "MessageStatus": status,
        "SmsSid": message.sid,
        "SmsStatus": status,
        "To": message.to,
        "From": message.sender or "",
        "MessageSid": message.sid,
        "AccountSid": account_sid,
    }
    if message.messaging_service_sid is not None:
        params["MessagingServiceSid"] = message.messaging_service_sid
    if is_whatsapp(message.to):
        params |= _whatsapp_params(message, status)
    elif status in {"delivered", "undelivered"}:
        params["RawDlrDoneDate"] = moment(message.updated_ms).strftime("%y%m%d%H%M")
    if message.error_code is not None and status in {"failed", "undelivered"}:
        params["ErrorCode"] = str(message.error_code)
    return params


def _whatsapp_params(message: Message, status: Status) -> dict[str, str]:
    params = {
        "ChannelPrefix": "whatsapp",
        "ChannelInstallSid": _CHANNEL_INSTALL_SID,
        "ChannelToAddress": masked(message.to),
    }
    if status == "read":
        params["EventType"] = "READ"
    if message.error_message is not None and status in {"failed", "undelivered"}:
        params["ErrorMessage"] = message.error_message
        params["ChannelStatusMessage"] = message.error_message
    return params
