"""Files of the front end: a year in the browser's cache under their hashed address, checked otherwise."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litestar import Response, get
from litestar.connection import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery

from app.kernel.errors import NotFound
from app.web.guards import PUBLIC
from app.web.rendering import ASSET_CACHE_CONTROL

HASH_LENGTH = 12
_UNSERVED = frozenset({"manifest.json", "stamp.txt"})
_VERSIONED = re.compile(r"-\d+\.\d+\.\d+[-.]")
"""A version in the file's own name (fonts, which the style sheet names without a hash)."""
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
_TEXTS = frozenset({"text/javascript", "text/css", "image/svg+xml"})


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    digest: str
    changed_at: int


class StaticFiles:
    """The files below one folder, read once and again when they change. No listing, nothing outside, no
    dot files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._known: dict[Path, _File] = {}

    def find(self, path: str) -> tuple[Path, _File]:
        """Return a file by its path below the folder. Raises `NotFound`."""
        parts = [part for part in path.split("/") if part]
        target = self._folder.joinpath(*parts).resolve()
        hidden = any(part.startswith(".") for part in parts) or target.name in _UNSERVED
        source = parts[:1] == ["css"]  # the style sheet's source; the build serves the finished one
        if hidden or source or not target.is_relative_to(self._folder) or not target.is_file():
            raise NotFound("There is no such file.")
        changed_at = target.stat().st_mtime_ns
        known = self._known.get(target)
        if known is None or known.changed_at != changed_at:
            body = target.read_bytes()
            known = _File(body, hashlib.sha256(body).hexdigest()[:HASH_LENGTH], changed_at)
            self._known[target] = known
        return target, known


def static_handler(folder: Path) -> HTTPRouteHandler:
    """Return the handler of `/static/…`."""
    files = StaticFiles(folder)

    @get("/static/{path:path}", opt=PUBLIC, include_in_schema=False)
    async def static_file(
        request: Request[Any, Any, Any], path: FromPath[str], v: FromQuery[str] = ""
    ) -> Response[bytes]:
        try:
            target, file = await asyncio.to_thread(files.find, path)
        except (ValueError, OSError):  # a zero byte, a name too long
            raise NotFound("There is no such file.") from None
        etag = f'"{file.digest}"'
        is_named_for_ever = v == file.digest or _VERSIONED.search(target.name) is not None
        headers = {"etag": etag, "cache-control": ASSET_CACHE_CONTROL if is_named_for_ever else "no-cache"}
        if request.headers.get("if-none-match") == etag:
            return Response(b"", status_code=304, headers=headers, media_type=_media_type(target))
        return Response(file.body, headers=headers, media_type=_media_type(target))

    return static_file


def _media_type(path: Path) -> str:
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind in _TEXTS else kind
