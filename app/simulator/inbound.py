"""What a phone sends, and the webhook that the provider makes of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from typing import Literal

import msgspec

from app.simulator.addresses import WHATSAPP, is_address, is_whatsapp, on_channel_of, phone_of
from app.simulator.delivery import Delivery
from app.simulator.media import CONTACT, DOCUMENT, IMAGE, STICKER, VOICE
from app.simulator.messages import Location, Message, media_sid
from app.simulator.records import Records
from app.simulator.refusals import Refusal
from app.simulator.resources import API_VERSION, messages_uri
from app.simulator.settings import SimulatorSettings
from app.simulator.timekeeping import ProviderTime
from app.simulator.webhooks import WebhookCaller

Kind = Literal["text", "button", "image", "voice", "document", "location", "sticker", "contact"]
MEDIA = {"image": IMAGE, "voice": VOICE, "document": DOCUMENT, "sticker": STICKER, "contact": CONTACT}
_MESSAGE_TYPES = {"voice": "audio", "contact": "contacts"}
_PLACE = Location(
    latitude=3.1578, longitude=101.7119, address="Jalan Ampang, 50450 Kuala Lumpur", label="Suria KLCC"
)
_STOP = frozenset({"STOP", "UNSUBSCRIBE", "END", "QUIT", "STOPALL", "REVOKE", "OPTOUT", "CANCEL"})
_START = frozenset({"START", "YES", "UNSTOP"})
_HELP = frozenset({"HELP", "INFO"})
_RETRIES = "rc=3&rp=ct,rt,5xx"
"""How the inbound webhook is set up at the provider."""


class PhoneMessage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"sender": "from"}
):
    """Something that a phone sends. The same `client_id` again is the same message: it is not sent twice."""

    sender: str
    to: str | None = None
    """The business's address; None answers whoever wrote to this phone last."""
    kind: Kind = "text"
    body: str = ""
    client_id: str | None = None
    name: str | None = None
    """The profile name that the phone shows from now on."""
    replied_to: str | None = None
    button_text: str = ""
    button_payload: str = ""
    location: Location | None = None
    copies: int = 1
    """How many times the webhook is posted, at once, as the provider's repeats are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What became of a phone's message: the webhook's last HTTP status, None while nobody waited or nobody
    answered.
    """

    sid: str
    is_new: bool
    status: int | None = None


class PhoneLine:
    """Takes messages from phones to the business's inbound webhook."""

    def __init__(
        self,
        *,
        settings: SimulatorSettings,
        records: Records,
        time: ProviderTime,
        delivery: Delivery,
        webhooks: WebhookCaller,
    ) -> None:
        self._settings = settings
        self._records = records
        self._time = time
        self._delivery = delivery
        self._webhooks = webhooks

    async def send(self, sent: PhoneMessage, *, wait: bool = False) -> Handed:
        """Send a phone's message once; with `wait`, return after the business answered. Raises Refusal for a
        bad address.
        """
        known = self._records.inbound_ids.get(sent.client_id or "")
        if known is not None:
            return Handed(sid=known, is_new=False)
        message = self._records.save_message(self._message(sent))
        if sent.client_id:
            self._records.save_inbound_id(sent.client_id, message.sid)
        if sent.name:
            self._records.save_profile(message.phone, sent.name)
        opt_out = self._keyword(message)
        await self._records.store.written()
        work = self._delivery.spawn(self._post(message, opt_out=opt_out, copies=sent.copies))
        return Handed(sid=message.sid, is_new=True, status=await work if wait else None)

    def business_of(self, phone: str) -> str:
        """Return whom this phone answers: who wrote to it last, else the default sender on WhatsApp."""
        for message in reversed(self._records.thread(phone)):
            if message.business is not None:
                return message.business
        return WHATSAPP + self._settings.default_sender

    def _message(self, sent: PhoneMessage) -> Message:
        business = sent.to or self.business_of(phone_of(sent.sender))
        sender = sent.sender if is_whatsapp(sent.sender) else on_channel_of(sent.sender, example=business)
        if not is_address(sender) or not is_address(business):
            raise Refusal(21211, "A phone's message needs a valid 'from' and 'to'.")
        now_ms = self._time.now_ms()
        media = MEDIA.get(sent.kind)
        return Message(
            sid=("MM" if media else "SM") + secrets.token_hex(16),
            direction="inbound",
            kind=sent.kind,
            status="received",
            to=on_channel_of(business, example=sender),
            sender=sender,
            body=_body(sent),
            created_ms=now_ms,
            updated_ms=now_ms,
            sent_ms=now_ms,
            demo_ms=self._time.demo_ms(real_ms=now_ms),
            messaging_service_sid=self._service_of(business),
            media_types=(media,) if media else (),
            location=(sent.location or _PLACE) if sent.kind == "location" else None,
            replied_to=sent.replied_to,
            button_payload=sent.button_payload or sent.button_text if sent.kind == "button" else None,
        )

    def _service_of(self, business: str) -> str | None:
        return next((sid for sid, senders in self._records.services.items() if business in senders), None)

    def _keyword(self, message: Message) -> str | None:
        """Keep a STOP or START where the provider handles them; returns the `OptOutType`."""
        behaviour = self._records.behaviour
        handled = behaviour.opt_out_whatsapp if is_whatsapp(message.to) else behaviour.opt_out_sms
        word = message.body.strip().upper()
        kind = "STOP" if word in _STOP else "START" if word in _START else "HELP" if word in _HELP else None
        if not handled or kind is None:
            return None
        if kind != "HELP":
            self._records.save_opt_out(
                address=message.sender or "", business=message.to, stopped=kind == "STOP"
            )
        return kind

    async def _post(self, message: Message, *, opt_out: str | None, copies: int) -> int | None:
        params = inbound_params(
            message, settings=self._settings, name=self._records.profiles.get(message.phone, "")
        )
        if opt_out is not None:
            params["OptOutType"] = opt_out
        url = f"{self._settings.webhook_base}/webhooks/twilio/inbound#{_RETRIES}"
        statuses = await asyncio.gather(
            *(self._webhooks.post(url=url, params=params) for _ in range(max(1, copies)))
        )
        if message.sid in self._records.messages:
            answered = any(status is not None and status < 400 for status in statuses)
            self._records.change_message(message.sid, answered=answered)
        return statuses[-1]


def inbound_params(message: Message, *, settings: SimulatorSettings, name: str) -> dict[str, str]:
    """Return the parameters of the inbound webhook, as the provider sends them for this channel and kind."""
    params = {
        "SmsMessageSid": message.sid,
        "NumMedia": str(len(message.media_types)),
        "SmsSid": message.sid,
        "SmsStatus": "received",
        "Body": message.body,
        "To": message.to,
        "NumSegments": "1",
        "MessageSid": message.sid,
        "AccountSid": settings.account_sid,
        "From": message.sender or "",
        "ApiVersion": API_VERSION,
    }
    if message.messaging_service_sid is not None:
        params["MessagingServiceSid"] = message.messaging_service_sid
    params |= _whatsapp(message, name) if is_whatsapp(message.to) else _geography(message)
    for index, content_type in enumerate(message.media_types):
        params[f"MediaContentType{index}"] = content_type
        params[f"MediaUrl{index}"] = media_url(message, index, settings=settings)
    return params


def media_url(message: Message, index: int, *, settings: SimulatorSettings) -> str:
    """Return where a file of the message is fetched, with the account's credentials."""
    path = f"{messages_uri(settings.account_sid)}/{message.sid}/Media/{media_sid(message.sid, index)}"
    return f"http://127.0.0.1:{settings.port}{path}"


def _body(sent: PhoneMessage) -> str:
    if sent.kind == "button":
        return sent.button_text
    if sent.kind == "document":
        return sent.body or "document.pdf"
    return sent.body if sent.kind in {"text", "image"} else ""


def _whatsapp(message: Message, name: str) -> dict[str, str]:
    phone = message.phone
    context = {"ProfileName": name, **({"WaId": phone[1:]} if phone.startswith("+") else {})}
    params = {
        **context,
        "MessageType": _MESSAGE_TYPES.get(message.kind, message.kind),
        "ReferralNumMedia": "0",
        "ExternalUserId": _user_id(phone),
        "ChannelMetadata": json.dumps(
            {"type": "whatsapp", "data": {"context": context}}, separators=(",", ":"), ensure_ascii=False
        ),
    }
    if message.replied_to is not None:
        params |= {
            "OriginalRepliedMessageSid": message.replied_to,
            "OriginalRepliedMessageSender": message.to,
        }
    if message.button_payload is not None:
        params |= {"ButtonText": message.body, "ButtonPayload": message.button_payload}
    if message.location is not None:
        params |= _location(message.location)
    return params


def _user_id(phone: str) -> str:
    """Return the business-scoped id of a phone's owner: always the same for one phone."""
    if not phone.startswith("+"):
        return WHATSAPP + phone
    return f"{WHATSAPP}MY.{int(hashlib.sha256(phone.encode()).hexdigest(), 16) % 10**13:013d}"


def _location(location: Location) -> dict[str, str]:
    params = {"Latitude": f"{location.latitude:g}", "Longitude": f"{location.longitude:g}"}
    named = {"Address": location.address, "Label": location.label}
    return params | {name: text for name, text in named.items() if text}


def _geography(message: Message) -> dict[str, str]:
    """Return the SMS fields of place; only the country is known."""
    country = "MY" if re.match(r"\+60", message.sender or "") else ""
    blank = {f"{side}{field}": "" for side in ("From", "To") for field in ("City", "State", "Zip")}
    return {**blank, "FromCountry": country, "ToCountry": ""}
