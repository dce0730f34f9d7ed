"""`warmline check`: every invariant with its count."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from app.cli.attached import home_option
from app.cli.database_access import with_database
from app.integrity.runner import Finding, Report, look


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="End with one line of JSON: violations, invariants, stuck."
)
@home_option
def check(as_json: bool, home: Path | None) -> None:
    """Check what must always be true. Exit code 1 when any row breaks an invariant."""
    report = with_database(lambda database, _: look(database), home=home)
    for finding in report.invariants:
        print_finding(finding)
    click.echo(_sum(report))
    if as_json:
        click.echo(json.dumps(report.as_json()))
    sys.exit(1 if report.violations else 0)


def print_finding(finding: Finding, *, width: int = 3) -> None:
    """Print one check: its count, and the rows it found."""
    click.echo(f"{finding.key:<{width}}  {finding.count:>6}  {finding.title}")
    for offender in finding.offenders:
        whose = "" if offender.contact_id is None else f"contact {offender.contact_id}: "
        click.echo(f"{'':<{width}}          {whose}{offender.detail}")
    if finding.count > len(finding.offenders):
        click.echo(f"{'':<{width}}          and {finding.count - len(finding.offenders):,} more")


def _sum(report: Report) -> str:
    broken = "No violation" if not report.violations else f"{report.violations:,} violations"
    return f"{broken}; {report.stuck_count:,} stuck (see `warmline stuck`)."
