"""Find the programs of other servers, and install them from packages."""

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
    """A missing program. The message states how to install it."""


def home() -> Path:
    made = default_cache().path / "peers"
    made.mkdir(parents=True, exist_ok=True)
    return made


def loader() -> Path:
    """Build the load generator. Go rebuilds only changed files."""
    go, built = _program("go", "install Go"), home() / "load"
    subprocess.run([go, "build", "-o", str(built), "."], cwd=LOADER, check=True)
    return built


def nats() -> str:
    return _program("nats-server", _HOW)


def synapse() -> str:
    python = home() / "synapse" / "bin" / "python"
    if not python.exists():
        raise NotInstalledError(f"Synapse is not installed; {_HOW}")
    return str(python)


def ejabberd() -> tuple[str, Path]:
    """Return the Erlang program and the folder with its libraries."""
    for found in sorted(Path("/usr/lib").glob("*/ejabberd-*/ebin")):
        return _program("erl", _HOW), found.parents[1]
    raise NotInstalledError(f"ejabberd is not installed; {_HOW}")


def ejabberd_schema() -> Path:
    schema = Path("/usr/share/ejabberd/sql/pg.sql")
    if not schema.exists():
        raise NotInstalledError(f"{schema} does not exist; {_HOW}")
    return schema


def postgres(program: str) -> str:
    """Find a program of Postgres, which Debian installs in a folder for each version."""
    for found in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), reverse=True):
        return str(found)
    return _program(program, _HOW)


_HOW = "`just bench peers --install` installs the available servers"


def _program(name: str, how: str) -> str:
    found = shutil.which(name, path=f"{home() / 'bin'}:{os.environ.get('PATH', '')}")
    if found is None:
        raise NotInstalledError(f"`{name}` is not installed; {how}")
    return found


def installations() -> dict[str, Sequence[Sequence[str]]]:
    """Return the commands that install each server, in order."""
    python = str(home() / "synapse" / "bin" / "python")
    return {
        "ejabberd and Postgres": [["apt-get", "install", "-y", "--no-install-recommends", *_DEBIAN]],
        "NATS": [["env", f"GOBIN={home() / 'bin'}", "go", "install", _NATS]],
        "Synapse": [
            ["uv", "venv", "--clear", "--python", "3.12", str(home() / "synapse")],
            ["uv", "pip", "install", "--python", python, *_SYNAPSE],
        ],
    }
