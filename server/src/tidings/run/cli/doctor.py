"""`tidings doctor`."""

import click


@click.command(name="doctor")
def group() -> None:
    """Look at everything an installation stands on."""
