"""Commands that the transition table refused leave a line in the audit log: who wanted what, of what, and why not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from litestar.types import Scope
from sqlalchemy.exc import SQLAlchemyError

from app.accounts.operations import record_audit
from app.db.session import Database
from app.kernel.errors import CommandRefused
from app.web.viewer import Viewer

log = structlog.get_logger(__name__)

AfterException = Callable[[Exception, Scope], Awaitable[None]]


def refusals_noted(database: Database) -> AfterException:
    """Return what is called after every exception of a request; it writes in a transaction of its own.

    The request's own transaction was rolled back with the refusal. A line that cannot be written is said in the log:
    the answer to the person stays the refusal.
    """

    async def note(error: Exception, scope: Scope) -> None:
        if not isinstance(error, CommandRefused):
            return
        kind, subject = _subject_of(scope)
        viewer: Viewer | None = scope.get("user")
        try:
            async with database.transaction() as uow:
                await record_audit(
                    uow,
                    user_id=viewer.user_id if viewer is not None else None,
                    action=_action_of(scope),
                    subject_kind=kind,
                    subject_id=subject,
                    refused=True,
                    why=error.message,
                )
        except (OSError, SQLAlchemyError) as failure:
            log.error("audit.lost", action=_action_of(scope), error=type(failure).__name__)

    return note


def _action_of(scope: Scope) -> str:
    """Return the command by the name of its handler: `pause`, `close`, `log_outcome`."""
    handler: Any = scope.get("route_handler")
    return str(handler.handler_name) if handler is not None else "unknown"


def _subject_of(scope: Scope) -> tuple[str | None, str | None]:
    """Return what the command was about, by the address: `enrolment_id` 12 is the enrolment 12."""
    for name, value in scope.get("path_params", {}).items():
        return name.removesuffix("_id"), str(value)
    return None, None
