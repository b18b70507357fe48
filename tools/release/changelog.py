"""The changelog, which towncrier makes from the fragments in `changes/`."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.release.command import ReleaseError

FRAGMENTS: Final = "*.*.md"
NOTES: Final = "release-notes.md"


def render_unreleased(root: Path) -> str:
    """Return the section for the changes since the last release, or nothing if there are none."""
    if not has_fragments(root):
        return ""
    text = _towncrier(root, "--draft", "--version", "next")
    return re.sub(r"\A\s*## .*", "\n## Not released yet", text)


def has_fragments(root: Path) -> bool:
    return any((root / "changes").rglob(FRAGMENTS))


def write_release(root: Path, version: str, date: str) -> None:
    """Move all fragments into a section of the changelog."""
    _towncrier(root, "--yes", "--version", version, "--date", date)


def read_section(root: Path, version: str) -> str:
    """Return the section of a version, without its heading. Raises `ReleaseError` if there is none."""
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(rf"(?ms)^## {re.escape(version)} \([^)]*\)\n+(.*?)(?=^## |\Z)", text)
    if not found:
        raise ReleaseError(f"CHANGELOG.md has no section for {version}.")
    return found[1].rstrip() + "\n"


def _towncrier(root: Path, *options: str) -> str:
    command = [sys.executable, "-m", "towncrier", "build", "--dir", str(root), *options]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
