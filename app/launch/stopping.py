"""Being told to stop: signals turned into something that a loop can wait for."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Whether somebody asked us to stop. Safe to set from a signal handler and from another thread."""

    def __init__(self) -> None:
        self.asked = False
        self._breaks_off = False
        self._read_end, self._write_end = os.pipe()

    def ask(self) -> None:
        """Ask to stop; wakes a `wait`."""
        self.asked = True
        os.write(self._write_end, b".")

    def wait(self, seconds: float) -> bool:
        """Wait until somebody asks, at most so long. Tells whether somebody did."""
        if not self.asked:
            select.select([self._read_end], [], [], seconds)
        return self.asked

    def listen(self, *, break_off: bool) -> None:
        """Take the signals from now on, also where a shell started us with SIGINT ignored.

        With `break_off` the first one raises KeyboardInterrupt in whatever the main thread does; later ones
        only find that it was asked already, so that the stop itself is not broken off.
        """
        self._breaks_off = break_off
        for number in STOP_SIGNALS:
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        was_asked = self.asked
        self.ask()
        if self._breaks_off and not was_asked:
            raise KeyboardInterrupt
