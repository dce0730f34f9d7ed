"""The command `warmline`. Each command is a module of its own, loaded only when it is asked for."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    # name on the command line: module and object, what it does
    "up": ("app.cli.up:up", "Start Warmline and keep it running until Ctrl-C."),
    "worker": ("app.cli.worker:worker", "Run one worker."),
    "assets": ("app.cli.assets:assets", "Build the front-end assets."),
    "migrate": ("app.cli.migrate:migrate", "Bring the database to the newest schema."),
    "import": (
        "app.cli.import_command:import_leads",
        "Import a CSV file of leads: import FILE --campaign KEY",
    ),
    "check": ("app.cli.check_command:check", "Check what must always be true; exit code 1 when it is not."),
    "stuck": ("app.cli.stuck_command:stuck", "List what does not move by itself and should."),
    "journey": ("app.cli.journey_command:journey", "Tell a lead's journey in words: journey CONTACT."),
    "review": (
        "app.cli.review_command:review",
        "Answer what became of a message: review TASK sent|again|skip.",
    ),
    "cooldowns": (
        "app.cli.cooldowns_command:cooldowns",
        "Write the rests that past ends should have left: cooldowns backfill.",
    ),
    "faults": (
        "app.cli.faults_command:faults",
        "Let random histories happen to a throw-away database and check what must be true.",
    ),
    "user": ("app.cli.user_command:user", "Add people who can sign in: user add EMAIL."),
}
"""The whole command line on one page; a new command is one line here."""


class LazyGroup(click.Group):
    """A group that imports a command when it is run: `up` loads nothing of `import`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def warmline() -> None:
    """Warmline: an adviser workspace driven by a campaign engine that is a state machine."""
