"""The container image of a release, built in the clone by the same steps as `just image build`."""

import shutil
from pathlib import Path

import click

from tools.release.command import ReleaseError, run
from tools.release.source import ReleaseSource

_IMAGE = ("uv", "run", "--locked", "--group", "image")


def build(source: ReleaseSource, dist: Path) -> None:
    """Build the image and the list of its packages, or print why this machine cannot."""
    try:
        run(*_IMAGE, "python", "-m", "infra.image", "build", cwd=source.folder, env=source.environment)
    except ReleaseError as error:
        click.echo(f"not built: the image: {str(error).splitlines()[-1]}")
        return
    archive = dist / f"tidings-image-{source.version}.tar"
    shutil.copy(source.folder / "build/image/tidings.tar", archive)
    target = f"spdx-json={dist / f'tidings-image-{source.version}.spdx.json'}"
    run(*_IMAGE, "syft", "scan", f"oci-archive:{archive}", "--quiet", "--output", target, cwd=source.folder)
