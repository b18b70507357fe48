"""Where other servers' programs are, or why they are not there; and what installs them by the names of their packages."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tidings.engines.jars import default_cache

LOADER = Path(__file__).parent / "load"
_DEBIAN = ("postgresql", "ejabberd", "erlang-p1-pgsql")
_NATS = "github.com/nats-io/nats-server/v2@latest"
_SYNAPSE = ("matrix-synapse", "psycopg2-binary")


class NotInstalledError(Exception):
    """Says what is missing and how to get it."""


def home() -> Path:
    made = default_cache().path / "peers"
    made.mkdir(parents=True, exist_ok=True)
    return made


def loader() -> Path:
    """Built anew each time; Go knows what has changed."""
    go, built = _program("go", "install Go"), home() / "load"
    subprocess.run([go, "build", "-o", str(built), "."], cwd=LOADER, check=True)
    return built


def nats() -> str:
    return _program("nats-server", _HOW)


def synapse() -> str:
    python = home() / "synapse" / "bin" / "python"
    if not python.exists():
        raise NotInstalledError(f"no Synapse; {_HOW}")
    return str(python)


def ejabberd() -> tuple[str, Path]:
    """Erlang, and the folder that its libraries are found in."""
    for found in sorted(Path("/usr/lib").glob("*/ejabberd-*/ebin")):
        return _program("erl", _HOW), found.parents[1]
    raise NotInstalledError(f"no ejabberd; {_HOW}")


def ejabberd_schema() -> Path:
    schema = Path("/usr/share/ejabberd/sql/pg.sql")
    if not schema.exists():
        raise NotInstalledError(f"no {schema}; {_HOW}")
    return schema


def postgres(program: str) -> str:
    """Debian keeps them out of the way of others' versions."""
    for found in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), reverse=True):
        return str(found)
    return _program(program, _HOW)


_HOW = "`just bench peers --install` installs what it can"


def _program(name: str, how: str) -> str:
    found = shutil.which(name, path=f"{home() / 'bin'}:{os.environ.get('PATH', '')}")
    if found is None:
        raise NotInstalledError(f"no `{name}`; {how}")
    return found


def installations() -> dict[str, Sequence[Sequence[str]]]:
    """Commands for each, in order."""
    python = str(home() / "synapse" / "bin" / "python")
    return {
        "ejabberd and Postgres": [["apt-get", "install", "-y", "--no-install-recommends", *_DEBIAN]],
        "NATS": [["env", f"GOBIN={home() / 'bin'}", "go", "install", _NATS]],
        "Synapse": [
            ["uv", "venv", "--clear", "--python", "3.12", str(home() / "synapse")],
            ["uv", "pip", "install", "--python", python, *_SYNAPSE],
        ],
    }
