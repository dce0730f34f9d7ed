"""The messaging port over Twilio's SDK. No call is repeated here; that is the engine's decision."""

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from twilio.base.exceptions import TwilioRestException, TwilioServiceException
from twilio.rest import Client

from app.messaging.domain.addresses import parse_address
from app.messaging.domain.statuses import StatusEvent, rank_of
from app.messaging.gateways.base import (
    CannotTell,
    FindResult,
    ListedMessage,
    Listing,
    ListResult,
    NoSuchMessage,
    NotSent,
    OutMessage,
    SendResult,
    SentQuery,
    StatusResult,
)
from app.messaging.gateways.twilio.http import BoundedHttpClient, Call, call
from app.messaging.gateways.twilio.matching import match_sent
from app.messaging.gateways.twilio.outcomes import accepted_or_unknown, outcome_of_error
from app.messaging.gateways.twilio.settings import TwilioSettings

STATUS_PATH: Final = "/webhooks/twilio/status"
LONGEST_VALIDITY: Final = 36_000


class TwilioGateway:
    """One account, one client, one pool of connections. Safe for many calls at once in one event loop."""

    def __init__(self, settings: TwilioSettings) -> None:
        self._settings = settings
        self._http = BoundedHttpClient(settings)
        user, password = settings.login
        self._client: Any = Client(
            username=user,
            password=password,
            account_sid=settings.account_sid,
            http_client=self._http,
            environment={"": ""},
        )
        # Built once: the SDK makes this chain anew on each access.
        self._messages: Any = self._client.api.v2010.account.messages

    async def send(self, message: OutMessage, *, deadline: float) -> SendResult:
        """Create one message at Twilio and say what is certain about it (`outcomes` has the table)."""
        if message.validity_seconds is not None and message.validity_seconds < 1:
            return NotSent("expired")
        with call(deadline) as evidence:
            try:
                created = await self._messages.create_async(**self._create_parameters(message))
            except Exception as error:
                # Broad on purpose: whatever goes wrong after the request was handed over is "unknown".
                return outcome_of_error(error, evidence=evidence, to=message.to)
        return accepted_or_unknown(created.sid, created.status)

    async def find_sent(self, query: SentQuery, *, deadline: float) -> FindResult:
        """Look for a message of unknown outcome among those to its address.

        Filtered by recipient alone: the list's other filters hide messages that are still queued or accepted.
        """
        listed = await self._list({"to": query.to.wire}, deadline)
        return match_sent(query, listed) if isinstance(listed, Listing) else listed

    async def fetch_status(self, provider_message_id: str, *, deadline: float) -> StatusResult:
        """The present state of one message, in the shape of a status report."""
        with call(deadline) as evidence:
            try:
                found = await self._messages(provider_message_id).fetch_async()
            except Exception as error:
                return NoSuchMessage() if _is_missing(error) else CannotTell(_reason(error, evidence))
        listed = _listed(found)
        return StatusEvent(
            provider_message_id=provider_message_id,
            attempt_id=None,
            status=listed.status,
            rank=rank_of(listed.status),
            error_code=listed.error_code,
            error_message=found.error_message or "",
            to_address=parse_address(listed.to_address or ""),
            from_address=parse_address(listed.from_address or ""),
            raw={"status": listed.status, "error_code": str(listed.error_code or "")},
        )

    async def list_messages(
        self, *, created_from: datetime, created_to: datetime, deadline: float
    ) -> ListResult:
        """Messages of both directions by time of sending; the filter leaves out those not yet sent."""
        return await self._list({"date_sent_after": created_from, "date_sent_before": created_to}, deadline)

    async def aclose(self) -> None:
        """Close the connections. Later sends are `NotSent`."""
        await self._http.close()

    def _create_parameters(self, message: OutMessage) -> dict[str, Any]:
        validity = message.validity_seconds
        optional = {
            "from_": message.sender_wire,
            "messaging_service_sid": message.messaging_service_sid,
            "body": message.body,
            "validity_period": min(validity, LONGEST_VALIDITY) if validity else None,
        }
        parameters = {name: value for name, value in optional.items() if value is not None}
        if message.template is not None:
            parameters["content_sid"] = message.template.content_sid
            # Every variable is always given: the provider fills a missing one with its sample.
            parameters["content_variables"] = json.dumps(dict(message.template.variables), ensure_ascii=False)
        return {"to": message.to.wire, "status_callback": self._callback(message.attempt_id), **parameters}

    def _callback(self, attempt_id: str) -> str:
        base = self._settings.public_base_url.rstrip("/")
        fragment = f"#{self._settings.callback_overrides}" if self._settings.callback_overrides else ""
        return f"{base}{STATUS_PATH}?attempt={quote(attempt_id, safe='')}{fragment}"

    async def _list(self, filters: dict[str, Any], deadline: float) -> ListResult:
        """Read pages until the last one or the bound, all within the deadline."""
        with call(deadline) as evidence:
            try:
                async with asyncio.timeout(deadline):
                    return await self._read_pages(filters)
            except Exception as error:
                return CannotTell(_reason(error, evidence))

    async def _read_pages(self, filters: dict[str, Any]) -> Listing:
        page = await self._messages.page_async(page_size=self._settings.page_size, **filters)
        messages: list[ListedMessage] = []
        for n in range(1, self._settings.max_pages + 1):
            messages += _listed_all(page)
            if page.next_page_url is None:
                return Listing(tuple(messages), complete=True)
            if n < self._settings.max_pages:
                page = await page.next_page_async()
        return Listing(tuple(messages), complete=False)


def _listed_all(page: Any) -> Sequence[ListedMessage]:
    return [_listed(message) for message in page]


def _listed(message: Any) -> ListedMessage:
    if not isinstance(message.sid, str):
        raise ValueError("a listed message without an id")
    created = message.date_created
    return ListedMessage(
        provider_message_id=message.sid,
        direction=message.direction or "",
        from_address=message.from_,
        to_address=message.to,
        body=message.body or "",
        status=(message.status or "").lower(),
        messaging_service_sid=message.messaging_service_sid,
        # The SDK hands an unreadable date on as text.
        created_at=created if isinstance(created, datetime) else None,
        error_code=message.error_code if isinstance(message.error_code, int) else None,
    )


def _is_missing(error: Exception) -> bool:
    return isinstance(error, TwilioRestException | TwilioServiceException) and error.status == 404


def _reason(error: Exception, evidence: Call) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if evidence.status is not None and not 200 <= evidence.status < 300:
        return f"http_{evidence.status}"
    return f"{'unreadable_answer' if evidence.status else 'no_answer'}:{type(error).__name__}"
