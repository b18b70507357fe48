"""The `tidings` command. Commands are loaded when they are called, so that `--help` is quick.

Other packages add commands with an entry point; the server does not depend on them.
"""

import pkgutil
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, override

import click

from tidings.cli.output import echo
from tidings.cli.security import record_commands
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.lifecycle.component import ExitCode

COMMANDS = {
    "archive": "Archive old messages: move them to the bucket now, read them back, verify the files.",
    "audit": "The audit log of administrative actions: list, export.",
    "broadcast": "Broadcasts to everyone or to a segment: send, ramp, halt, recall, estimate.",
    "certificate": "Certificates of erasures: print the public key, verify one offline.",
    "config": "Check and show the settings.",
    "dead-letter": "Records that a worker could not decode: list, show, replay, drop.",
    "dev": "Run everything on this machine: engines, processes, demo users.",
    "docs": "Serve this documentation on this machine.",
    "doctor": "Find problems of this installation and how to solve them.",
    "drill": "Rehearse a restore or a failover on copies of the tables, and measure the loss and the time.",
    "engines": "Kafka, DynamoDB, Valkey and S3 on this machine, for development and tests.",
    "explain": "Explain an error code.",
    "import": "Users, chats and messages of another system: convert an export, check a file, import it.",
    "inbox": "Inboxes of a tenant: settings, sends, and the explanation of a count.",
    "job": "Jobs of sends and recalls: show progress, pause, resume, cancel.",
    "media": "Attachments: compare uploads with the bucket, and set the limits of a tenant.",
    "message": "Messages of a chat by time, without their content.",
    "plan": "Compute the capacity and the monthly cost of a number of users, and the limits that come close.",
    "push": "Push notifications of a tenant: providers and settings.",
    "restore": "Finish a restore from a backup or a failover: start a new epoch.",
    "retention": "How long messages are kept: limits, legal holds, sweeps.",
    "run": "Run a process: api, archive, console, gateway, delivery, media, relay, notifications, push, search or webhooks.",
    "relay": "Repair chats that the relay cannot repair automatically.",
    "search": "Search in messages of a tenant: enable, disable, rebuild, show.",
    "segment": "Segments for broadcasts: predicates over profiles, and versioned lists.",
    "tables": "The DynamoDB tables: plan, apply, check.",
    "tenant": "Tenants: settings, keys and API keys.",
    "token": "Tokens of users: mint one for a test, or check why one is refused.",
    "topics": "The Kafka topics: plan, apply, check.",
    "trace": "Trace a message: handled, pushed, read, queued, and why not.",
    "user": "Users and their sessions.",
    "webhook": "Webhook endpoints of a tenant: create, change, test, delivery log, retry, replay.",
}

_DEFINED_IN: Final = {
    "config": "tidings.cli.diagnosis:config",
    "dead-letter": "tidings.cli.dead_letter:group",
    "doctor": "tidings.cli.diagnosis:doctor",
    "explain": "tidings.cli.diagnosis:explain",
    "import": "tidings.cli.imports:group",
    "run": "tidings.app.processes.command:group",
    "tables": "tidings.cli.schema:tables",
    "topics": "tidings.cli.schema:topics",
}
"""Commands that share a file. The others are the `group` of the file with their name."""

PLUGIN_GROUP: Final = "tidings.commands"
"""The group of entry points. The summary of the package describes its command."""


@cache
def plugin_commands() -> dict[str, EntryPoint]:
    """Return the commands of other packages. They cannot replace a command of Tidings."""
    return {found.name: found for found in entry_points(group=PLUGIN_GROUP) if found.name not in COMMANDS}


def _summary(found: EntryPoint) -> str:
    summary = found.dist.metadata["Summary"] if found.dist else ""
    return f"{summary}." if summary else f"From {found.value}."


class _Lazy(click.Group):
    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *plugin_commands()})

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command
        if cmd_name in COMMANDS:
            command = pkgutil.resolve_name(_DEFINED_IN.get(cmd_name, f"tidings.cli.{cmd_name}:group"))
            _summarize(command)
            record_commands(command, (cmd_name,))
            return command
        if cmd_name in plugin_commands():
            command = plugin_commands()[cmd_name].load()
            return command
        return None

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        summaries = COMMANDS | {name: _summary(found) for name, found in plugin_commands().items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(summaries.items()))


def _summarize(command: click.Command) -> None:
    """Let lists of commands show the whole first sentence, which click would cut to the width of the terminal."""
    paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
    command.short_help = command.short_help or paragraph.partition(". ")[0].rstrip(".") + "."
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        _summarize(each)


@click.command(cls=_Lazy)
@click.version_option(package_name="tidings")
@click.option(
    "--reason",
    envvar="TIDINGS_REASON",
    help="Why an administrative command runs, such as a ticket. The audit log keeps it.",
)
def tidings(reason: str | None) -> None:
    """Tidings: self-hosted chat and notifications."""
    del reason  # `cli/security.py` reads it from the context


def main() -> None:
    """Run the command.

    A known error is printed with its hint, without a traceback. The exit code is 1, and 2 for invalid settings.
    """
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
