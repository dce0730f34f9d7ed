"""Who may call what: the account's credentials for the provider's API, and pages of this machine only for the
rest.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler

from app.simulator.refusals import not_authenticated
from app.simulator.settings import LOOPBACK
from app.simulator.simulator import Simulator

Connection = ASGIConnection[Any, Any, Any, Any]
_SAFE = frozenset({"GET", "HEAD"})


async def account_only(connection: Connection, _: BaseRouteHandler) -> None:
    """Let only the account of this simulator in. Raises Refusal 20003."""
    simulator: Simulator = connection.app.state.simulator
    settings = simulator.settings
    given = _basic(connection.headers.get("authorization", ""))
    wanted = f"{settings.account_sid}:{settings.auth_token}"
    named = connection.path_params.get("account_sid", settings.account_sid)
    if not hmac.compare_digest(given.encode(), wanted.encode()) or named != settings.account_sid:
        raise not_authenticated()


async def this_machine_only(connection: Connection, _: BaseRouteHandler) -> None:
    """Refuse foreign pages: the Host must be this machine, and a change must come from a page of the
    simulator or from no page.

    Raises PermissionDeniedException.
    """
    host = connection.headers.get("host", "")
    if urlsplit(f"//{host}").hostname not in LOOPBACK:
        raise PermissionDeniedException("The simulator answers on this machine only.")
    if connection.scope.get("method") not in _SAFE and not _is_same_origin(connection, host=host):
        raise PermissionDeniedException("This must be sent from the simulator's own pages.")


def _basic(header: str) -> str:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _is_same_origin(connection: Connection, *, host: str) -> bool:
    site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
    if site is not None:
        return site in {"same-origin", "none"}
    return origin is None or urlsplit(origin).netloc == host
