"""Who may come in: everything is closed unless it says otherwise.

A handler says otherwise with `opt`: `opt=PUBLIC` (no session needed), `opt=SIGNED_ELSEWHERE` (public, and
its own
signature proves the sender: webhooks), `opt=BEFORE_SESSION` (public, with the token of the sign-in form).
Roles: `guards=[requires(Role.ADVISER, Role.MANAGER)]`; an admin passes every one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from litestar.connection import Request
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from app.kernel.errors import Forbidden
from app.kernel.roles import Role
from app.web import csrf
from app.web.cookies import CookieRules
from app.web.viewer import Connection, FindViewer, SignInNeeded, viewer_of, viewer_or_none

PUBLIC: Final[dict[str, Any]] = {"public": True}
BEFORE_SESSION: Final[dict[str, Any]] = {"public": True, "forgery": "before_session"}
SIGNED_ELSEWHERE: Final[dict[str, Any]] = {"public": True, "forgery": "signed_elsewhere"}


def requires(*roles: Role) -> Callable[[Connection, BaseRouteHandler], None]:
    """Return a guard that lets only people of these roles (and admins) through. Raises `Forbidden`."""

    def guard(connection: Connection, _: BaseRouteHandler) -> None:
        if not viewer_of(connection).is_one_of(*roles):
            raise Forbidden("Your role does not reach this page. Ask a manager if you need it.")

    return guard


class Doorkeeper:
    """The guards that stand before every handler of the application, in this order."""

    def __init__(
        self, *, find_viewer: FindViewer, cookies: CookieRules, secret_key: str, public_base_url: str
    ) -> None:
        self._find_viewer = find_viewer
        self._cookies = cookies
        self._secret_key = secret_key
        self._public_base_url = public_base_url

    def guards(self) -> list[Guard]:
        """Return the guards for the application's outermost layer."""
        return [self._recognise, self._let_in, self._refuse_forgery]

    async def _recognise(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Find out who asks. Webhooks come without a cookie and cost no look-up."""
        secret = connection.cookies.get(self._cookies.session)
        connection.scope["user"] = await self._find_viewer(secret) if secret else None

    async def _let_in(self, connection: Connection, handler: BaseRouteHandler) -> None:
        if not handler.opt.get("public") and viewer_or_none(connection) is None:
            raise SignInNeeded

    async def _refuse_forgery(self, connection: Connection, handler: BaseRouteHandler) -> None:
        rule = handler.opt.get("forgery")
        if not isinstance(connection, Request) or connection.method in csrf.SAFE_METHODS:
            return
        if rule == "signed_elsewhere":
            return
        csrf.check_source(connection, public_base_url=self._public_base_url)
        await csrf.check_token(connection, expected=self._expected_token(connection, rule))

    def _expected_token(self, connection: Connection, rule: object) -> str:
        viewer = viewer_or_none(connection)
        if rule == "before_session":
            form_secret = connection.cookies.get(self._cookies.before_session)
            if not form_secret:
                raise csrf.Forged
            return csrf.form_token(secret_key=self._secret_key, form_secret=form_secret)
        if viewer is None:
            raise csrf.Forged
        return viewer.csrf_token
