"""Seats: who takes leads at all."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.advisers.events import CapacityFreed
from app.db.session import UnitOfWork

USUAL_CAPACITY = 40
"""Open leads at a time."""


async def give_seat(
    uow: UnitOfWork, *, user_id: int, capacity: int = USUAL_CAPACITY, languages: Sequence[str] = ()
) -> None:
    """Let a new adviser take leads from now on. `languages` are tags like `ms`: who speaks one comes to them first."""
    team = await uow.execute(
        "INSERT INTO adviser_profiles (user_id, capacity, languages) "
        "VALUES (:id, :capacity, CAST(:languages AS jsonb)) RETURNING team",
        {"id": user_id, "capacity": capacity, "languages": json.dumps(list(languages))},
    )
    uow.emit(CapacityFreed(team.scalar_one()))
