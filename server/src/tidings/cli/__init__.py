"""The `tidings` command. Commands are loaded when they are called, so that `--help` is quick.

Other packages bring commands of their own by an entry point: nothing of the server knows them.
"""

import importlib
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, override

import click

from tidings.cli.output import echo
from tidings.cli.security import announce
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.lifecycle.component import ExitCode

COMMANDS = {
    "broadcast": "Notifications to everyone or to a segment: send, ramp, halt, recall, ask beforehand.",
    "config": "What is set, where it came from, and what can be set.",
    "dev": "Everything at once on this machine: engines, processes, people to try with.",
    "doctor": "What is wrong with this installation, why it matters, what to do.",
    "engines": "Kafka, DynamoDB and Valkey on this machine, for development and tests.",
    "explain": "Explain an error code.",
    "inbox": "Inboxes of a tenant: what they take, sends, and why a count is what it is.",
    "job": "Jobs: how far sends and recalls are; pause, resume, cancel.",
    "message": "Messages of a chat by time, without their content.",
    "restore": "Finish a restore from a backup, or a failover: a new epoch.",
    "run": "Run a process: api, gateway, delivery, relay or notifications.",
    "relay": "What the relay can't put right by itself: the repair job.",
    "segment": "Who broadcasts are for: predicates over profiles, and lists in versions.",
    "tables": "The DynamoDB tables: plan, apply, check.",
    "tenant": "Tenants: what they have set, their keys and API keys.",
    "token": "Users' tokens: mint one to try, or see why one is refused.",
    "topics": "The Kafka topics: plan, apply, check.",
    "trace": "Where a message is: handled, pushed, read, waiting, or why not.",
    "user": "Users and their sessions.",
}

PLUGIN_GROUP: Final = "tidings.commands"
"""The group of entry points. What such a command does is said by the summary of the package that brings it."""


@cache
def plugin_commands() -> dict[str, EntryPoint]:
    """Commands of other packages; one of ours is not replaced."""
    return {found.name: found for found in entry_points(group=PLUGIN_GROUP) if found.name not in COMMANDS}


def _summary(found: EntryPoint) -> str:
    told = found.dist.metadata["Summary"] if found.dist else ""
    return f"{told}." if told else f"Of {found.value}."


class _Lazy(click.Group):
    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *plugin_commands()})

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command
        if cmd_name in COMMANDS:
            command = importlib.import_module(f"tidings.cli.{cmd_name}").group
            _summarize(command)
            return command
        if cmd_name in plugin_commands():
            command = plugin_commands()[cmd_name].load()
            return command
        return None

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            announce(command, [name, *rest])
        return name, command, rest

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = COMMANDS | {name: _summary(found) for name, found in plugin_commands().items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(told.items()))


def _summarize(command: click.Command) -> None:
    """Let lists of commands show the whole first sentence, which click would cut to the width of the terminal."""
    paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
    command.short_help = command.short_help or paragraph.partition(". ")[0].rstrip(".") + "."
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        _summarize(each)


@click.command(cls=_Lazy)
@click.version_option(package_name="tidings")
def tidings() -> None:
    """Tidings: a messaging backend that a team runs itself."""


def main() -> None:
    """Run the command; a known error is told in full, never as a traceback, and ends with 1; faulty settings with 2."""
    try:
        # outside its standalone mode click returns the code of an Exit instead of raising it
        sys.exit(tidings.main(standalone_mode=False))
    except TidingsError as error:
        _print_error(error)
        sys.exit(ExitCode.SETTINGS_INVALID if error.code is Code.SETTINGS_INVALID else 1)
    except click.Abort:
        echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)


def _print_error(error: TidingsError) -> None:
    echo(error.message, fg="red", err=True)
    if error.hint:
        echo(error.hint, err=True)
    echo(f"[{error.code}] More: tidings explain {error.code}", dim=True, err=True)
