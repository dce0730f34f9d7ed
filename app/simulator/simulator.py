"""The simulator's parts, wired together: what the controllers are handed."""

from __future__ import annotations

from app.simulator.delivery import Delivery
from app.simulator.faults import FaultBook
from app.simulator.inbound import PhoneLine
from app.simulator.records import Records
from app.simulator.settings import SimulatorSettings
from app.simulator.store import Store
from app.simulator.switchboard import Switchboard
from app.simulator.timekeeping import ProviderTime
from app.simulator.webhooks import WebhookCaller


class Simulator:
    """One provider with its phones."""

    def __init__(self, settings: SimulatorSettings) -> None:
        self.settings = settings
        self.store = Store(settings.database)
        self.records = Records(self.store)
        self.time = ProviderTime()
        self.faults = FaultBook(seed=settings.seed)
        self.webhooks = WebhookCaller(settings)
        self.delivery = Delivery(
            settings=settings,
            records=self.records,
            faults=self.faults,
            time=self.time,
            webhooks=self.webhooks,
        )
        self.switchboard = Switchboard(
            settings=settings,
            records=self.records,
            faults=self.faults,
            time=self.time,
            delivery=self.delivery,
        )
        self.phones = PhoneLine(
            settings=settings,
            records=self.records,
            time=self.time,
            delivery=self.delivery,
            webhooks=self.webhooks,
        )

    async def start(self) -> None:
        """Take up what was under way when the simulator stopped."""
        await self.webhooks.start()
        self.time.follow(self.records.demo_reading)
        for rule in self.records.rules:
            self.faults.add(rule)
        self.delivery.resume()

    async def stop(self) -> None:
        """Stop, with everything in the store."""
        await self.delivery.stop()
        await self.webhooks.stop()
        self.store.close()

    async def reset(self, *, seed: int | None = None) -> None:
        """Forget every message, fault and setting, and start chance over."""
        await self.delivery.stop()
        self.records.reset()
        self.faults.remove()
        self.faults.reseed(self.settings.seed if seed is None else seed)
        self.time.follow(self.records.demo_reading)
