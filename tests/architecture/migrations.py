"""The migrations build exactly the tables that the models describe.

Run by `make check`, on a fresh embedded database: python -m tests.architecture.migrations
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.util.exc import CommandError

from app.config import LaunchSettings
from app.launch.attach import servers
from app.launch.database import alembic_config, migrate


def main() -> int:
    """Print whether they agree, or where they do not; the exit code says so too."""
    with tempfile.TemporaryDirectory() as folder:
        launch = LaunchSettings.from_env({"WARMLINE_HOME": str(Path(folder, "home"))})
        with servers(launch, say=lambda _: None, throwaway=True) as addresses:
            return _compare(addresses.database_url)


def _compare(database_url: str) -> int:
    migrate(database_url)
    try:
        command.check(alembic_config(database_url))
    except CommandError as error:  # a difference is one kind of it
        print(f"The models and the migrations differ: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
