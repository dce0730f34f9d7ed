"""What can go wrong while starting, in words for the person at the terminal."""

from __future__ import annotations

from pathlib import Path


class LaunchError(Exception):
    """Warmline cannot be started; the text says why and what to do. `exit_code` is for the shell."""

    def __init__(self, text: str, *, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def tail(log: Path, *, lines: int = 12) -> str:
    """Return the last lines of a log, indented; empty if there are none."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
