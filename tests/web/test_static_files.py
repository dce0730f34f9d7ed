"""Files of the front end are kept for a year under their hash, checked otherwise, and nothing else is served."""

from __future__ import annotations

import hashlib

import pytest

from app.config import PROJECT_ROOT
from tests.fixtures.site import Site

FILE = "/static/img/mark.svg"


async def test_a_hashed_address_is_kept_for_a_year(site: Site) -> None:
    digest = hashlib.sha256((PROJECT_ROOT / "static/img/mark.svg").read_bytes()).hexdigest()[:12]
    hashed = await site.browser().get(f"{FILE}?v={digest}")
    assert hashed.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert hashed.headers["content-type"] == "image/svg+xml; charset=utf-8"
    other = await site.browser().get(f"{FILE}?v=000000000000")
    assert other.headers["cache-control"] == "no-cache"
    again = await site.browser().get(FILE, If_None_Match=other.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/img",
        "/static/img/",
        "/static/css/app.css",
        "/static/../app/config.py",
        "/static/%2e%2e/app/config.py",
        "/static/..%2f..%2fetc/passwd",
        "/static//etc/passwd",
        "/static/img/%00",
        "/static/vendor/manifest.json",
        "/static/" + "x" * 300,
    ],
)
async def test_folders_sources_and_everything_outside_are_not_served(site: Site, path: str) -> None:
    assert (await site.browser().get(path)).status_code in {400, 404}
