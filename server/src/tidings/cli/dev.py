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
@click.option(
    "--web-dev", is_flag=True, help="Serve the demo page with Vite, which reloads it when its code changes."
)
def group(*, fresh: bool, raw: bool, no_reload: bool, web_dev: bool) -> None:
    """Run everything here: engines, tables, topics, all processes, a tenant with demo users and a demo page.

    Open the address that it prints: two people chat side by side. Data is kept in .tidings after a stop. Ctrl-C stops everything.
    """
    try:
        from tidings.dev.run import DevOptions, run_dev  # noqa: PLC0415 - a second that `--help` need not wait
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error}. `tidings dev` needs pip install 'tidings[engines]'.") from error

    options = DevOptions(is_fresh=fresh, is_raw=raw, watches=not no_reload, uses_vite=web_dev)
    raise click.exceptions.Exit(run_dev(options))
