"""Versions of Tidings for the upgrade test: each is the export of a commit with a virtual environment of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, override

import failpoints
from fixtures.engines import Dynamo, Namespace
from fixtures.installation_processes import (
    SHORT_SESSION,
    InstallationProcess,
    InstallationProcesses,
    ProcessKind,
)
from fixtures.tables import Tables

from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest

REPOSITORY: Final = Path(__file__).parents[4]
_EXPORTS: Final = REPOSITORY / "build/versions"
_COMPLETE: Final = ".complete"


@dataclass(frozen=True, slots=True)
class Version:
    """`mutant`: the promise that the processes of this version break on purpose, see `failpoints`."""

    commit: str
    folder: Path
    mutant: str = ""

    @classmethod
    def export(cls, revision: str, mutant: str = "") -> Self:
        """Export a commit and install its locked packages, unless that was done before."""
        commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()
        folder = _EXPORTS / commit[:12]
        if not (folder / _COMPLETE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            archive = subprocess.run(
                ["git", "archive", commit], cwd=REPOSITORY, capture_output=True, check=True
            )
            subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
            subprocess.run(["uv", "sync", "--quiet", "--locked"], cwd=folder, env=_environment(), check=True)
            (folder / _COMPLETE).touch()
        return cls(commit, folder, mutant)

    @property
    def bin(self) -> Path:
        return self.folder / ".venv/bin"

    @property
    def environment(self) -> dict[str, str]:
        """Put the commands of this version first, so that a shell runs the commands of a page with it."""
        ours = _environment()
        return ours | {"PATH": f"{self.bin}:{ours['PATH']}"}

    def __str__(self) -> str:
        return self.commit[:12] + (f" ({self.mutant})" if self.mutant else "")


@dataclass(kw_only=True)
class VersionProcesses(InstallationProcesses):
    """The processes of an installation, of the version that is installed at the moment."""

    version: Version
    versions: dict[int, Version] = field(default_factory=dict)
    """By process id."""

    @override
    def run(self, kind: ProcessKind, **changes: str) -> InstallationProcess:
        mutant = self.version.mutant
        given = {"FAILPOINTS_MUTANT": mutant} if mutant else {}
        settings = {name: value for name, value in changes.items() if name != "FAILPOINTS_PAUSE_AT"}
        environment = self.environment(**settings, **given) | (failpoints.LOADED if mutant else {})
        command = [str(self.version.bin / "tidings"), "run", kind]
        process = InstallationProcess(command, cwd=self.directory, environment=environment)
        self.started.append(process)
        self.versions[process.popen.pid] = self.version
        return process

    @override
    def environment(self, **given: str) -> dict[str, str]:
        settings = {name: value for name, value in self._settings().items() if name not in failpoints.LOADED}
        return (
            self.version.environment | settings | {f"TIDINGS_{name}": value for name, value in given.items()}
        )

    def shell(self, commands: str, **given: str) -> str:
        """Run commands of a page with this version, and return their output. Raise `RuntimeError` if one fails."""
        done = subprocess.run(
            ["bash", "-e", "-c", commands],
            check=False,
            cwd=self.directory,
            env=self.environment(**given),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(
                f"{self.version}: {commands}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout


@contextmanager
def installation_of(version: Version) -> Iterator[VersionProcesses]:
    """Start engines without tables and topics."""
    cache = default_cache()
    kind: DynamoKind = "dynoxide" if dynoxide.is_installed(cache) else "local"
    wish = StartRequest(
        engines=frozenset({Engine.DYNAMO, Engine.KAFKA, Engine.VALKEY}),
        dynamo=kind,
        kafka_extra=SHORT_SESSION,
    )
    with tempfile.TemporaryDirectory(prefix="tidings-") as place:
        fleet = LocalCluster(Path(place) / "engines", cache, dies_with_us=True)
        try:
            fleet.start(wish)
            addresses = {each.node.engine: each.node.address for each in fleet.status()}
            space = Namespace()
            yield VersionProcesses(
                Tables(Dynamo(kind, f"http://{addresses[Engine.DYNAMO]}"), space.table_prefix),
                f"redis://{addresses[Engine.VALKEY]}",
                Path(place),
                space,
                kafka=addresses[Engine.KAFKA],
                fleet=fleet,
                version=version,
            )
        finally:
            fleet.stop()


def _environment() -> dict[str, str]:
    """Return the environment without what selects another checkout's packages."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    present = str(Path(sys.executable).parent)
    paths = [path for path in ours["PATH"].split(os.pathsep) if path != present]
    dropped = {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "PYTHONPATH"}
    return {name: value for name, value in ours.items() if name not in dropped} | {
        "PATH": os.pathsep.join(paths)
    }


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
