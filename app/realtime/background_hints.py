"""Hints that nobody waits for: a request is answered at once, also while Redis hangs."""

from __future__ import annotations

from app.kernel.hints import HintPort, Lane
from app.kernel.soon import Soon


class BackgroundHints:
    """Leaves hints through another port, in the background; workers find the work of a lost one by themselves."""

    def __init__(self, port: HintPort, soon: Soon) -> None:
        self._port = port
        self._soon = soon

    async def hint(self, lane: Lane) -> None:
        """Return at once; the hint goes out soon, or is said to be lost in the log."""
        self._soon.run(f"hint:{lane}", lambda: self._port.hint(lane))
