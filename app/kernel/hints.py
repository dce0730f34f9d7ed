"""The enqueue port: a hint says "look there". Never the truth, always safe to lose or to repeat."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

Lane = Literal["plan", "send", "sweep"]


@runtime_checkable
class HintPort(Protocol):
    """Where operations and controllers leave hints after their commit."""

    async def hint(self, lane: Lane) -> None:
        """Ask a worker to look at a lane soon. May raise when the queue is away; nothing is lost by that."""
        ...


class NullHints:
    """Leaves no hints: workers find the work by themselves on their next look."""

    async def hint(self, lane: Lane) -> None:
        """Do nothing."""
