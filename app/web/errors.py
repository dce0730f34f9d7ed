"""Every failure in the form that the asker can use: a page, a short notice for htmx, JSON for machines."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import structlog
from litestar import Request, Response
from litestar.enums import MediaType
from litestar.exceptions import HTTPException
from litestar.response import Redirect
from markupsafe import escape

from app.db.unstorable import is_unstorable
from app.kernel.errors import WarmlineError
from app.kernel.origins import own_path
from app.web.correlation import correlation_id
from app.web.csrf import Forged
from app.web.pages import Pages
from app.web.viewer import SignInNeeded

log = structlog.get_logger(__name__)

JSON_PATHS = ("/webhooks", "/healthz", "/api")
OWN_PAGES = frozenset({403, 404, 409})
OWN_TOASTS = frozenset({401, 403, 404, 429})
"""Statuses that the page itself has words for (static/js/toasts.js)."""
UNEXPECTED = "Something went wrong on our side. Nothing is lost that was saved; try again in a moment."
_WORDS = {
    400: "That could not be understood. Go back and try again.",
    404: "There is nothing at this address.",
    405: "That cannot be done here.",
    413: "That is too large.",
    415: "That kind of content cannot be used here.",
    429: "Too many requests at once. Wait a moment and try again.",
}

AnyRequest = Request[Any, Any, Any]
Handler = Callable[[AnyRequest, Exception], Response[Any]]
PagesFor = Callable[[AnyRequest], Pages]


def exception_handlers(pages_for: PagesFor) -> dict[int | type[Exception], Any]:
    """Return the handlers of the application's outermost layer."""

    def refuse(request: AnyRequest, error: Exception) -> Response[Any]:
        assert isinstance(error, WarmlineError)
        if isinstance(error, SignInNeeded) and _wants_page(request):
            return _to_sign_in(request)
        return _answer(
            request, pages_for, status=error.status, code=error.code, message=error.message, error=error
        )

    def refuse_http(request: AnyRequest, error: Exception) -> Response[Any]:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status >= 500:
            return fail(request, error)
        message = _WORDS.get(status, _WORDS[400])
        return _answer(request, pages_for, status=status, code="http_error", message=message, error=error)

    def fail(request: AnyRequest, error: Exception) -> Response[Any]:
        if is_unstorable(error) and not request.scope["path"].startswith(JSON_PATHS):
            message = _WORDS[400]
            return _answer(request, pages_for, status=400, code="unstorable", message=message, error=error)
        log.error("request.failed", error=type(error).__name__, where=_where(error))
        return _answer(request, pages_for, status=500, code="unexpected", message=UNEXPECTED, error=error)

    return {WarmlineError: refuse, HTTPException: refuse_http, Exception: fail}


def _answer(
    request: AnyRequest, pages_for: PagesFor, *, status: int, code: str, message: str, error: Exception
) -> Response[Any]:
    headers = _headers(error)
    if request.scope["path"].startswith(JSON_PATHS):
        body = {"error": code, "message": message, "reference": correlation_id()}
        return Response(body, status_code=status, headers=headers, media_type=MediaType.JSON)
    if "hx-request" in request.headers:
        return _notice(status=status, message=message, headers=headers)
    answer = pages_for(request).plain(
        f"errors/{_page_of(status, code)}.html",
        status=status,
        message="" if status >= 500 else message,
        reference=correlation_id() if status >= 500 else "",
    )
    answer.headers.update(headers)
    return answer


def _page_of(status: int, code: str) -> int:
    if status >= 500:
        return 500
    return status if status in OWN_PAGES and code != Forged.code else 400


def _notice(*, status: int, message: str, headers: Mapping[str, str]) -> Response[str]:
    """Return a short notice: what stands on the page stays, the words appear as a toast."""
    own = {"HX-Reswap": "none", **headers}
    if status not in OWN_TOASTS and status < 500:
        own["HX-Trigger"] = json.dumps({"toast": {"text": message}})
    body = f'<p role="alert">{escape(message)}</p>'
    return Response(body, status_code=status, headers=own, media_type=MediaType.HTML)


def _headers(error: Exception) -> dict[str, str]:
    seconds = error.facts.get("retry_after_seconds") if isinstance(error, WarmlineError) else None
    allowed = getattr(error, "headers", None)
    headers = {str(name): str(value) for name, value in allowed.items()} if isinstance(allowed, dict) else {}
    return {**headers, "Retry-After": str(seconds)} if seconds is not None else headers


def _wants_page(request: AnyRequest) -> bool:
    return "hx-request" not in request.headers and not request.scope["path"].startswith(JSON_PATHS)


def _to_sign_in(request: AnyRequest) -> Redirect:
    """Lead to the sign-in form, and back here afterwards where that is a page."""
    query = request.scope["query_string"].decode("latin-1")
    path = request.scope["path"] + (f"?{query}" if query else "")
    goes_back = request.method == "GET" and path != "/" and own_path(path)
    return Redirect("/sign-in" + (f"?next={quote(path, safe='')}" if goes_back else ""), status_code=303)


def _where(error: BaseException) -> list[str]:
    """Return the places it passed through, without values: messages of errors may quote what people wrote."""
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
