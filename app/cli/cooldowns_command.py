"""`warmline cooldowns backfill`: rests for past ends that have none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import click

from app.campaigns.backfill.preview import Preview, preview_backfill
from app.campaigns.backfill.work import carry_on_backfill, read_backfill, resume_backfill, start_backfill
from app.cli.attached import home_option, say
from app.cli.database_access import with_database
from app.contacts.imports.repository.runs import StoredRun
from app.db.demo_clock import make_clock
from app.db.session import Database
from app.kernel.errors import Conflict, WarmlineError

_LOOK_AGAIN_SECONDS = 0.5
_GOING_ON = frozenset({"waiting", "running"})
REASONS = {
    "breakup": "after a path that nobody answered",
    "completed": "after a path that was completed",
    "won": "after “won”",
    "lost": "after “lost”",
    "not_now": "after “not now”",
    "manual": "after an end by hand",
    "opted_out": "after an opt-out",
}


@click.group()
def cooldowns() -> None:
    """Rests between journeys."""


@cooldowns.command()
@click.option("--dry-run", is_flag=True, help="Say what would be written and asked, and change nothing.")
@home_option
def backfill(dry_run: bool, home: Path | None) -> None:
    """Write the rests that past ends should have left, by the lengths in the settings.

    Journeys that began inside a rest which still runs are paused, and a person is asked about each. A run that was
    interrupted goes on: by a worker, or by this command. Again, it changes nothing.
    """
    try:
        if dry_run:
            _show_preview(with_database(lambda database, _: _preview(database), home=home))
        else:
            _show_run(with_database(lambda database, _: _backfill(database), home=home))
    except WarmlineError as error:
        raise click.ClickException(error.message) from None


async def _preview(database: Database) -> Preview:
    now = (await make_clock(database)).now()
    async with database.reading() as uow:
        return await preview_backfill(uow, now=now)


async def _backfill(database: Database) -> StoredRun:
    clock = await make_clock(database)
    try:
        async with database.transaction() as uow:
            run_id = await start_backfill(uow, user_id=None, now=clock.now())
    except Conflict as under_way:
        run_id = int(str(under_way.facts["run_id"]))
        say(f"Backfill {run_id} has not ended; going on with it.")
        async with database.transaction() as uow:
            await resume_backfill(uow, run_id=run_id)
    while True:
        await carry_on_backfill(database, clock=clock, run_id=run_id)
        async with database.reading() as uow:
            run = await read_backfill(uow, run_id=run_id)
        if run.status not in _GOING_ON:
            return run
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _show_preview(preview: Preview) -> None:
    total = sum(preview.rests.values())
    click.echo(f"{total:>8,}  rests would be written, {preview.running:,} of them still run")
    _show_reasons(preview.rests)
    click.echo(f"{preview.asked:>8,}  journeys would be paused, with a question for a person each")
    say("Nothing was changed.")


def _show_run(run: StoredRun) -> None:
    counts = run.counts
    click.echo(f"{counts.get('rests', 0):>8,}  rests written")
    _show_reasons({reason: counts.get(f"rests_{reason}", 0) for reason in REASONS})
    click.echo(
        f"{counts.get('asked', 0):>8,}  journeys begun inside a rest, with a question for a person each"
    )
    click.echo(f"{counts.get('paused', 0):>8,}  of them were running and are paused")
    if run.status != "done":
        raise click.ClickException(run.problem or "The backfill did not end.")


def _show_reasons(counts: Mapping[str, int]) -> None:
    for reason, words in REASONS.items():
        if counts.get(reason):
            click.echo(f"{counts[reason]:>12,}  {words}")
