"""`tidings protocol openapi`: the description of the REST edge, as clients are generated from it."""

from pathlib import Path

import click
import msgspec

from tidings.api.app import described
from tidings.api.changes import breaking


@click.group(name="protocol")
def group() -> None:
    """What Tidings speaks, as documents for clients."""


@group.command()
@click.option(
    "--write", "path", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file."
)
@click.option(
    "--allow-breaking", is_flag=True, help="Even if clients of the document that is there would break."
)
def openapi(path: Path | None, *, allow_breaking: bool) -> None:
    """Print the OpenAPI document, or put it in the place of an older one. A change that breaks clients is refused."""
    made = described().openapi()
    if path is None:
        click.echo(spell(made), nl=False)
        return
    broken = breaking(msgspec.json.decode(path.read_bytes()), made) if path.exists() else []
    for sentence in broken:
        click.secho(sentence, fg="red", err=True)
    if broken and not allow_breaking:
        raise click.ClickException(
            "clients that are out there would break; --allow-breaking writes it nevertheless"
        )
    path.write_bytes(spell(made).encode())


def spell(document: dict[str, object]) -> str:
    """In lines, so that a change of it can be read."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
