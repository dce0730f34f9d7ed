"""Handlers that fail in every way a handler can, for the tests of guards and error answers."""

from __future__ import annotations

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.kernel.errors import CommandRefused, Conflict, Forbidden, Invalid, NotFound
from app.kernel.roles import Role
from app.web.guards import SIGNED_ELSEWHERE, requires
from app.web.viewer import Viewer

SECRET_WORDS = "call me at +60 12-345 6789"

ERRORS = {
    "not-found": NotFound("There is no such lead."),
    "forbidden": Forbidden("This lead belongs to somebody else."),
    "conflict": Conflict("Aina answered a moment ago."),
    "refused": CommandRefused("This lead has opted out."),
    "invalid": Invalid("Write something first.", field="text"),
}


@get("/probe/fails/{kind:str}")
async def fails(kind: FromPath[str]) -> str:
    raise ERRORS[kind]


@get("/probe/breaks")
async def breaks() -> str:
    raise RuntimeError(SECRET_WORDS)


@post("/probe/changes", status_code=200)
async def changes(viewer: NamedDependency[Viewer]) -> str:
    return viewer.name


@get("/probe/for-managers", guards=[requires(Role.MANAGER)])
async def for_managers(viewer: NamedDependency[Viewer]) -> str:
    return viewer.role


@post("/webhooks/probe", opt=SIGNED_ELSEWHERE, status_code=200)
async def webhook() -> str:
    return "ok"


@post("/webhooks/probe/breaks", opt=SIGNED_ELSEWHERE)
async def webhook_breaks() -> str:
    raise RuntimeError(SECRET_WORDS)


PROBES = [fails, breaks, changes, for_managers, webhook, webhook_breaks]
