"""`python -m app.cli`: what `.venv/bin/warmline` runs."""

from __future__ import annotations

import sys

from app.assets import AssetError
from app.cli import warmline
from app.config import ConfigError
from app.launch.errors import LaunchError


def main() -> None:
    """Run the command; what a person can put right is said in plain words, without a traceback."""
    try:
        warmline(prog_name="warmline")
    except (ConfigError, AssetError) as error:
        sys.exit(_told(str(error), exit_code=1))
    except LaunchError as error:
        sys.exit(_told(str(error), exit_code=error.exit_code))


def _told(text: str, *, exit_code: int) -> int:
    print(text, file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    main()
