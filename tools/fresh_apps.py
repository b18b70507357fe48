"""Install the packed packages into apps outside of the workspace; compile, build and start them.

In the workspace, examples resolve the packages by links. Here they see only what `npm publish` would upload.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tools.node import ROOT, node_command, node_environment

_APPS = {
    "react-chat": ("npx", "vite", "preview", "--host", "127.0.0.1", "--port"),
    "next-app": ("npx", "next", "start", "--hostname", "127.0.0.1", "--port"),
}
_COMPILERS = ("typescript", "@types/node", "@types/react", "@types/react-dom")
_NOT_COPIED = ("node_modules", ".next", "dist", "*.tsbuildinfo", "next-env.d.ts")
_START_S = 60.0


def try_packages(packages: Path) -> None:
    """Build and start each app with the archives in `packages`."""
    with tempfile.TemporaryDirectory(prefix="tidings-fresh-") as directory:
        for name, start in _APPS.items():
            app = Path(directory, name)
            shutil.copytree(ROOT / "examples" / name, app, ignore=shutil.ignore_patterns(*_NOT_COPIED))
            include_base_config(app / "tsconfig.json")
            _require(app, packages)
            for command in (
                ("npm", "install", "--no-audit", "--no-fund"),
                ("npm", "run", "check"),
                ("npm", "run", "build"),
            ):
                _run(app, *command)
            with _started(app, start) as url:
                click.echo(f"{name}: {url} answered with {_page_bytes(url)} bytes")


def include_base_config(config: Path) -> None:
    """Replace `extends` by the options of the workspace. Next.js reads no file outside of the folder of the app."""
    content = json.loads(config.read_text())
    base = json.loads((ROOT / "tsconfig.base.json").read_text())
    del content["extends"]
    content["compilerOptions"] = base["compilerOptions"] | content["compilerOptions"]
    config.write_text(json.dumps(content, indent=2))


def _require(app: Path, packages: Path) -> None:
    """Depend on the archives, and on the versions of the compilers that the workspace uses."""
    manifest = json.loads((app / "package.json").read_text())
    pinned = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    archives = {
        f"@tidings/{path.name.split('-')[1]}": f"file:{path}" for path in packages.glob("tidings-*.tgz")
    }
    manifest["dependencies"] |= archives
    manifest["devDependencies"] = manifest.get("devDependencies", {}) | {
        name: pinned[name] for name in _COMPILERS
    }
    (app / "package.json").write_text(json.dumps(manifest, indent=2))


def _run(app: Path, name: str, *args: str) -> None:
    done = subprocess.run(node_command(name, args), cwd=app, env=_environment(), check=False)
    if done.returncode:
        raise click.ClickException(f"{app.name}: {name} {' '.join(args)} failed with {done.returncode}.")


def _environment() -> dict[str, str]:
    return {**node_environment(), "NEXT_TELEMETRY_DISABLED": "1"}


@contextmanager
def _started(app: Path, command: tuple[str, ...]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    name, *args = command
    # A group of its own: `npx` does not pass a signal on to the server that it has started.
    server = subprocess.Popen(
        node_command(name, [*args, str(port)]), cwd=app, env=_environment(), start_new_session=True
    )
    try:
        yield f"http://127.0.0.1:{port}/?user=anna"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def _page_bytes(url: str) -> int:
    """Return the size of the page, as soon as the server answers."""
    until = time.monotonic() + _START_S
    while True:
        try:
            with urllib.request.urlopen(url) as answer:  # noqa: S310 - a server of this process
                return len(answer.read())
        except OSError as error:
            if time.monotonic() > until:
                raise click.ClickException(f"{url} did not answer: {error}") from error
            time.sleep(0.2)
