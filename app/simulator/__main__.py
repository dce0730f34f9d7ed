"""Run the simulator: `python -m app.simulator`."""

from __future__ import annotations

from app.simulator.server import simulator_server
from app.simulator.settings import SimulatorSettings


def main() -> None:
    """Serve until a signal ends it."""
    simulator_server(SimulatorSettings.from_env()).run()


if __name__ == "__main__":
    main()
