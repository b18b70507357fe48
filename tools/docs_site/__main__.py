"""`python -m tools.docs_site build | diagrams | check`: build the documentation site and check its links."""

import subprocess
import sys
import time

import click

from tools.docs_site import diagrams, site
from tools.docs_site.pages import ROOT


@click.group()
def main() -> None:
    """Build and check the documentation site."""


@main.command()
def build() -> None:
    """Build the site. `tidings docs` serves it."""
    began = time.monotonic()
    try:
        folder = site.build()
    except diagrams.MissingDiagramError as error:
        raise click.ClickException(str(error)) from None
    except subprocess.CalledProcessError:
        raise click.ClickException("MkDocs reported the problems above.") from None
    count = sum(1 for _ in folder.rglob("index.html"))
    click.echo(f"ok: {count} pages in {folder.relative_to(ROOT)}, {time.monotonic() - began:.1f} s")


@main.command(name="diagrams")
def draw() -> None:
    """Draw new and changed diagrams. Needs Chromium."""
    for path in diagrams.draw_all(ROOT):
        click.echo(f"drawn: {path.relative_to(ROOT)}")


@main.command()
@click.option("--online", is_flag=True, help="Also request the links to other sites.")
@click.pass_context
def check(context: click.Context, *, online: bool) -> None:
    """Build the site. Check all links and anchors, and that it loads nothing from other hosts."""
    context.invoke(build)
    foreign = site.foreign_assets(ROOT / site.PUBLIC)
    if foreign:
        raise click.ClickException("\n".join(["Loaded from another host:", *foreign]))
    lychee = ["uv", "run", "--isolated", "--only-group", "links", "lychee"]
    options = [
        "--no-progress",
        "--include-fragments",
        "--index-files",
        "index.html",
        "--root-dir",
        str(ROOT / site.PUBLIC),
    ]
    command = [*lychee, *options, *([] if online else ["--offline"]), f"{ROOT / site.PUBLIC}/**/*.html"]
    sys.exit(subprocess.run(command, check=False, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
