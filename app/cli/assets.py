"""`warmline assets`."""

from __future__ import annotations

import click

from app.assets import build_assets
from app.config import PROJECT_ROOT


@click.command()
@click.option("--watch", is_flag=True, help="Build the style sheet again at every change, until stopped.")
@click.option("--for-tests", is_flag=True, help="Also fetch what only the tests use.")
def assets(watch: bool, for_tests: bool) -> None:
    """Build static/vendor/ from package-lock.json and the templates; nothing if nothing changed."""
    build_assets(project_root=PROJECT_ROOT, watch=watch, for_tests=for_tests)
