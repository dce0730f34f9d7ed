"""Crash points at commit boundaries and around provider calls. Nothing happens unless `arm` was called."""

from __future__ import annotations

from collections.abc import Callable

_ARMED: dict[str, Callable[[], None]] = {}


def reach(name: str) -> None:
    """Pass a named point; runs what is armed there, if anything."""
    if _ARMED and name in _ARMED:
        _ARMED[name]()


def arm(name: str, action: Callable[[], None]) -> None:
    """Run `action` whenever the point is passed; it may raise or kill the process."""
    _ARMED[name] = action


def disarm() -> None:
    """Switch every point off."""
    _ARMED.clear()
