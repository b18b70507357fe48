"""Install, check, test and build the packages for the web: `python -m tools.web check`."""

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import click

from tools.fresh_apps import try_packages
from tools.node import ROOT, node_command, node_environment

LIBRARIES = ("sdk-typescript", "sdk-node", "react")
"""The published packages, each after those that it imports."""
PAGES = ("demo", "console")
"""The pages that are part of the server's package."""
EXAMPLES = ("token-server", "plain-client", "react-chat", "react-inbox", "react-recipes", "next-app")
APPS = (*PAGES, "browser-tests", *(f"examples/{name}" for name in EXAMPLES))
_LOCK = ROOT / "package-lock.json"
_STAMP = ROOT / "node_modules" / ".installed"
_PACKAGES = ROOT / "build/web"


@click.group()
def main() -> None:
    """Run a step of the packages for the web."""


@main.command()
def install() -> None:
    """Install the packages of the lock file, unless they are installed."""
    ensure_installed()


@main.command()
def build() -> None:
    """Build the published packages."""
    ensure_installed()
    build_libraries()


@main.command()
def pages() -> None:
    """Build the pages that the server's package contains."""
    ensure_installed()
    build_pages()


@main.command()
def check() -> None:
    """Check style, types, generated files, sizes and the content of the packages."""
    ensure_installed()
    run("biome", "ci", "--error-on-warnings", ".")
    check_generated()
    build_libraries()
    for folder in (*LIBRARIES, *APPS):
        run_script(folder, "check")
    for folder in LIBRARIES:
        run_script(folder, "size")
        run_script(folder, "pack:check")
    check_reference()


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1)
def test(args: tuple[str, ...]) -> None:
    """Run the unit tests of every package. Those of the components need Chromium."""
    ensure_installed()
    build_libraries()
    for folder in LIBRARIES:
        if folder == "react" and not has_chromium():
            click.echo("react: not run, because this machine has no chromium")
        else:
            run_script(folder, "test", *args)


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--short", is_flag=True, help="Leave out the tests with the tag @slow.")
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Run the tests with the tag @long too, and all in the complete Chromium.",
)
@click.argument("args", nargs=-1)
def browser(args: tuple[str, ...], *, short: bool, is_all: bool) -> None:
    """Run the tests in Chromium on an installation that `tidings dev` starts."""
    ensure_installed()
    build_libraries()
    build_pages()
    if is_all and (chromium := shutil.which("chromium")):
        os.environ.setdefault("CHROMIUM", chromium)
    left_out = ["--grep-invert", "@long|@slow" if short else "@long"]
    run("playwright", "test", *([] if is_all else left_out), *args, folder="browser-tests")


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1)
def history(args: tuple[str, ...]) -> None:
    """Check the history of many browser devices under faults."""
    ensure_installed()
    build_libraries()
    run("node", "history/run.ts", *args, folder="browser-tests")


@main.command()
@click.option(
    "--write/--no-write", "writes", default=False, help="Write the report of the documentation too."
)
@click.option("--only", help="Measure the pages with this text in their names.  [default: all]")
def lighthouse(*, writes: bool, only: str | None) -> None:
    """Measure demo, console and documentation with Lighthouse. Fails if a score is below 95."""
    ensure_installed()
    build_libraries()
    build_pages()
    options = ["--write", str(ROOT / "docs/benchmarks/lighthouse.md")] if writes else []
    options += ["--only", only] if only else []
    run("node", "bench/lighthouse.ts", *options, folder="browser-tests", is_timed=False)


@main.command()
@click.option(
    "--try", "is_tried", is_flag=True, help="Install them into a Vite and a Next.js app, and start these."
)
def pack(*, is_tried: bool) -> None:
    """Write the archives that `npm publish` would upload, to `build/web`."""
    ensure_installed()
    build_libraries()
    _PACKAGES.mkdir(parents=True, exist_ok=True)
    for folder in LIBRARIES:
        run("npm", "pack", "--silent", "--pack-destination", str(_PACKAGES), folder=folder)
    if is_tried:
        try_packages(_PACKAGES)


@main.command()
def gen() -> None:
    """Write the generated files."""
    ensure_installed()
    for folder in LIBRARIES:
        run_script(folder, "gen")


@main.command()
def reference() -> None:
    """Write the reference pages from the comments of the code."""
    ensure_installed()
    build_libraries()
    write_reference()


@main.command()
def fix() -> None:
    """Format the code and apply safe fixes."""
    ensure_installed()
    run("biome", "check", "--write", ".")


def has_chromium() -> bool:
    return "CHROMIUM" in os.environ or shutil.which("chromium") is not None


def ensure_installed() -> None:
    wanted = hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    if _STAMP.exists() and _STAMP.read_text() == wanted:
        return
    # Not `npm ci`: it refuses a lock file without the optional packages of other operating systems, which some mirrors
    # of the registry do not have.
    run("npm", "install", "--no-save")
    _STAMP.write_text(wanted)


def build_libraries() -> None:
    """Build the packages whose sources are newer than the last build."""
    for folder in LIBRARIES:
        if not _is_built(ROOT / folder):
            run_script(folder, "build")


def build_pages() -> None:
    """Build the pages whose sources, or those of the packages that they contain, are newer than the last build."""
    for folder in PAGES:
        if not _is_built(ROOT / folder, *(ROOT / library for library in LIBRARIES), ROOT / "examples"):
            run_script(folder, "build")


def _is_built(folder: Path, *others: Path) -> bool:
    built = _build_stamp(folder)
    if not built.exists():
        return False
    sources = [folder / "index.html", _LOCK] if (folder / "index.html").exists() else [_LOCK]
    for each in (folder, *others):
        sources += [*each.glob("**/src/**/*"), *each.glob("*.json"), *each.glob("*.ts")]
    return all(path.stat().st_mtime < built.stat().st_mtime for path in sources)


def _build_stamp(folder: Path) -> Path:
    return ROOT / "node_modules" / f".built-{folder.name}"


def check_generated() -> None:
    """Fail if a generated file differs from what the generator writes now."""
    files = [path for folder in LIBRARIES for path in (ROOT / folder).glob("src/**/*.gen.ts")]
    before = {path: path.read_text() for path in files}
    for folder in LIBRARIES:
        run_script(folder, "gen")
    stale = [path for path, text in before.items() if path.read_text() != text]
    for path in stale:
        path.write_text(before[path])
    _fail_if_stale(stale, "just web gen")


def write_reference() -> None:
    run("typedoc")


def check_reference() -> None:
    pages = ROOT / "docs/reference/web"
    before = {path: path.read_text() for path in pages.glob("**/*.md")}
    write_reference()
    after = {path: path.read_text() for path in pages.glob("**/*.md")}
    stale = [path for path in {*before, *after} if before.get(path) != after.get(path)]
    _fail_if_stale(stale, "just web reference")


def _fail_if_stale(stale: Sequence[Path], command: str) -> None:
    if stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in sorted(stale))
        raise click.ClickException(f"Not current: {names}. Run `{command}`.")


def run_script(folder: str, script: str, *args: str) -> None:
    """Run a script of a package, if the package has it."""
    manifest = ROOT / folder / "package.json"
    if not manifest.exists() or script not in json.loads(manifest.read_text()).get("scripts", {}):
        return
    run("npm", "run", "--silent", script, *(["--", *args] if args else []), folder=folder)
    if script == "build":
        _build_stamp(ROOT / folder).touch()


def run(name: str, *args: str, folder: str = ".", is_timed: bool = True) -> None:
    """Run a program, print how long it took if `is_timed`, and exit with its code if it fails."""
    began = time.monotonic()
    done = subprocess.run(node_command(name, args), cwd=ROOT / folder, env=node_environment(), check=False)
    what = " ".join((name, *args))
    if is_timed:
        click.echo(f"{folder}: {what}: {time.monotonic() - began:.1f} s")
    if done.returncode:
        raise click.ClickException(f"{folder}: {what} failed with exit code {done.returncode}.")


if __name__ == "__main__":
    main()
