"""Forgery: tokens bound to a session (or to one sign-in form), and where a changing request may come from."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from litestar.connection import Request
from litestar.enums import RequestEncodingType

from app.kernel.errors import Forbidden
from app.kernel.origins import is_own_origin

HEADER = "X-CSRF-Token"
FIELD = "csrf_token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

AnyRequest = Request[Any, Any, Any]


class Forged(Forbidden):
    """The request does not prove that it began on one of our pages."""

    code = "forged"

    def __init__(self) -> None:
        super().__init__("This form is no longer valid. Reload the page and try again.")


def session_token(*, csrf_secret: str, session_hash: str) -> str:
    """Return the token of one session's forms."""
    return _sign(csrf_secret, f"session:{session_hash}")


def new_form_secret() -> str:
    """Return the secret for the cookie of a form shown to somebody who is not signed in."""
    return secrets.token_urlsafe(32)


def form_token(*, secret_key: str, form_secret: str) -> str:
    """Return the token of a form shown before a session exists, bound to its cookie."""
    return _sign(secret_key, f"form:{form_secret}")


def check_source(request: AnyRequest, *, public_base_url: str) -> None:
    """Refuse a request that a browser says began elsewhere. Raises `Forged`.

    Browsers send at least one of the two headers with every form and fetch; a client that sends neither is
    no browser and carries nobody's cookies against their will, so the token alone decides there.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        raise Forged
    origin = request.headers.get("origin")
    if origin is not None and not is_own_origin(
        origin, public_base_url=public_base_url, host=request.headers.get("host")
    ):
        raise Forged


async def check_token(request: AnyRequest, *, expected: str) -> None:
    """Refuse a request without the right token in its header or its form. Raises `Forged`."""
    given = request.headers.get(HEADER)
    if given is None and request.content_type[0] in {
        RequestEncodingType.URL_ENCODED,
        RequestEncodingType.MULTI_PART,
    }:
        field = (await request.form()).get(FIELD)
        given = field if isinstance(field, str) else None
    if given is None or not hmac.compare_digest(given.encode(), expected.encode()):
        raise Forged


def _sign(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
