"""The lengths of cool-downs, as stored in `settings`. What is absent has its default."""

from __future__ import annotations

from typing import Final

import msgspec
import structlog

from app.contacts.cooldowns.domain import CooldownLengths
from app.db.session import UnitOfWork

log = structlog.get_logger(__name__)

KEY: Final = "cooldowns"


async def load_lengths(uow: UnitOfWork) -> CooldownLengths:
    """Return the lengths in force.

    A stored value that cannot be used is logged and the defaults are used: no end of a journey may fail, and nobody
    may go without a rest, because of a setting.
    """
    row = (await uow.execute("SELECT value FROM settings WHERE key = :key", {"key": KEY})).one_or_none()
    if row is None:
        return CooldownLengths()
    try:
        return msgspec.convert(row.value, CooldownLengths)
    except msgspec.ValidationError as error:
        log.error("settings.unusable", key=KEY, error=type(error).__name__)
        return CooldownLengths()
