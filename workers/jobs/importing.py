"""The import lane: take the next import that waits, or whose worker died, to its end."""

from __future__ import annotations

from app.campaigns.imports.work import carry_on_imports
from app.contacts.imports.operations.people import RunSettings
from workers.context import Context
from workers.lane import Lane

IDLE_SECONDS = 1.0


def make_import_lane(context: Context) -> Lane:
    """Return the import lane. It is a lane of its own: a long file must keep no sweep waiting."""
    settings = RunSettings(context.settings.default_country)

    async def work() -> bool:
        run_id = await carry_on_imports(
            context.database, clock=context.clock, settings=settings, pushes=context.pusher
        )
        return run_id is not None

    async def idle() -> float:
        return IDLE_SECONDS

    return Lane("import", work=work, idle=idle)
