"""The simulator as an ASGI application: every wire visible."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, Request, Response, get
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.response import Redirect

from app.kernel.errors import NotFound
from app.simulator.controllers.control import control_router
from app.simulator.controllers.messages import messages_router
from app.simulator.controllers.phone import PhonePages, phone_router
from app.simulator.refusals import Refusal
from app.simulator.settings import SimulatorSettings
from app.simulator.simulator import Simulator
from app.web.static_files import static_handler


@get("/healthz", media_type="application/json")
async def health(simulator: NamedDependency[Simulator]) -> dict[str, object]:
    """Tell that the simulator answers, and how much is under way."""
    return {
        "status": "ok",
        "messages": len(simulator.records.messages),
        "pending": simulator.delivery.pending,
    }


@get("/")
async def home() -> Redirect:
    """Lead people to the phones."""
    return Redirect("/phone")


def create_simulator(settings: SimulatorSettings) -> Litestar:
    """Return the application. Its store opens now; webhooks and what was under way start with the
    application.
    """
    simulator = Simulator(settings)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await simulator.start()
        try:
            yield
        finally:
            await simulator.stop()

    def provide_simulator() -> Simulator:
        return simulator

    pages = PhonePages.of(settings.root)

    def provide_pages() -> PhonePages:
        return pages

    return Litestar(
        route_handlers=[
            home,
            health,
            messages_router,
            control_router,
            phone_router,
            static_handler(settings.root / "static"),
        ],
        dependencies={
            "simulator": Provide(provide_simulator, sync_to_thread=False),
            "pages": Provide(provide_pages, sync_to_thread=False),
        },
        exception_handlers={Refusal: _show_refusal, NotFound: _show_not_found},
        lifespan=[lifespan],
        state=State({"simulator": simulator}),
        openapi_config=None,
        logging_config=None,
        signature_types=[Simulator, PhonePages],
    )


def _show_refusal(_: Request[Any, Any, State], refusal: Refusal) -> Response[dict[str, object]]:
    headers = {"WWW-Authenticate": 'Basic realm="Twilio API"'} if refusal.status == 401 else {}
    return Response(
        refusal.body(), status_code=refusal.status, headers=headers, media_type="application/json"
    )


def _show_not_found(_: Request[Any, Any, State], error: NotFound) -> Response[str]:
    return Response(error.message, status_code=error.status, media_type="text/plain")
