"""`python -m tools.protocol write | check | openapi`: generate the files in `protocol/` and find breaking changes."""

from pathlib import Path

import click
import msgspec

from tidings.api.app import app_for_schema
from tools.protocol import schema
from tools.protocol.breaking_changes import find_breaking_api_changes, find_breaking_frame_changes
from tools.protocol.outputs import BASELINE, file_text, openapi_text, render_all, stale_files

_ROOT = click.option(
    "--root",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=Path(),
    help="The checkout; default: the current directory.",
)


@click.group(name="protocol")
def group() -> None:
    """Generate and check the published documents of the protocol."""


@group.command()
@_ROOT
@click.option("--new-baseline", is_flag=True, help="Stop supporting clients of the old baseline.")
def write(*, root: Path, new_baseline: bool) -> None:
    """Write schemas, the AsyncAPI document, codes, golden frames and the reference page."""
    files = render_all(root)
    if new_baseline:
        files[root / BASELINE] = file_text(schema.schema_document())
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    click.echo(f"ok: {len(files)} files written")
    for line in _breaking_changes(root):
        click.secho(f"breaks existing clients: {line}", fg="red", err=True)


@group.command()
@_ROOT
def check(*, root: Path) -> None:
    """Fail if a file is not current, or if the frames break existing clients."""
    stale = [f"{path} is not current" for path in stale_files(root)]
    breaking = [f"breaks existing clients: {line}" for line in _breaking_changes(root)]
    if stale or breaking:
        lines = [f"  - {line}" for line in (*stale, *breaking)]
        raise click.ClickException(
            "\n".join(
                [
                    "The protocol differs from the published files:",
                    *lines,
                    "`just protocol write` writes the files. Change what breaks clients, or write a new baseline.",
                ]
            )
        )
    click.echo(f"ok: {len(render_all(root))} files current, no breaking change")


def _breaking_changes(root: Path) -> list[str]:
    baseline = root / BASELINE
    if not baseline.exists():
        return []
    return find_breaking_frame_changes(msgspec.json.decode(baseline.read_bytes()), schema.schema_document())


@group.command()
@click.option("--write", "path", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option(
    "--allow-breaking", is_flag=True, help="Write even if clients of the existing file would break."
)
def openapi(path: Path | None, *, allow_breaking: bool) -> None:
    """Print the OpenAPI document, or replace the existing file. A breaking change is refused."""
    document = app_for_schema().openapi()
    if path is None:
        click.echo(openapi_text(document), nl=False)
        return
    breaking = (
        find_breaking_api_changes(msgspec.json.decode(path.read_bytes()), document) if path.exists() else []
    )
    for line in breaking:
        click.secho(line, fg="red", err=True)
    if breaking and not allow_breaking:
        raise click.ClickException(
            "existing clients would break; --allow-breaking writes the file nevertheless"
        )
    path.write_text(openapi_text(document))


if __name__ == "__main__":
    group()
