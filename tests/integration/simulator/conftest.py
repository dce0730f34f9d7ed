"""A simulator, the real Twilio client pointed at it, and a business that takes its webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from twilio.rest import Client

from app.config import DEMO_AUTH_TOKEN
from tests.fixtures.simulator import SimulatorClient, running_simulator
from tests.integration.simulator.business import WELCOME, Business, SimulatedTwilio


@pytest.fixture(scope="session")
async def _business() -> AsyncIterator[Business]:
    taker = Business(url="", token=DEMO_AUTH_TOKEN, public_url="")
    application = web.Application()
    application.router.add_post("/{path:.*}", taker.take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    taker.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield taker
    await runner.cleanup()


@pytest.fixture
def business(_business: Business) -> Business:
    _business.public_url = _business.url
    _business.answers = lambda _: 200
    _business.hooks.clear()
    return _business


@pytest.fixture(scope="session")
async def _simulator(
    tmp_path_factory: pytest.TempPathFactory, _business: Business
) -> AsyncIterator[SimulatorClient]:
    folder = tmp_path_factory.mktemp("simulator")
    async with running_simulator(folder, webhook_base=_business.url, auth_token=_business.token) as client:
        yield client


@pytest.fixture
async def simulator(_simulator: SimulatorClient, business: Business) -> SimulatorClient:
    """A simulator that knows one template, delivers at once, and sends its webhooks to `business`."""
    await _simulator.reset()
    business.hooks.clear()
    await _simulator.behave(sent_after_ms=1, delivered_after_ms=1)
    await _simulator.add_contents([WELCOME])
    return _simulator


@pytest.fixture
async def twilio(simulator: SimulatorClient) -> AsyncIterator[Client]:
    """Twilio's own client, pointed at the simulator."""
    http = SimulatedTwilio(simulator.base_url)
    yield Client(simulator.settings.account_sid, simulator.settings.auth_token, http_client=http)
    await http.close()
