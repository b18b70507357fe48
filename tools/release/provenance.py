"""The provenance of a release: which commit and which locked tools its artefacts were built from (SLSA, in-toto)."""

import hashlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tools.release.command import run
from tools.release.source import ReleaseSource

NAME: Final = "provenance.intoto.json"
CHECKSUMS: Final = "SHA256SUMS"
_LOCKS: Final = ("uv.lock", "package-lock.json", ".ci/tools.txt")


def sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write_provenance(source: ReleaseSource, dist: Path) -> None:
    """Write the statement about all files of `dist`."""
    (dist / NAME).write_text(json.dumps(_statement(source, dist), indent=2) + "\n")


def _statement(source: ReleaseSource, dist: Path) -> dict[str, Any]:
    subjects = [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in sorted(dist.iterdir())]
    locks = [{"uri": name, "digest": {"sha256": sha256(source.folder / name)}} for name in _LOCKS]
    commit = {"uri": "git+" + _repository(source), "digest": {"gitCommit": source.commit}}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "just release",
                "externalParameters": {"version": source.version, "isPrepared": source.is_prepared},
                "resolvedDependencies": [commit, *locks],
            },
            "runDetails": {
                "builder": {"id": _builder(), "version": _tools(source)},
                "metadata": {
                    "invocationId": os.environ.get("GITHUB_RUN_ID", ""),
                    "finishedOn": datetime.now(UTC).isoformat(timespec="seconds"),
                },
            },
        },
    }


def _repository(source: ReleaseSource) -> str:
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return f"{server}/{name}" if server and name else source.folder.name


def _builder() -> str:
    """Return the workflow that builds, or that a person built on a machine of their own."""
    workflow = os.environ.get("GITHUB_WORKFLOW_REF")
    return f"https://github.com/{workflow}" if workflow else "local"


def _tools(source: ReleaseSource) -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "uv": run("uv", "--version", cwd=source.folder).split()[1],
        "system": platform.platform(),
    }


def write_checksums(dist: Path) -> None:
    """Write the SHA-256 of every file, in the format of `sha256sum`."""
    names = sorted(path for path in dist.iterdir() if not path.name.startswith(CHECKSUMS))
    (dist / CHECKSUMS).write_text("".join(f"{sha256(path)}  {path.name}\n" for path in names))


def checksum_faults(dist: Path) -> list[str]:
    """Return the files that differ from the checksums, are missing, or have none."""
    lines = [line.split("  ", 1) for line in (dist / CHECKSUMS).read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    found = {path.name for path in dist.iterdir() if not path.name.startswith(CHECKSUMS)}
    faults = [f"{name}: not listed in {CHECKSUMS}" for name in sorted(found - listed.keys())]
    faults += [f"{name}: missing" for name in sorted(listed.keys() - found)]
    different = (name for name in sorted(found & listed.keys()) if sha256(dist / name) != listed[name])
    return faults + [f"{name}: differs from its checksum" for name in different]
