"""WhatsApp's 24-hour window: until when free text may go out. Only messages from the person open it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

# The window is the provider's to judge; ours closes a little earlier, for its clock and the message's way.
WINDOW: Final = timedelta(hours=24)
WINDOW_MARGIN: Final = timedelta(minutes=5)


def window_open(whatsapp_inbound_at: datetime | None, now: datetime) -> bool:
    """Whether free text may go out on WhatsApp."""
    closes_at = window_closes_at(whatsapp_inbound_at)
    return closes_at is not None and closes_at > now


def window_closes_at(whatsapp_inbound_at: datetime | None) -> datetime | None:
    """Return when the window closes for us; None where the person never wrote."""
    return whatsapp_inbound_at + WINDOW - WINDOW_MARGIN if whatsapp_inbound_at is not None else None
