"""Answers in HTML: a whole page, a fragment, or a page without the app around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from jinja2 import Environment
from litestar import Response
from litestar.enums import MediaType

from app.web.rendering import page_context
from app.web.shell import ShellMaker
from app.web.viewer import Connection, Viewer
from app.web.views import Shell

THEME_COOKIE = "theme"
KEYS_COOKIE = "keys"


class Pages:
    """Renders for one request: the reader's zone, look and token are known to every template."""

    def __init__(
        self,
        *,
        environment: Environment,
        shells: ShellMaker,
        now: datetime,
        time_zone: str,
        connection: Connection,
        viewer: Viewer | None,
    ) -> None:
        self._environment = environment
        self._shells = shells
        self._now = now
        self._time_zone = time_zone
        self._cookies = connection.cookies
        self._viewer = viewer

    async def page(
        self, template: str, *, current: str, topics: Sequence[str] = (), status: int = 200, **values: object
    ) -> Response[str]:
        """Return a signed-in page, or a part of one that reads the shell. `current` is its place in the
        navigation, `topics` what it watches besides.
        """
        return self._answer(template, shell=await self.shell(current, topics), status=status, values=values)

    def fragment(self, template: str, *, status: int = 200, **values: object) -> Response[str]:
        """Return a part of a page; `shell` is None in it."""
        return self._answer(template, shell=None, status=status, values=values)

    def plain(
        self, template: str, *, status: int = 200, csrf_token: str = "", **values: object
    ) -> Response[str]:
        """Return a page without the app around it, for people who are not signed in."""
        return self._answer(template, shell=None, status=status, values=values, csrf_token=csrf_token)

    async def shell(self, current: str, topics: Sequence[str] = ()) -> Shell:
        """Return what stands around a page of the signed-in person."""
        assert self._viewer is not None, "only signed-in pages have a shell"
        has_keys = self._cookies.get(KEYS_COOKIE) != "off"
        return await self._shells.shell(self._viewer, current=current, topics=topics, has_keys=has_keys)

    def _answer(
        self,
        template: str,
        *,
        shell: Shell | None,
        status: int,
        values: Mapping[str, object],
        csrf_token: str = "",
    ) -> Response[str]:
        context = page_context(
            now=self._now,
            zone=self._viewer.time_zone if self._viewer else self._time_zone,
            theme=self._cookies.get(THEME_COOKIE),
            csrf_token=self._viewer.csrf_token if self._viewer and not csrf_token else csrf_token,
            shell=shell,
        )
        body = self._environment.get_template(template).render({**context, **values})
        return Response(body, status_code=status, media_type=MediaType.HTML)
