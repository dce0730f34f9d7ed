"""Errors that carry what a person needs to hear and the HTTP status a screen answers with."""

from __future__ import annotations


class WarmlineError(Exception):
    """Base of every refusal of ours. `message` is plain words for a person; nothing was changed."""

    status: int = 400
    code: str = "bad_request"

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class NotFound(WarmlineError):
    """The thing does not exist, or this person may not know that it does."""

    status = 404
    code = "not_found"


class Forbidden(WarmlineError):
    """The person is signed in and may not do this."""

    status = 403
    code = "forbidden"


class Conflict(WarmlineError):
    """The world moved on since the person looked; their input is kept by the caller."""

    status = 409
    code = "conflict"


class Invalid(WarmlineError):
    """The input cannot be used as it is; `facts['field']` names the field where known."""

    status = 422
    code = "invalid"


class CommandRefused(Conflict):
    """A command that the transition table does not allow in this state (engine contract: commands may be refused)."""

    code = "command_refused"
