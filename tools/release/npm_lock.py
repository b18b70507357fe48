"""The packages that a workspace of `package-lock.json` needs at run time, as components of CycloneDX.

`npm sbom` refuses a root package without a version, and leaves out packages that the root package needs for development.
"""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

type Packages = dict[str, dict[str, Any]]


def read_components(lock: Path, *workspaces: str) -> list[dict[str, Any]]:
    """Return the workspaces themselves, and everything that they import, once each, sorted by name."""
    packages: Packages = json.loads(lock.read_text())["packages"]
    places: set[str] = set()
    waiting = list(workspaces)
    while waiting:
        place = waiting.pop()
        if place not in places:
            places.add(place)
            waiting += _dependencies(packages, place)
    found = [_component(packages[place], _name(packages[place], place)) for place in places]
    return sorted(found, key=lambda each: str(each["bom-ref"]))


def _dependencies(packages: Packages, place: str) -> Iterator[str]:
    """Yield the places of the direct dependencies. An optional one of another operating system may have none."""
    package = packages[place]
    for name in (*package.get("dependencies", {}), *package.get("optionalDependencies", {})):
        found = _resolve(packages, place, name)
        if found:
            yield found
        elif name not in package.get("optionalDependencies", {}):
            raise ValueError(f"{place} needs {name}, which the lock file does not have.")


def _resolve(packages: Packages, place: str, name: str) -> str | None:
    """Return the place of a dependency as Node finds it: in the nearest `node_modules` above. A workspace is a link."""
    while True:
        wanted = f"{place}/node_modules/{name}".lstrip("/")
        if wanted in packages:
            package = packages[wanted]
            return str(package["resolved"]) if package.get("link") else wanted
        if not place:
            return None
        place = place.rpartition("/")[0]


def _name(package: dict[str, Any], place: str) -> str:
    return str(package.get("name") or place.rpartition("node_modules/")[2])


def _component(package: dict[str, Any], name: str) -> dict[str, Any]:
    version = package["version"]
    component = {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
    }
    if "license" in package:
        component["licenses"] = [{"expression": package["license"]}]
    if "integrity" in package:
        kind, digest = package["integrity"].split("-", 1)
        hashed = {"alg": f"SHA-{kind.removeprefix('sha')}", "content": b64decode(digest).hex()}
        component["hashes"] = [hashed]
    return component
