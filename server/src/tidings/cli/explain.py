"""`tidings explain CODE`: what an error code means and what to do about it."""

import click

from tidings.api.openapi import explain_error_code
from tidings.cli.output import echo
from tidings.kernel.errors import Code


@click.command(name="explain")
@click.argument("code", type=click.Choice([code.value for code in Code]), metavar="CODE")
def group(code: str) -> None:
    """Explain an error code, such as settings_invalid."""
    echo(explain_error_code(Code(code)))
