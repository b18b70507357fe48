"""Watches the source folder. What does not even compile restarts nothing: it is told, and the old code runs on."""

from collections.abc import AsyncIterator
from pathlib import Path

from watchfiles import PythonFilter, awatch

import tidings

SOURCE = Path(tidings.__file__).parent
_DEBOUNCE_MS, _STEP_MS = 800, 100


def is_checkout() -> bool:
    """A checkout, not a package that was installed: that one changes only by an upgrade."""
    return not any(part in {"site-packages", "dist-packages"} for part in SOURCE.parts)


async def watch_source(source: Path = SOURCE) -> AsyncIterator[list[Path]]:
    """What was written, gathered: an editor's save is several events, a checkout of a branch thousands."""
    async for found in awatch(
        source, watch_filter=PythonFilter(extra_extensions=(".lua",)), debounce=_DEBOUNCE_MS, step=_STEP_MS
    ):
        yield sorted({Path(path) for _, path in found})


def syntax_error_in(paths: list[Path]) -> str:
    """Of the first file that Python can't read; empty if there is none."""
    for path in paths:
        if path.suffix == ".py" and path.exists():
            try:
                compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                return f"{path.name}: {error}"
    return ""


def describe_paths(paths: list[Path]) -> str:
    first = paths[0].relative_to(SOURCE) if paths[0].is_relative_to(SOURCE) else paths[0]
    return f"{first}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
