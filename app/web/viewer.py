"""The signed-in person behind a request, as every screen sees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from litestar.connection import ASGIConnection

from app.kernel.errors import WarmlineError
from app.kernel.roles import Role

Connection = ASGIConnection[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks. `time_zone` is an IANA name; `session_hash` names the session in the database, not its
    secret.
    """

    user_id: int
    name: str
    role: Role
    time_zone: str
    csrf_token: str
    session_hash: str

    def is_one_of(self, *roles: Role) -> bool:
        """Say whether what is open to `roles` is open to this person."""
        return self.role.is_one_of(*roles)


FindViewer = Callable[[str], Awaitable[Viewer | None]]
"""From the session cookie's secret to the person; None where the session is over or was never one."""


class SignInNeeded(WarmlineError):
    """Nobody is signed in. Pages lead to the sign-in form, everything else answers 401."""

    status = 401
    code = "sign_in_needed"

    def __init__(self) -> None:
        super().__init__("Sign in to go on.")


def viewer_or_none(connection: Connection) -> Viewer | None:
    """Return the person behind a request, or None on public pages."""
    return cast("Viewer | None", connection.scope.get("user"))


def viewer_of(connection: Connection) -> Viewer:
    """Return the person behind a request. Raises `SignInNeeded`."""
    viewer = viewer_or_none(connection)
    if viewer is None:
        raise SignInNeeded
    return viewer
