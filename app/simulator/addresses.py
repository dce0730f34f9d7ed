"""Addresses as the provider writes them: `+60…` for SMS, `whatsapp:+60…` or `whatsapp:MY.…` (a business-
scoped user id).
"""

from __future__ import annotations

import re

WHATSAPP = "whatsapp:"
_PHONE = re.compile(r"\+[1-9]\d{6,14}")
_USER_ID = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")


def is_address(address: str) -> bool:
    """Tell whether the provider would take this as a recipient."""
    bare = phone_of(address)
    if _PHONE.fullmatch(bare):
        return True
    return is_whatsapp(address) and _USER_ID.fullmatch(bare) is not None


def is_whatsapp(address: str) -> bool:
    """Tell whether the address is one of WhatsApp."""
    return address.startswith(WHATSAPP)


def phone_of(address: str) -> str:
    """Return the phone (or user id) behind an address: the same for SMS and WhatsApp."""
    return address.removeprefix(WHATSAPP)


def on_channel_of(phone: str, *, example: str) -> str:
    """Return the address of `phone` on the channel that `example` belongs to."""
    return WHATSAPP + phone_of(phone) if is_whatsapp(example) else phone_of(phone)


def masked(address: str) -> str:
    """Return the phone with its last four digits hidden, as the provider prints `ChannelToAddress`."""
    return phone_of(address)[:-4] + "XXXX"
