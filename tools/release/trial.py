"""Install a release from its wheels alone, outside of the checkout, and follow the quick start of the README."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from tidings.engines.jars import default_cache
from tools.node import ROOT
from tools.release.command import ReleaseError, run

_FIRST_MESSAGE: Final = Path(__file__).parent / "first_message.py"
_START_S: Final = 300.0
_STOP_S: Final = 60.0
_PORTS: Final = ("API", "GATEWAY", "CONSOLE")


class QuickStart:
    """An installation of the wheels in a directory of its own, with an environment that knows no checkout.

    `cache`: the directory of the engines. Its content is the only thing that a new machine does not have.
    """

    def __init__(self, directory: Path, cache: Path) -> None:
        self.python = directory / "venv/bin/python"
        self._directory = directory
        self._log = directory / "dev.log"
        self._environment = {
            "PATH": os.pathsep.join((str(self.python.parent), "/usr/bin", "/bin")),
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "TIDINGS_ENGINES_CACHE_DIR": str(cache),
            **{f"TIDINGS_{name}_PORT": "0" for name in _PORTS},  # another installation may use the defaults
        }

    def install(self, wheels: Path, constraints: Path | None = None) -> None:
        """Create a virtual environment, and install the wheels. Other packages come from the package index."""
        run(
            "uv",
            "venv",
            "--quiet",
            "--python",
            sys.executable,
            str(self.python.parents[1]),
            cwd=self._directory,
        )
        chosen = ["--constraints", str(constraints)] if constraints else []
        wheel = next(wheels.glob("tidings-[0-9]*.whl"))
        words = ("--quiet", "--python", str(self.python), "--find-links", str(wheels), *chosen)
        run("uv", "pip", "install", *words, f"tidings[dev] @ {wheel.as_uri()}", cwd=self._directory)

    def command(self, *words: str) -> str:
        """Run an installed command, by its name, and return its output."""
        return run(str(self.python.parent / words[0]), *words[1:], cwd=self._directory, env=self._environment)

    @contextmanager
    def started(self) -> Iterator[str]:
        """Run `tidings dev` as a user does, and return the address that it prints for the browser."""
        with self._log.open("w") as log:
            dev = subprocess.Popen(
                [str(self.python.parent / "tidings"), "dev"],
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield self._wait_for_address(dev)
        finally:
            dev.send_signal(signal.SIGINT)
            dev.wait(_STOP_S)

    def _wait_for_address(self, dev: subprocess.Popen[bytes]) -> str:
        until = time.monotonic() + _START_S
        while not (found := re.search(r"open +(http\S+)", self._log.read_text())):
            if dev.poll() is not None or time.monotonic() > until:
                raise ReleaseError(f"`tidings dev` printed no address.\n{self._log.read_text()[-3_000:]}")
            time.sleep(0.1)
        return found[1]


def try_release(wheels: Path, *, is_locked: bool, is_cold: bool) -> Mapping[str, object]:
    """Return the seconds of each step. Raises `ReleaseError` if one fails."""
    if not any(wheels.glob("tidings-*.whl")):
        raise ReleaseError(f"{wheels} has no wheels. Run `just release VERSION`.")
    with tempfile.TemporaryDirectory(prefix="tidings-release-") as name:
        directory = Path(name)
        quick_start = QuickStart(directory, directory / "engines" if is_cold else default_cache().path)
        took = {}
        began = time.monotonic()
        quick_start.install(wheels, locked_versions(directory) if is_locked else None)
        took["install_s"] = time.monotonic() - began
        version = quick_start.command("tidings", "--version").strip()
        began = time.monotonic()
        with quick_start.started() as address:
            took["ready_s"] = time.monotonic() - began
            _require_page(address)
            quick_start.command("python", str(_FIRST_MESSAGE))
            took["first_message_s"] = time.monotonic() - began
            quick_start.command("tidings", "chat", "--help")
            quick_start.command("tidings", "doctor")
    return {"version": version, **{step: round(seconds, 1) for step, seconds in took.items()}}


def locked_versions(folder: Path) -> Path:
    """Write the versions of the lock file as constraints for pip."""
    path = folder / "constraints.txt"
    what = ("--no-hashes", "--no-emit-workspace", "--no-default-groups", "--all-packages", "--all-extras")
    run("uv", "export", "--quiet", "--locked", *what, "--output-file", str(path), cwd=ROOT)
    return path


def _require_page(address: str) -> None:
    """Check that the page and its script are part of the package."""
    page = _read(address)
    scripts = re.findall(r'src="(/assets/[^"]+\.js)"', page)
    if not scripts:
        raise ReleaseError(f"{address} is not the demo page: {page[:200]}")
    origin = re.match(r"http://[^/]+", address)
    click.echo(
        f"{address}: {len(page)} bytes, script of {len(_read(origin[0] + scripts[0]))} bytes"
        if origin
        else ""
    )


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - an address on this machine
        return str(answer.read().decode())
