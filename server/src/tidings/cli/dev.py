"""`tidings dev`: run an installation for development."""

import click


@click.command(name="dev")
@click.option("--fresh", is_flag=True, help="Delete the data of earlier runs in this directory.")
@click.option(
    "--raw",
    is_flag=True,
    help="Print the processes' JSON logs on stdout unchanged; messages of `tidings dev` go to stderr.",
)
@click.option("--no-reload", is_flag=True, help="Do not restart when the code changes.")
def group(*, fresh: bool, raw: bool, no_reload: bool) -> None:
    """Run everything here: engines, tables, topics, all processes, a tenant with demo users.

    Data is kept in .tidings after a stop. Ctrl-C stops everything.
    """
    try:
        from tidings.dev.run import DevOptions, run_dev  # noqa: PLC0415 - a second that `--help` need not wait
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error}. `tidings dev` needs pip install 'tidings[engines]'.") from error

    raise click.exceptions.Exit(run_dev(DevOptions(is_fresh=fresh, is_raw=raw, watches=not no_reload)))
