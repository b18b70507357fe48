"""`tidings dev`: the first minute, and the days after it."""

import click


@click.command(name="dev")
@click.option("--fresh", is_flag=True, help="Forget what earlier runs in this directory have kept.")
@click.option("--raw", is_flag=True, help="The processes' JSON on stdout as it comes, our words on stderr.")
@click.option("--no-reload", is_flag=True, help="Do not restart when the code changes.")
def group(*, fresh: bool, raw: bool, no_reload: bool) -> None:
    """Run everything here: engines, tables, topics, all processes, a tenant with people in it.

    Data is kept in .tidings over a stop. Ctrl-C ends everything.
    """
    try:
        from tidings.dev.run import DevOptions, run_dev  # noqa: PLC0415 - a second that `--help` need not wait
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error}. `tidings dev` needs pip install 'tidings[engines]'.") from error

    raise click.exceptions.Exit(run_dev(DevOptions(is_fresh=fresh, is_raw=raw, watches=not no_reload)))
