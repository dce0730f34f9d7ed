"""`python -m workers --roles plan,send,sweep`"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import get_args

from app.config import ConfigError, Settings
from app.kernel.hints import Lane as LaneName
from app.logs import configure_logs
from workers.run import run_worker, stop_on_signals

ROLES: tuple[LaneName, ...] = get_args(LaneName)


def main() -> int:
    """Run one worker until it is told to stop; 2 for arguments or settings that cannot be run with."""
    parser = argparse.ArgumentParser(prog="python -m workers")
    parser.add_argument("--roles", default=",".join(ROLES), help="a list of plan, send, sweep")
    roles = [role.strip() for role in parser.parse_args().roles.split(",") if role.strip()]
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        print(f"Roles are {', '.join(ROLES)}; not {', '.join(unknown) or 'nothing'}.", file=sys.stderr)
        return 2
    try:
        settings = Settings.load()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    configure_logs()
    asyncio.run(_run(settings, [role for role in ROLES if role in roles]))
    return 0


async def _run(settings: Settings, roles: list[LaneName]) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    await run_worker(settings, roles, stop)


if __name__ == "__main__":
    sys.exit(main())
