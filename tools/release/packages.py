"""Build the packages of a release: wheels, source distributions, npm packages and the Helm chart."""

import gzip
import io
import shutil
import sys
import tarfile
from pathlib import Path

import click

from tools.release.command import run
from tools.release.source import ReleaseSource
from tools.release.versions import PYTHON_PACKAGES, npm_version

_NOT_IN_CHART = {"ci"}
"""Values of the tests."""


def build_packages(source: ReleaseSource, dist: Path) -> None:
    """Build everything that users install, into `dist`."""
    for step in (("tools.web", "build"), ("tools.web", "pages"), ("tools.docs_site", "build")):
        click.echo(f"{' '.join(step)} …")
        run(sys.executable, "-m", *step, cwd=source.folder, env=source.environment)
    click.echo("Python packages …")
    build_python(source, dist)
    click.echo("npm packages …")
    build_npm(source, dist)
    build_chart(source, dist)


def build_python(source: ReleaseSource, dist: Path) -> None:
    """Build the source distribution of each package, and the wheel from it."""
    for package in PYTHON_PACKAGES:
        words = ("uv", "build", "--quiet", "--no-create-gitignore", "--out-dir", str(dist), package)
        run(*words, cwd=source.folder, env=source.environment)


def build_npm(source: ReleaseSource, dist: Path) -> None:
    run(sys.executable, "-m", "tools.web", "pack", cwd=source.folder, env=source.environment)
    for package in sorted((source.folder / "build/web").glob("*.tgz")):
        shutil.copy(package, dist)


def build_chart(source: ReleaseSource, dist: Path) -> None:
    """Write the chart as `helm package` does, with the time of the commit."""
    chart = source.folder / "infra/chart"
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as opened:
        for path in sorted(path for path in chart.rglob("*") if path.is_file()):
            place = path.relative_to(chart)
            if place.parts[0] in _NOT_IN_CHART:
                continue
            content = path.read_bytes()
            member = tarfile.TarInfo(f"tidings/{place}")
            member.size, member.mtime, member.mode = len(content), source.epoch, 0o644
            opened.addfile(member, io.BytesIO(content))
    name = f"tidings-chart-{npm_version(source.version)}.tgz"
    (dist / name).write_bytes(gzip.compress(archive.getvalue(), mtime=source.epoch))
