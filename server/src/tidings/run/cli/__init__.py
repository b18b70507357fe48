"""The `tidings` command. Commands are loaded when they are called, so that `--help` is quick."""

import importlib
import sys
from typing import override

import click

from tidings.kernel.errors import TidingsError

COMMANDS = {
    "config": "What is set, where it came from, and what can be set.",
    "engines": "Kafka, DynamoDB and Valkey on this machine, for development and tests.",
    "protocol": "What is published about the protocol, made from the types.",
    "tables": "The DynamoDB tables: plan, apply, check.",
    "topics": "The Kafka topics: plan, apply, check.",
}


class _Lazy(click.Group):
    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tidings.run.cli.{cmd_name}")
        command: click.Command = module.group
        return command

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(cls=_Lazy)
@click.version_option(package_name="tidings")
def tidings() -> None:
    """Tidings: a messaging backend that a team runs itself."""


def main() -> None:
    """Run the command; a known error is told in full and ends with 1, never as a traceback."""
    try:
        # outside its standalone mode click returns the code of an Exit instead of raising it
        sys.exit(tidings.main(standalone_mode=False))
    except TidingsError as error:
        _tell(error)
        sys.exit(1)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)


def _tell(error: TidingsError) -> None:
    click.secho(error.message, fg="red", err=True)
    if error.hint:
        click.echo(error.hint, err=True)
    click.secho(f"[{error.code}] {error.docs}", dim=True, err=True)
