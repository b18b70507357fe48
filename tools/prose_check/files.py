"""Find the files to check and extract their prose."""

import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tools.prose_check import markdown, other, python
from tools.prose_check.passages import Passage
from tools.prose_check.rules import Hit, Rule, check

ROOT = Path(__file__).parents[2]
GENERATED = (
    "uv.lock",
    "*.lock.toml",
    "*.gen.ts",
    "docs/benchmarks/results/*",
    "docs/reference/web/@tidings/*",
)


def tracked(paths: list[str], root: Path = ROOT) -> list[str]:
    """Return the files below `paths` that git tracks or would track, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *paths]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in names if name and (root / name).is_file() and not _is_generated(name))


def hits(names: list[str], rules: tuple[Rule, ...], root: Path = ROOT) -> Iterator[Hit]:
    """Yield what the rules find in these files, in order of path and line."""
    for name in names:
        found = [hit for passage in passages(root / name, name) for hit in check(name, passage, rules)]
        yield from sorted(found, key=lambda hit: (hit.line, hit.rule))


def passages(path: Path, name: str) -> Iterator[Passage]:
    """Yield the prose of one file. A file of unknown type has none."""
    if path.suffix == ".md":
        yield from markdown.passages(path.read_text())
    elif path.suffix == ".py":
        yield from python.passages(path.read_text(), with_texts="tests" not in PurePosixPath(name).parts)
    elif comment := other.COMMENTS.get(path.suffix or path.name):
        yield from other.passages(path.read_text(), comment)


def _is_generated(name: str) -> bool:
    return any(PurePosixPath(name).match(pattern) for pattern in GENERATED)
