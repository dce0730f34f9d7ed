"""Runs the processes of `warmline up`: starts them, says when one ends, restarts it, stops them in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.config import PROJECT_ROOT
from app.launch.errors import LaunchError, tail
from app.launch.home import Home
from app.launch.processes import command_line, kill_group, start, stop, stop_foreign

_RESTARTS_PER_MINUTE = 5
_LONGEST_PAUSE_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Part:
    """A process of Warmline. `name` is also that of its log."""

    name: str
    command: tuple[str, ...]
    stop_timeout_seconds: float = 10.0


@dataclass(slots=True)
class _Child:
    part: Part
    process: subprocess.Popen[bytes]
    ended_at: deque[float] = field(default_factory=lambda: deque(maxlen=_RESTARTS_PER_MINUTE))
    again_at: float | None = None


class Supervisor:
    """The running parts. Call it from the main thread: on Linux its end is the end of the parts."""

    def __init__(self, home: Home, *, environment: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._home = home
        self._environment = environment
        self._say = say
        self._children: list[_Child] = []

    def start(self, parts: Sequence[Part]) -> None:
        """Start the parts in order."""
        for part in parts:
            self._children.append(_Child(part=part, process=self._spawn(part)))
            self._note()

    def look(self) -> None:
        """Say which parts ended since the last look and start those again whose pause is over.

        The pause doubles with each end within a minute. Raises `LaunchError` at the sixth.
        """
        now = time.monotonic()
        for child in self._children:
            if child.again_at is None and child.process.poll() is not None:
                child.again_at = now + self._pause_after_end(child, now)
            elif child.again_at is not None and now >= child.again_at:
                child.process, child.again_at = self._spawn(child.part), None
                self._note()

    def ended(self) -> str | None:
        """Return the name of a part that does not run at this moment, with the end of its log."""
        for child in self._children:
            if child.process.poll() is not None:
                return self._last_words(child)
        return None

    def stop(self) -> None:
        """Stop the parts, the last one first; each gets its time to finish what it does."""
        while self._children:
            child = self._children.pop()
            if not stop(child.process, by=signal.SIGTERM, timeout_seconds=child.part.stop_timeout_seconds):
                self._say(f"{child.part.name} did not end in time and was killed")
        self._note()

    def kill(self) -> None:
        """End everything at once."""
        for child in self._children:
            kill_group(child.process.pid)

    def _pause_after_end(self, child: _Child, now: float) -> float:
        within_a_minute = sum(1 for moment in child.ended_at if now - moment < 60)
        child.ended_at.append(now)
        kill_group(child.process.pid)  # what it may have left behind
        if within_a_minute == _RESTARTS_PER_MINUTE:
            raise LaunchError(f"{self._last_words(child)}\nIt ended too often; giving up.")
        pause = min(_LONGEST_PAUSE_SECONDS, 0.5 * 2.0**within_a_minute)
        self._say(f"{self._last_words(child)}\nStarting it again in {pause:g} s")
        return pause

    def _last_words(self, child: _Child) -> str:
        log = self._home.log(child.part.name)
        return (
            f"{child.part.name} ended ({_ending(child.process.returncode)}). The end of {log}:\n{tail(log)}"
        )

    def _spawn(self, part: Part) -> subprocess.Popen[bytes]:
        log = self._home.open_log(part.name)
        try:
            return start(
                part.command,
                environment=self._environment,
                folder=PROJECT_ROOT,
                log=log,
                orphan_signal=signal.SIGTERM,
            )
        finally:
            os.close(log)

    def _note(self) -> None:
        running = {child.process.pid: list(child.part.command) for child in self._children}
        draft = self._home.processes_file.with_suffix(".new")
        draft.write_text(json.dumps(running), encoding="utf-8")
        draft.replace(self._home.processes_file)


def stop_leftovers(home: Home) -> None:
    """End the parts of an earlier `up` that was killed and could not do it itself."""
    try:
        noted = json.loads(home.processes_file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return
    for pid, command in reversed(noted.items()):
        # The interpreter may show under another path; what it runs tells the process.
        if command_line(int(pid)).endswith(" ".join(command[1:])):
            stop_foreign(int(pid), by=signal.SIGTERM, timeout_seconds=10.0)
    home.processes_file.unlink(missing_ok=True)


def _ending(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        return signal.Signals(-returncode).name
    return f"exit code {returncode}"
