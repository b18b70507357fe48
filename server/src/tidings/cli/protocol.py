"""`tidings protocol write | check | openapi`: what is published in `protocol/`, and whether it breaks clients."""

from pathlib import Path

import click
import msgspec

from tidings.api.app import app_for_schema
from tidings.cli.output import echo
from tidings.kernel.errors import Code, TidingsError
from tidings.protocol import schema
from tidings.protocol.breaking_changes_frames import find_breaking_frame_changes
from tidings.protocol.breaking_changes_openapi import find_breaking_api_changes
from tidings.protocol.outputs import BASELINE, file_text, render_all, stale_files

_ROOT = click.option(
    "--root",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=Path(),
    help="The checkout; the current directory if not given.",
)


@click.group(name="protocol")
def group() -> None:
    """What Tidings speaks, as documents for clients."""


@group.command()
@_ROOT
@click.option("--new-baseline", is_flag=True, help="Clients from before no longer count.")
def write(*, root: Path, new_baseline: bool) -> None:
    """Write schemas, the AsyncAPI document, codes, golden frames and the reference page."""
    files = render_all(root)
    if new_baseline:
        files[root / BASELINE] = file_text(schema.schema_document())
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    echo(f"ok: {len(files)} files written")
    for line in _broken(root):
        echo(f"breaks clients that are out there: {line}", fg="red", err=True)


@group.command()
@_ROOT
def check(*, root: Path) -> None:
    """Fail if a file is not as the types give it, or if the types break clients that are out there."""
    stale = [f"{path} is not current" for path in stale_files(root)]
    broken = [f"breaks clients that are out there: {line}" for line in _broken(root)]
    if stale or broken:
        raise TidingsError(
            Code.PROTOCOL_DRIFT,
            "\n".join(["The protocol is not as published:", *(f"  - {line}" for line in (*stale, *broken))]),
            hint="`tidings protocol write` writes the files. What breaks clients is made otherwise, or given a new baseline.",
        )
    echo(f"ok: {len(render_all(root))} files current, no client broken")


def _broken(root: Path) -> list[str]:
    baseline = root / BASELINE
    return (
        find_breaking_frame_changes(msgspec.json.decode(baseline.read_bytes()), schema.schema_document())
        if baseline.exists()
        else []
    )


@group.command()
@click.option(
    "--write", "path", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file."
)
@click.option(
    "--allow-breaking", is_flag=True, help="Even if clients of the document that is there would break."
)
def openapi(path: Path | None, *, allow_breaking: bool) -> None:
    """Print the OpenAPI document, or put it in the place of an older one. A change that breaks clients is refused."""
    made = app_for_schema().openapi()
    if path is None:
        echo(format_json(made), nl=False)
        return
    broken = find_breaking_api_changes(msgspec.json.decode(path.read_bytes()), made) if path.exists() else []
    for sentence in broken:
        echo(sentence, fg="red", err=True)
    if broken and not allow_breaking:
        raise click.ClickException(
            "clients that are out there would break; --allow-breaking writes it nevertheless"
        )
    path.write_bytes(format_json(made).encode())


def format_json(document: dict[str, object]) -> str:
    """In lines, so that a change of it can be read."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
