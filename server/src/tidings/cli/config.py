"""`tidings config check | show`."""

import click

from tidings.app.settings.loader import FIELDS, load, rows
from tidings.cli.output import SafeConsole, SafeTable, echo


@click.group(name="config")
def group() -> None:
    """What is set, where it came from, and what can be set."""


@group.command()
def check() -> None:
    """Read all settings; fails with every fault that is in them."""
    loaded = load()
    echo(f"ok: {len(loaded.sources)} of {len(FIELDS)} settings given, the rest are defaults")


@group.command()
def show() -> None:
    """Print each setting with its value and its source. Secrets stay hidden."""
    table = SafeTable("setting", "value", "from")
    for name, value, source in rows(load()):
        table.add_row(name, value, source, style="dim" if source == "default" else None)
    SafeConsole().print(table)
