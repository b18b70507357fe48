"""`tidings config check | show`."""

import click

from tidings.app.settings.loader import FIELDS, load, rows
from tidings.cli.output import SafeConsole, SafeTable, echo


@click.group(name="config")
def group() -> None:
    """Check and show the settings."""


@group.command()
def check() -> None:
    """Read all settings, and fail with a list of all errors."""
    loaded = load()
    echo(f"ok: {len(loaded.sources)} of {len(FIELDS)} settings given, the rest are defaults")


@group.command()
def show() -> None:
    """Print each setting with its value and its source. Secrets stay hidden."""
    table = SafeTable("setting", "value", "from")
    for name, value, source in rows(load()):
        table.add_row(name, value, source, style="dim" if source == "default" else None)
    SafeConsole().print(table)
