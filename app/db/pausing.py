"""Places at which the fault explorer decides who goes on. Outside of it they do nothing and cost nothing."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection


class Pause(Protocol):
    """Called at a named place, with the connection of the transaction that stands there; returns when it may go on."""

    async def __call__(self, place: str, connection: AsyncConnection | None) -> None: ...


PAUSE: ContextVar[Pause | None] = ContextVar("warmline_pause", default=None)
"""Set by the explorer in the context of each task that it leads."""


async def pause(place: str, connection: AsyncConnection | None = None) -> None:
    """Stand at a named place until the explorer, if there is one, lets this task go on."""
    ask = PAUSE.get()
    if ask is not None:
        await ask(place, connection)
