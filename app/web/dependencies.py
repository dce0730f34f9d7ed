"""What a handler may ask for by name and type; the composition root hands the parts in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from jinja2 import Environment
from litestar.connection import Request
from litestar.di import Provide

from app.clock import Clock
from app.config import Settings
from app.db.session import Database
from app.kernel.hints import HintPort
from app.kernel.soon import Soon
from app.realtime.push import Pusher
from app.realtime.server import Realtime
from app.web.cookies import CookieRules
from app.web.pages import Pages
from app.web.shell import ShellMaker
from app.web.viewer import Viewer, viewer_of, viewer_or_none

AnyRequest = Request[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Wires:
    """The parts of the application. Each field is a dependency of the same name.

    So are `viewer` (the signed-in person; raises `SignInNeeded`), `now` (business time) and `pages`
    (renders for this request).
    """

    settings: Settings
    database: Database
    clock: Clock
    pusher: Pusher
    realtime: Realtime
    hints: HintPort
    soon: Soon
    passwords: Any
    cookie_rules: CookieRules
    shells: ShellMaker
    environment: Environment

    def dependencies(self) -> dict[str, Provide]:
        """Return the dependencies for the application's outermost layer."""
        parts = {part.name: _always(getattr(self, part.name)) for part in fields(self)}
        return {
            **parts,
            "viewer": Provide(_viewer, sync_to_thread=False),
            "now": Provide(self._now, sync_to_thread=False),
            "pages": Provide(self._pages, sync_to_thread=False),
        }

    def pages_for(self, request: AnyRequest) -> Pages:
        """Return what renders answers to this request."""
        return Pages(
            environment=self.environment,
            shells=self.shells,
            now=self.clock.now(),
            time_zone=self.settings.default_time_zone,
            connection=request,
            viewer=viewer_or_none(request),
        )

    def _pages(self, request: AnyRequest) -> Any:
        return self.pages_for(request)

    def _now(self) -> datetime:
        return self.clock.now()


def _viewer(request: AnyRequest) -> Viewer:
    return viewer_of(request)


def _always(part: Any) -> Provide:
    def give() -> Any:
        return part

    handed: Callable[[], Any] = give
    return Provide(handed, sync_to_thread=False)
