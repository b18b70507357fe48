"""`tidings chat`: the command. Textual is loaded when it is called, so that `--help` is quick."""

from pathlib import Path

import click

from tidings_terminal import endpoint


@click.command(
    name="chat", short_help="Chat in the terminal, as one of the people of `tidings dev` or with a token."
)
@click.option("--as", "user", metavar="NAME", help="One of the people of `tidings dev`: anna, ben, cleo.")
@click.option("--url", metavar="URL", help="Another gateway: ws://… or wss://…, with a token.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The user's token; without it TIDINGS_TOKEN in the environment.",
)
def chat(user: str | None, url: str | None, token_file: Path | None) -> None:
    """Chat in the terminal: list, thread, ticks, typing, presence, live.

    `tidings chat --as anna` beside `tidings dev`, in the same directory; or --url with a token of any installation.
    """
    if (user is None) == (url is None):
        raise click.UsageError("Say as whom: --as anna beside `tidings dev`, or --url with a token.")
    try:
        where = endpoint.from_dev(user) if user else endpoint.from_options(url or "", token_file)
    except endpoint.EndpointMissing as error:
        raise click.ClickException(str(error)) from error
    from tidings_terminal.app import run  # noqa: PLC0415 - half a second that `--help` need not wait

    why = run(where)
    if why:
        raise click.ClickException(why)
