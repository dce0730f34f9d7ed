"""What a worker calls to carry imports on."""

from app.campaigns.imports.door import offer_to_campaign
from app.clock import Clock
from app.contacts.imports.operations.people import RunSettings
from app.contacts.imports.operations.work import work_on_next_run
from app.db.session import Database
from app.realtime.push import Pushes


async def carry_on_imports(
    database: Database,
    *,
    clock: Clock,
    settings: RunSettings,
    pushes: Pushes | None = None,
    run_id: int | None = None,
) -> int | None:
    """Take the next import that waits (or that one run) to its end; return its id, None when none waits."""
    return await work_on_next_run(
        database, clock=clock, enrol=offer_to_campaign, settings=settings, pushes=pushes, run_id=run_id
    )
