"""Twilio's webhooks: verify, store the receipt (first commit), answer 200, process it at once (second commit).

Both addresses are safe to repeat and to reorder. The answer is 200 once the receipt stands, for from then on nothing
starts towards that person; the processing runs beside the answer. Only a bounded number is processed here at once, so
that however many come together, each finds a connection for its receipt; the sweep takes the others, and whatever a
dying process left over, within a second.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import structlog
from litestar import Controller, Request, Response, Router, post
from litestar.di import NamedDependency

from app.campaigns.operations.leftovers import process_receipt
from app.clock import Clock
from app.config import Settings
from app.db.session import Database
from app.kernel.hints import HintPort
from app.kernel.soon import Soon
from app.messaging.gateways.twilio.forms import FormFields, UnreadableFormError, parse_form
from app.messaging.gateways.twilio.signature import verify_signature
from app.messaging.operations.receive import Receipt, keep_inbound, keep_status
from app.web.guards import SIGNED_ELSEWHERE

log = structlog.get_logger(__name__)

AnyRequest = Request[Any, Any, Any]
EMPTY_TWIML = "<Response/>"  # answers nothing: every message of ours goes through the engine
WEBHOOK_BYTES = 256 * 1024
# Few, so that in a burst receipts come first and find connections.
INBOUND_AT_ONCE: Final = 3
STATUSES_AT_ONCE: Final = 2


class TwilioWebhooks(Controller):
    """`/webhooks/twilio/…`"""

    path = "/webhooks/twilio"
    opt = SIGNED_ELSEWHERE
    request_max_body_size = WEBHOOK_BYTES

    def __init__(self, owner: Router) -> None:
        super().__init__(owner)
        self._turns = {
            "inbound": asyncio.Semaphore(INBOUND_AT_ONCE),
            "status": asyncio.Semaphore(STATUSES_AT_ONCE),
        }

    @post("/inbound", status_code=200)
    async def inbound(
        self,
        request: AnyRequest,
        settings: NamedDependency[Settings],
        database: NamedDependency[Database],
        clock: NamedDependency[Clock],
        hints: NamedDependency[HintPort],
        soon: NamedDependency[Soon],
    ) -> Response[str]:
        """Take an inbound message."""
        fields = await _genuine(request, settings)
        if isinstance(fields, Response):
            return fields
        async with database.transaction() as uow:
            receipt = await keep_inbound(uow, fields=fields, now=clock.now())
        self._process_soon(database, soon, hints, receipt, "inbound")
        return Response(EMPTY_TWIML, media_type="text/xml")

    @post("/status", status_code=200)
    async def status(
        self,
        request: AnyRequest,
        settings: NamedDependency[Settings],
        database: NamedDependency[Database],
        clock: NamedDependency[Clock],
        hints: NamedDependency[HintPort],
        soon: NamedDependency[Soon],
    ) -> Response[str]:
        """Take a status report."""
        fields = await _genuine(request, settings)
        if isinstance(fields, Response):
            return fields
        async with database.transaction() as uow:
            receipt = await keep_status(uow, fields=fields, raw_query=_raw_query(request), now=clock.now())
        self._process_soon(database, soon, hints, receipt, "status")
        return Response("", media_type="text/plain")

    def _process_soon(
        self, database: Database, soon: Soon, hints: HintPort, receipt: Receipt, kind: str
    ) -> None:
        """Process a new receipt beside the answer; where too many are at work already, a worker is asked."""
        turns = self._turns[kind]

        async def process() -> None:
            if turns.locked():
                await hints.hint("sweep")
                return
            async with turns:
                await process_receipt(database, signal_id=receipt.signal_id, kind=kind)

        if receipt.new:
            soon.run(f"receipt:{receipt.signal_id}", process)


async def _genuine(request: AnyRequest, settings: Settings) -> FormFields | Response[str]:
    """Return the fields of a call that Twilio signed; anything else is refused and stored nowhere."""
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    valid = verify_signature(
        auth_tokens=settings.twilio_auth_tokens,
        public_base_url=settings.public_base_url,
        path=request.scope["raw_path"] or request.url.path,
        raw_query=_raw_query(request),
        raw_body=body,
        content_type=content_type,
        headers=dict(request.headers.items()),
    )
    if not valid:
        log.warning("webhook.refused", path=request.url.path, length=len(body))
        return Response("The signature does not fit.", status_code=403, media_type="text/plain")
    try:
        return parse_form(raw_body=body, content_type=content_type)
    except UnreadableFormError:
        log.warning("webhook.unreadable", path=request.url.path, length=len(body))
        return Response("This is no form.", status_code=400, media_type="text/plain")


def _raw_query(request: AnyRequest) -> str:
    return request.scope["query_string"].decode("latin-1")
