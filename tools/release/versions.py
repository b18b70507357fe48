"""One version for all packages. `server/pyproject.toml` has it; the other files are compared with it and set from it."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.release.command import ReleaseError

PYTHON_PACKAGES: Final = ("wire", "server", "sdk-python", "terminal", "harness")
"""Folders of the published Python packages, each after those that it imports."""
_SOURCE: Final = "server/pyproject.toml"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+|\.dev\d+)?")
_PRE_RELEASE: Final = {"a": "alpha", "b": "beta", "rc": "rc", ".dev": "dev"}


@dataclass(frozen=True, slots=True)
class VersionPattern:
    """Occurrences of a version in a text file. The group `version` is the version."""

    file: str
    pattern: str
    is_npm: bool = False


def _patterns() -> Iterator[VersionPattern]:
    for folder in PYTHON_PACKAGES:
        yield VersionPattern(f"{folder}/pyproject.toml", r'(?m)^version = "(?P<version>[^"]+)"')
        if folder != "wire":
            yield VersionPattern(
                f"{folder}/pyproject.toml", r'"tidings-(?:wire|sdk|terminal)==(?P<version>[^"]+)"'
            )
    yield VersionPattern(
        "uv.lock", r'(?m)^name = "tidings(?:-(?!workspace)\w+)?"\nversion = "(?P<version>[^"]+)"'
    )
    yield VersionPattern("sdk-typescript/src/frames.gen.ts", r'VERSION = "(?P<version>[^"]+)"', is_npm=True)
    yield VersionPattern(
        "infra/chart/Chart.yaml", r'(?m)^(?:version|appVersion): "(?P<version>[^"]+)"', is_npm=True
    )
    yield VersionPattern("infra/image/Dockerfile", r'image\.version="(?P<version>[^"]+)"')


def npm_version(version: str) -> str:
    """Return a version of Python as npm and Helm write it: `0.1.0rc1` is `0.1.0-rc.1`. Raises `ReleaseError`."""
    if not _VERSION.fullmatch(version):
        raise ReleaseError(f"{version} is not a version. Write it like 0.1.0 or 0.1.0rc1.")
    number, kind, count = re.fullmatch(r"([\d.]+\d)(?:(a|b|rc|\.dev)(\d+))?", version).groups()  # type: ignore[union-attr]
    return f"{number}-{_PRE_RELEASE[kind]}.{count}" if kind else number


def read_version(root: Path) -> str:
    return str(tomllib.loads((root / _SOURCE).read_text())["project"]["version"])


def version_faults(root: Path) -> list[str]:
    """Return the places that have another version than the server's package."""
    wanted = read_version(root)
    faults = [
        f"{each.file}: {found}"
        for each in _patterns()
        for found in _versions(root, each) or ["no version"]
        if found != _written(each, wanted)
    ]
    for manifest in _manifests(root):
        found = _npm_versions(json.loads(manifest.read_text()))
        faults += [f"{manifest.relative_to(root)}: {each}" for each in found if each != npm_version(wanted)]
    return faults


def set_version(root: Path, version: str) -> list[Path]:
    """Write the version to every file that has it. Return the changed files."""
    npm_version(version)
    changed = [path for each in _patterns() if (path := _set_in_text(root, each, version))]
    for manifest in _manifests(root):
        content = json.loads(manifest.read_text())
        _set_npm_versions(content, npm_version(version))
        changed += (
            [manifest]
            if _is_written(manifest, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
            else []
        )
    return list(dict.fromkeys(changed))


def _written(pattern: VersionPattern, version: str) -> str:
    return npm_version(version) if pattern.is_npm else version


def _versions(root: Path, pattern: VersionPattern) -> list[str]:
    return [found["version"] for found in re.finditer(pattern.pattern, (root / pattern.file).read_text())]


def _set_in_text(root: Path, pattern: VersionPattern, version: str) -> Path | None:
    path = root / pattern.file

    def replaced(found: re.Match[str]) -> str:
        return found[0].replace(found["version"], _written(pattern, version))

    return path if _is_written(path, re.sub(pattern.pattern, replaced, path.read_text())) else None


def _is_written(path: Path, text: str) -> bool:
    """Write a file if its content changes, and return whether it did."""
    if path.read_text() == text:
        return False
    path.write_text(text)
    return True


def _manifests(root: Path) -> list[Path]:
    workspaces = json.loads((root / "package.json").read_text())["workspaces"]
    return [root / "package-lock.json", *(root / folder / "package.json" for folder in workspaces)]


def _packages(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return our packages in a manifest, or in the lock file."""
    packages = content.get("packages", {"": content})
    return [each for each in packages.values() if str(each.get("name", "")).startswith("@tidings/")]


def _npm_versions(content: dict[str, Any]) -> Iterator[str]:
    for package in _packages(content):
        yield package["version"]
        yield from (
            version
            for name, version in package.get("dependencies", {}).items()
            if name.startswith("@tidings/")
        )


def _set_npm_versions(content: dict[str, Any], version: str) -> None:
    for package in _packages(content):
        package["version"] = version
        own = [name for name in package.get("dependencies", {}) if name.startswith("@tidings/")]
        package.get("dependencies", {}).update(dict.fromkeys(own, version))
