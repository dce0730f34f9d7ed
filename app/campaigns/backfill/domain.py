"""Which rest a past end should have had. Pure."""

from __future__ import annotations

from typing import Final

_NO_REST: Final = frozenset({"merged", "no_usable_channel"})
"""Ends that nobody asked for: the survivor's journey goes on, or there is no channel to be left alone on."""


def rest_reason(*, stage: str, exit_reason: str | None) -> str | None:
    """Return the reason of the cool-down that follows an end, None where none does."""
    match stage:
        case "exhausted":
            return "breakup"
        case "opted_out":
            return "opted_out"
        case "closed" if exit_reason in ("won", "lost", "not_now"):
            return exit_reason
        case "closed" if exit_reason == "path_ended":
            return "completed"
        case "exited" if exit_reason in _NO_REST:
            return None
        case "exited" if exit_reason == "complained":
            return "opted_out"
        case _:
            return "manual"
