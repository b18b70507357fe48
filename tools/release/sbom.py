"""Lists of the components of each package (SBOM), as CycloneDX, from the lock files."""

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.release.command import run
from tools.release.npm_lock import read_components
from tools.release.source import ReleaseSource
from tools.release.versions import PYTHON_PACKAGES, npm_version

_LOCK = "package-lock.json"
_SERVER = "server"
_PAGES = ("console", "demo")
"""Packages for the web that the wheel of the server contains, with everything that they import."""
_NPM = {"sdk-typescript": "client", "sdk-node": "server", "react": "react"}


def write_sboms(source: ReleaseSource, dist: Path) -> None:
    """Write one list for each package: what it requires, with all optional parts, and what it contains."""
    for folder in PYTHON_PACKAGES:
        name = "tidings" if folder == _SERVER else f"tidings-{folder.removesuffix('-python')}"
        content = _python_components(source, name)
        if folder == _SERVER:
            content["components"] += read_components(source.folder / _LOCK, *_PAGES)
        _write(source, dist / f"{name}-{source.version}.cdx.json", content)
    for folder, name in _NPM.items():
        place = dist / f"tidings-npm-{name}-{npm_version(source.version)}.cdx.json"
        _write(source, place, _npm_list(source, folder))


def _python_components(source: ReleaseSource, name: str) -> dict[str, Any]:
    what = ("--package", name, "--all-extras", "--no-default-groups", "--locked", "--quiet")
    printed = run("uv", "export", "--format", "cyclonedx1.5", *what, cwd=source.folder)
    content: dict[str, Any] = json.loads(printed)
    content.setdefault("components", [])
    return content


def _npm_list(source: ReleaseSource, folder: str) -> dict[str, Any]:
    components = read_components(source.folder / _LOCK, folder)
    own = next(each for each in components if str(each["name"]) == f"@tidings/{_NPM[folder]}")
    components.remove(own)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }


def _write(source: ReleaseSource, path: Path, content: dict[str, Any]) -> None:
    """Write a list without what differs in every run: its time and its number."""
    content["metadata"]["timestamp"] = datetime.fromtimestamp(source.epoch, UTC).isoformat()
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"tidings/{source.commit}/{path.name}")
    content["serialNumber"] = f"urn:uuid:{number}"
    path.write_text(json.dumps(content, indent=2) + "\n")
