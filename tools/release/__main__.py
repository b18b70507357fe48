"""`just release VERSION`; `just release prepare VERSION`; `just release sign | try | check`."""

import json
import shutil
import sys
import time
from pathlib import Path

import click

from tools.node import ROOT
from tools.release import image, packages, sbom, signature, source
from tools.release.changelog import NOTES, read_section
from tools.release.check import DIST, artefact_figures, release_faults
from tools.release.command import ReleaseError, run
from tools.release.provenance import write_checksums, write_provenance
from tools.release.trial import try_release

_CLONE = ROOT / "build" / "release"


class VersionGroup(click.Group):
    """`just release 0.1.0` is short for `just release build 0.1.0`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["build", *args])


@click.group(cls=VersionGroup)
def main() -> None:
    """Build a release from the current commit, without publishing it."""


@main.command()
@click.argument("version")
@click.option(
    "--tagged", is_flag=True, help="Refuse a commit without the tag of the version, and require the key."
)
@click.option("--image/--no-image", "with_image", default=False, help="Build the container image too.")
def build(version: str, *, tagged: bool, with_image: bool) -> None:
    """Build all artefacts of VERSION into `dist`."""
    began = time.monotonic()
    given = source.check_out(ROOT, _CLONE, version)
    if tagged:
        source.require_tag(given, ROOT)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    packages.build_packages(given, DIST)
    sbom.write_sboms(given, DIST)
    if with_image:
        image.build(given, DIST)
    else:
        click.echo("not built: the image (--image)")
    (DIST / NOTES).write_text(read_section(given.folder, version))
    write_provenance(given, DIST)
    write_checksums(DIST)
    if not signature.sign(DIST):
        click.echo(f"not signed: {signature.KEY} is not set")
    names = artefact_figures(DIST)["artefact_names"]
    click.echo("\n".join(f"{(DIST / name).stat().st_size / 1e3:10,.0f} KB  {name}" for name in names))
    click.echo(f"{len(names)} files in {time.monotonic() - began:.0f} s")


@main.command()
@click.argument("version")
def prepare(version: str) -> None:
    """Write VERSION and the changelog to this checkout, for a commit that you review and tag."""
    source.prepare(ROOT, version, int(run("git", "log", "-1", "--format=%ct", cwd=ROOT)))
    click.echo(f"Review and commit the changes, then tag the commit v{version}.")


@main.command()
def sign() -> None:
    """Sign the checksums of `dist` with the key of the environment."""
    if not signature.sign(DIST):
        raise ReleaseError(f"Set {signature.KEY} to the private key of the releases.")


@main.command(name="try")
@click.option("--locked", is_flag=True, help="Install the locked versions of other packages, not the newest.")
@click.option("--cold", is_flag=True, help="Download the engines again, as on a new machine.")
def try_(*, locked: bool, cold: bool) -> None:
    """Install the wheels of `dist` outside of the checkout, and follow the quick start."""
    click.echo(json.dumps(try_release(DIST, is_locked=locked, is_cold=cold)))


@main.command()
@click.option(
    "--signers", type=click.Path(path_type=Path, exists=True), help="Verify the signature with this file."
)
def check(*, signers: Path | None) -> None:
    """Check the files of `dist`, and print one line of JSON."""
    faults = release_faults()
    if signers:
        faults += signature.signature_faults(DIST, signers)
    for fault in faults:
        click.echo(f"fault: {fault}")
    click.echo(json.dumps(artefact_figures()))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
