"""The feature level of the REST API: a release that adds to the API of the release before it raises the level by one."""

import json
import re
from pathlib import Path
from typing import Any, Final

from tools.release.command import ReleaseError, run

_DOCUMENT: Final = "protocol/openapi.json"
_LEVEL: Final = "x-feature-level"
_RELEASE = re.compile(r"v\d+\.\d+\.\d+")
_PROSE: Final = frozenset({"description", "summary", "example", "examples", "title"})


def require_level(folder: Path) -> None:
    """Raise `ReleaseError` if the commit changes the REST API of the newest release without raising the level."""
    tags = run("git", "tag", "--merged", "HEAD", "--sort=-v:refname", cwd=folder).split()
    released = next((tag for tag in tags if _RELEASE.fullmatch(tag)), None)
    if released is None:
        return
    before = json.loads(run("git", "show", f"{released}:{_DOCUMENT}", cwd=folder))
    if fault := level_fault(before, json.loads((folder / _DOCUMENT).read_text())):
        raise ReleaseError(
            f"{fault} since {released}. Set FEATURE_LEVEL and add a row to docs/reference/rest.md."
        )


def level_fault(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return what is wrong with the level of an OpenAPI document that follows another one."""
    levels = [document["info"][_LEVEL] for document in (before, after)]
    if _interface(before) == _interface(after):
        return None if levels[0] == levels[1] else f"The feature level is {levels[1]}, but nothing was added"
    if levels[1] == levels[0] + 1:
        return None
    return f"The REST API has changed, but its feature level is {levels[1]} instead of {levels[0] + 1}"


def _interface(document: dict[str, Any]) -> Any:  # noqa: ANN401 - any part of a document
    return [_without_prose(document.get(part, {})) for part in ("paths", "components")]


def _without_prose(value: Any) -> Any:  # noqa: ANN401 - any part of a document
    """Remove texts for people. A key below `properties` is the name of a field, also if it is "description"."""
    if isinstance(value, list):
        return [_without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {field: _without_prose(each) for field, each in part.items()}
        if name == "properties" and isinstance(part, dict)
        else _without_prose(part)
        for name, part in value.items()
        if name not in _PROSE
    }
