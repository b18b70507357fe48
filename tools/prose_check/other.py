"""Extract the comments of files that are neither Markdown nor Python."""

import re
from collections.abc import Iterator

from tools.prose_check.passages import Kind, Passage
from tools.prose_check.python import units

_HASH = re.compile(r"(?:^|\s)#(?!!)\s?(?P<text>.*)")
_DASHES = re.compile(r"(?:^|\s)--\s(?P<text>.*)")
_SLASHES = re.compile(r"(?:^|\s)//\s(?P<text>.*)")
_TYPESCRIPT = re.compile(r"(?:(?:^|\s)//\s|^\s*/?\*{1,2}\s)(?P<text>.*?)\s*(?:\*/)?$")

COMMENTS = {
    "justfile": _HASH,
    "run": _HASH,
    ".toml": _HASH,
    ".yaml": _HASH,
    ".sh": _HASH,
    ".tf": _HASH,
    ".lua": _DASHES,
    ".go": _SLASHES,
    ".java": _SLASHES,
    ".cjs": _SLASHES,
    ".ts": _TYPESCRIPT,
    ".tsx": _TYPESCRIPT,
}
"""How a comment starts, by the suffix of a file or, without one, by its name."""


def passages(source: str, comment: re.Pattern[str]) -> Iterator[Passage]:
    """Yield comments; lines of comment directly below each other are one passage."""
    block: list[str] = []
    number = 0
    for number, line in enumerate(source.splitlines(), 1):
        found = comment.search(line)
        if block and not (found and not line[: found.start()].strip()):
            yield from units(number - len(block), "\n".join(block), Kind.COMMENT)
            block = []
        if found:
            block.append(found["text"])
    yield from units(number - len(block) + 1, "\n".join(block), Kind.COMMENT)
