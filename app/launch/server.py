"""What the keeper needs to know of an embedded server."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.launch.place import Place
from app.launch.state import ServerName, ServerState


@dataclass(frozen=True, slots=True)
class Program:
    """How to run one server, and how to end it."""

    command: tuple[str, ...]
    folder: Path
    stop_signal: signal.Signals
    stop_timeout_seconds: float


class EmbeddedServer(Protocol):
    """One kind of server."""

    @property
    def name(self) -> ServerName:
        """Which one it is."""
        ...

    def prepare(self, place: Place, state: ServerState) -> None:
        """Make files that the first start needs, and end what an earlier keeper may have left running."""
        ...

    def program(self, place: Place, state: ServerState) -> Program:
        """Return how to run it on `state.port`."""
        ...

    def is_ready(self, place: Place, state: ServerState, process: subprocess.Popen[bytes]) -> bool:
        """Tell whether this very process takes connections."""
        ...
