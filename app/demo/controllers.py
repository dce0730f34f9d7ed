"""The demo clock on screen: business time for everybody in this demo, moved by anybody who is signed in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import msgspec
from litestar import Controller, Response, get, post
from litestar.connection import Request
from litestar.di import NamedDependency
from litestar.params import SkipValidation, URLEncodedBody
from litestar.response import Redirect

from app.clock import Clock, DemoClock
from app.db.demo_clock import move_demo_clock, read_reading
from app.db.session import Database
from app.kernel.hints import HintPort
from app.realtime.push import Pusher
from app.web.pages import Pages
from app.web.shell import ShellMaker

STEPS = {"PT1H": timedelta(hours=1), "P1D": timedelta(days=1)}
TEMPLATE = "demo/clock.html"

AnyRequest = Request[Any, Any, Any]


class ClockForm(msgspec.Struct, frozen=True):
    """One of the clock's buttons: a step forward, or a speed."""

    advance: Literal["PT1H", "P1D"] | None = None
    rate: Literal["1", "60", "3600"] | None = None


class DemoClockController(Controller):
    """Registered in the demo only."""

    path = "/demo/clock"

    @get()
    async def show(self, pages: NamedDependency[Pages], shells: NamedDependency[ShellMaker]) -> Response[str]:
        """Return the clock's panel."""
        return pages.fragment(TEMPLATE, demo=shells.demo_time())

    @post()
    async def move(
        self,
        request: AnyRequest,
        data: URLEncodedBody[ClockForm],
        database: NamedDependency[Database],
        clock: NamedDependency[SkipValidation[Clock]],
        pusher: NamedDependency[Pusher],
        hints: NamedDependency[SkipValidation[HintPort]],
        pages: NamedDependency[Pages],
        shells: NamedDependency[ShellMaker],
    ) -> Response[Any]:
        """Move the clock forward or set its speed; workers look at once for what has become due."""
        async with database.transaction() as uow:
            await move_demo_clock(
                uow,
                by=STEPS[data.advance] if data.advance else timedelta(0),
                rate=float(data.rate) if data.rate else None,
            )
            reading = await read_reading(uow)
            pusher.later(uow, "clock")
            uow.after_commit("hint:plan", lambda: hints.hint("plan"))
            uow.after_commit("hint:sweep", lambda: hints.hint("sweep"))
        if reading is not None and isinstance(clock, DemoClock):
            clock.reading = reading
        if "hx-request" in request.headers:
            return pages.fragment(TEMPLATE, demo=shells.demo_time())
        return Redirect("/", status_code=303)
