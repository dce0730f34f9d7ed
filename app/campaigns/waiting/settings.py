"""How long a request may wait, as stored in `settings`. What is absent has its default."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
import structlog

from app.db.session import UnitOfWork

log = structlog.get_logger(__name__)

KEY: Final = "enrolment_requests"


class WaitingPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Days of business time after which a request that never got its turn is dropped."""

    expire_after_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 90


async def load_policy(uow: UnitOfWork) -> WaitingPolicy:
    """Return the policy in force; a stored value that cannot be used is logged and the default is used."""
    row = (await uow.execute("SELECT value FROM settings WHERE key = :key", {"key": KEY})).one_or_none()
    if row is None:
        return WaitingPolicy()
    try:
        return msgspec.convert(row.value, WaitingPolicy)
    except msgspec.ValidationError as error:
        log.error("settings.unusable", key=KEY, error=type(error).__name__)
        return WaitingPolicy()
