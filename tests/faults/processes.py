"""One process of the stage: started, killed without warning, started again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.config import PROJECT_ROOT
from app.launch.processes import start, stop


class Player:
    """A process that is restarted by the same command. It ends with us, however we end."""

    def __init__(
        self, name: str, *, module: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = (sys.executable, "-P", "-m", *module)
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self.kills = 0

    @property
    def pid(self) -> int:
        """Return the process id. It has to run."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Tell whether it runs at this moment."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it; its output is added to its log."""
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = start(
                self._command,
                environment=self._environment,
                folder=PROJECT_ROOT,
                log=log,
                orphan_signal=signal.SIGKILL,
            )
        finally:
            os.close(log)

    def kill(self) -> None:
        """`kill -9`, and wait until it is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)
        self.kills += 1

    async def ended(self, *, within: float) -> int:
        """Wait for its own end and return its exit code. Raises TimeoutError."""
        assert self._process is not None
        end = time.monotonic() + within
        while (code := self._process.poll()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} still runs after {within:g} s")
            await asyncio.sleep(0.05)
        return code

    def stop(self) -> None:
        """Ask it to end, and see to it that it did."""
        if self._process is not None:
            stop(self._process, by=signal.SIGTERM, timeout_seconds=8.0)

    def last_words(self, *, lines: int = 15) -> str:
        """Return the end of its log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])
