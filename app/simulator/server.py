"""The HTTP server that the simulator runs on."""

from __future__ import annotations

import uvicorn

from app.simulator.app import create_simulator
from app.simulator.protocol import HangUpProtocol
from app.simulator.settings import SimulatorSettings


def simulator_server(settings: SimulatorSettings) -> uvicorn.Server:
    """Return a server for 127.0.0.1 and the port of the settings; call its `serve()`."""
    config = uvicorn.Config(
        create_simulator(settings),
        host="127.0.0.1",
        port=settings.port,
        http=HangUpProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
