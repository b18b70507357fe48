"""The command `tidings chat`. It imports Textual only when it runs, so that `--help` is fast."""

from pathlib import Path

import click

from tidings_terminal import endpoint


@click.command(
    name="chat", short_help="Chat in the terminal, as a demo user of `tidings dev` or with a token."
)
@click.option(
    "--as", "user", metavar="NAME", help="Connect as a demo user of `tidings dev`: anna, ben or cleo."
)
@click.option("--url", metavar="URL", help="Connect to another gateway, ws://… or wss://…, with a token.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the user's token.  [default: the environment variable TIDINGS_TOKEN]",
)
@click.option("--api", metavar="URL", help="With --url: the address of the REST API, for /search.")
def chat(user: str | None, url: str | None, token_file: Path | None, api: str | None) -> None:
    """Chat in the terminal, with receipts, typing, presence and the inbox.

    Run `tidings chat --as anna` in the directory of a running `tidings dev`, or use --url with a token of any
    installation.
    """
    if (user is None) == (url is None):
        raise click.UsageError(
            "Give either --as NAME, in the directory of `tidings dev`, or --url URL with a token."
        )
    try:
        where = endpoint.from_dev(user) if user else endpoint.from_options(url or "", token_file, api)
    except endpoint.EndpointMissing as error:
        raise click.ClickException(str(error)) from error
    from tidings_terminal.app import run  # noqa: PLC0415 - the import takes half a second

    why = run(where)
    if why:
        raise click.ClickException(why)
