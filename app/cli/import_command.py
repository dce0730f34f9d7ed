"""`warmline import`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from app.campaigns.imports.queries import open_campaign
from app.campaigns.imports.work import carry_on_imports
from app.cli.attached import attached, home_option, say
from app.clock import Clock
from app.config import Settings
from app.contacts.imports.domain.mapping import ColumnMapping, Target, corrected_mapping, propose_mapping
from app.contacts.imports.domain.messages import OUTCOMES, reason_words, warning_words
from app.contacts.imports.domain.outcomes import Outcome, RowOutcome
from app.contacts.imports.domain.sniffing import Sheet, records, sniff
from app.contacts.imports.operations.people import RunSettings
from app.contacts.imports.operations.start import (
    LIMITS,
    PreparedImport,
    keep_file,
    prepare_import,
    read_file,
    start_import,
)
from app.contacts.imports.queries import RunView, Tally, judge, run_view
from app.db.demo_clock import make_clock
from app.db.session import Database, UnitOfWork, make_engine
from app.kernel.errors import Conflict, WarmlineError
from app.kernel.phones import PHONE_NOT_VALID

_LOOK_AGAIN_SECONDS = 0.5
_GOING_ON = frozenset({"waiting", "running"})


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--campaign", required=True, metavar="KEY", help="The campaign to enrol people in.")
@click.option(
    "--when-busy",
    type=click.Choice(["wait", "refuse"]),
    default="wait",
    show_default=True,
    help="Whether people who are in another campaign now wait for their turn, or are left out.",
)
@click.option("--dry-run", is_flag=True, help="Say what would become of each row, and change nothing.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="N=TARGET",
    help=f"Say what the Nth column is (from 1): {', '.join(target.value for target in Target)}.",
)
@home_option
def import_leads(
    file: Path, campaign: str, when_busy: str, dry_run: bool, columns: Sequence[str], home: Path | None
) -> None:
    """Import a CSV file of leads into a campaign.

    The same file again changes nothing. An import that was interrupted goes on where it stopped: by a worker,
    or by this command.
    """
    content = file.read_bytes()
    try:
        sheet = sniff(content, limits=LIMITS)
        mapping = corrected_mapping(propose_mapping(sheet.header), corrections=_corrections(columns, sheet))
        _show_columns(sheet, mapping)
        with attached(home=home) as settings:
            if dry_run:
                asyncio.run(_check(settings, content, sheet, mapping, campaign=campaign))
            else:
                waits = when_busy == "wait"
                asyncio.run(_import(settings, file.name, content, mapping, campaign=campaign, waits=waits))
    except WarmlineError as error:
        raise click.ClickException(_with_run(error)) from None


def _corrections(columns: Sequence[str], sheet: Sheet) -> dict[int, str]:
    corrections: dict[int, str] = {}
    for text in columns:
        number, _, target = text.partition("=")
        known = target in {one.value for one in Target}
        if not number.isdecimal() or not 1 <= int(number) <= len(sheet.header) or not known:
            raise click.BadParameter(
                f"{text!r} names no column of this file and target.", param_hint="--column"
            )
        corrections[int(number) - 1] = target
    return corrections


def _show_columns(sheet: Sheet, mapping: ColumnMapping) -> None:
    for code in sheet.warnings:
        say(f"Note: {warning_words(code)}")
    for column in mapping.columns:
        say(f"  column {column.index + 1}: {column.header or '(no header)'} → {column.target.value}")
    if mapping.problems:
        words = "\n".join(problem.message for problem in mapping.problems)
        raise click.ClickException(f"{words}\nSay it with --column N=TARGET.")


async def _check(
    settings: Settings, content: bytes, sheet: Sheet, mapping: ColumnMapping, *, campaign: str
) -> None:
    engine = make_engine(settings, pool_size=1, application_name="warmline-command")
    tally = Tally()
    try:
        async with Database(engine).reading() as uow:
            await open_campaign(uow, key=campaign)
            found = records(content, sheet=sheet, limits=LIMITS)
            async for outcome in judge(
                uow, records=found, mapping=mapping, default_country=settings.default_country
            ):
                tally.add(outcome)
                _show_row(outcome)
    finally:
        await engine.dispose()
    for name, words in OUTCOMES.items():
        if tally.counts[name]:
            click.echo(f"{tally.counts[name]:>8,}  {words}")
    click.echo(f"{tally.with_whatsapp:>8,}  With consent for WhatsApp")
    say("Nothing was changed.")


def _show_row(outcome: RowOutcome) -> None:
    """Print a row that needs a look; ordinary ones are only counted."""
    notes = [warning_words(code) for code in outcome.warnings if code != PHONE_NOT_VALID]
    if outcome.reason:
        notes = [reason_words(outcome.reason), *(n for n in notes if n != reason_words(outcome.reason))]
    if notes or outcome.outcome in {Outcome.REJECTED, Outcome.CONFLICT}:
        click.echo(f"row {outcome.lead.row}: {OUTCOMES[outcome.outcome]}. {' '.join(notes)}")


async def _import(
    settings: Settings, name: str, content: bytes, mapping: ColumnMapping, *, campaign: str, waits: bool
) -> None:
    database = Database(make_engine(settings, pool_size=3, application_name="warmline-command"))
    try:
        clock = await make_clock(database)
        file = await read_file(name=name, content=content)
        prepared = await prepare_import(file, targets=mapping.as_targets())
        async with database.transaction() as uow:
            await open_campaign(uow, key=campaign)
            await keep_file(uow, file=file, now=clock.now())
            run_id = await _start_or_go_on(uow, prepared, campaign=campaign, waits=waits, now=clock.now())
        work = asyncio.create_task(
            _work(database, clock=clock, settings=RunSettings(settings.default_country), run_id=run_id)
        )
        run = await _follow(database, run_id)
        await work
    finally:
        await database.engine.dispose()
    _show_result(run)


async def _start_or_go_on(
    uow: UnitOfWork, prepared: PreparedImport, *, campaign: str, waits: bool, now: datetime
) -> int:
    """Return the new run's id, or that of this file's run which has not ended: it may have been broken off."""
    try:
        return await start_import(
            uow, prepared=prepared, campaign_key=campaign, user_id=None, waits=waits, now=now
        )
    except Conflict as under_way:
        run_id = under_way.facts.get("run_id")
        if not isinstance(run_id, int):
            raise
        say(f"Import {run_id} of this file has not ended; going on with it.")
        return run_id


async def _work(database: Database, *, clock: Clock, settings: RunSettings, run_id: int) -> None:
    """Work on the run until it has ended; where a worker was quicker to take it, wait for that worker."""
    while True:
        await carry_on_imports(database, clock=clock, settings=settings, run_id=run_id)
        async with database.reading() as uow:
            if (await run_view(uow, run_id=run_id)).status not in _GOING_ON:
                return
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def _follow(database: Database, run_id: int) -> RunView:
    """Report progress until the run has ended, whoever works on it: this command or a running worker."""
    said = ""
    while True:
        async with database.reading() as uow:
            run = await run_view(uow, run_id=run_id)
        part = "reading people" if run.part == 1 else "enrolling"
        words = f"Import {run.id}, {part}: {run.done:,} of {run.total:,}"
        if words != said:
            say(words)
            said = words
        if run.status not in _GOING_ON:
            return run
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _show_result(run: RunView) -> None:
    words = {
        **OUTCOMES,
        "enrolled": "Enrolled",
        "touched": "In the campaign already",
        "refused": "Not enrolled",
        "waiting": "Wait for their turn",
    }
    words |= {
        "repeated": "Enrolled by this file before",
        "before": "Offered by an earlier import of this file",
    }
    for name, label in words.items():
        if run.counts.get(name):
            click.echo(f"{run.counts[name]:>8,}  {label}")
    if run.status != "done":
        raise click.ClickException(run.problem or "The import was stopped.")


def _with_run(error: WarmlineError) -> str:
    run_id = error.facts.get("run_id")
    return f"{error.message} It is import {run_id}." if run_id is not None else error.message
