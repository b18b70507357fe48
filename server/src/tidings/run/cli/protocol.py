"""`tidings protocol write | check`: what is published in `protocol/`, and whether it breaks clients."""

from pathlib import Path

import click
import msgspec

from tidings.kernel.errors import Code, TidingsError
from tidings.run.protocol import schema
from tidings.run.protocol.breaks import breaks
from tidings.run.protocol.files import BASELINE, drifted, published, text

_ROOT = click.option(
    "--root",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=Path(),
    help="The checkout; the current directory if not given.",
)


@click.group(name="protocol")
def group() -> None:
    """What is published about the protocol, made from the types."""


@group.command()
@_ROOT
@click.option("--new-baseline", is_flag=True, help="Clients from before no longer count.")
def write(*, root: Path, new_baseline: bool) -> None:
    """Write schemas, the AsyncAPI document, codes, golden frames and the reference page."""
    files = published(root)
    if new_baseline:
        files[root / BASELINE] = text(schema.document())
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    click.echo(f"ok: {len(files)} files written")
    for line in _broken(root):
        click.secho(f"breaks clients that are out there: {line}", fg="red", err=True)


@group.command()
@_ROOT
def check(*, root: Path) -> None:
    """Fail if a file is not as the types give it, or if the types break clients that are out there."""
    stale = [f"{path} is not current" for path in drifted(root)]
    broken = [f"breaks clients that are out there: {line}" for line in _broken(root)]
    if stale or broken:
        raise TidingsError(
            Code.PROTOCOL_DRIFT,
            "\n".join(["The protocol is not as published:", *(f"  - {line}" for line in (*stale, *broken))]),
            hint="`tidings protocol write` writes the files. What breaks clients is made otherwise, or given a new baseline.",
        )
    click.echo(f"ok: {len(published(root))} files current, no client broken")


def _broken(root: Path) -> list[str]:
    baseline = root / BASELINE
    return breaks(msgspec.json.decode(baseline.read_bytes()), schema.document()) if baseline.exists() else []
