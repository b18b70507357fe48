"""Extract the prose of a Markdown page: everything but code."""

import re
from collections.abc import Iterator

from tools.prose_check.passages import Kind, Passage, strip_markup

_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_MARKER = re.compile(r"\s*(?:>\s?)*(?:[-*+]|\d+[.)])\s+")
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_RULER = re.compile(r"[\s|:=-]*")


def passages(source: str) -> Iterator[Passage]:
    """Yield the headings, paragraphs, list items and table cells of a page."""
    source = _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), source)
    paragraph: list[str] = []
    first = 0
    for number, line in _without_code_blocks(source):
        marker = _MARKER.match(line)
        if paragraph and (marker or _is_block(line)):
            yield _passage(first, "\n".join(paragraph))
            paragraph = []
        if _HEADING.match(line):
            yield _passage(number, _HEADING.sub("", line), Kind.HEADING)
        elif line.lstrip().startswith("|"):
            yield from (_passage(number, cell) for cell in _cells(line))
        elif not _RULER.fullmatch(line):
            if not paragraph:
                first = number
            prefix = marker or _QUOTE.match(line)
            paragraph.append(line[prefix.end() :] if prefix else line)
    if paragraph:
        yield _passage(first, "\n".join(paragraph))


def _passage(line: int, text: str, kind: Kind = Kind.MARKDOWN) -> Passage:
    return Passage(line, strip_markup(text), kind)


def _is_block(line: str) -> bool:
    """Return whether this line cannot continue a paragraph."""
    return bool(_RULER.fullmatch(line) or _HEADING.match(line)) or line.lstrip().startswith("|")


def _cells(row: str) -> list[str]:
    if _RULER.fullmatch(row):
        return []
    return [cell for cell in _CELL_BORDER.split(_hide_code_bars(row)) if cell.strip()]


def _hide_code_bars(row: str) -> str:
    """Replace inline code first: it may contain the bar that separates cells."""
    return re.sub(r"(`+)(?!`).+?\1", "`code`", row)


def _without_code_blocks(source: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; a fenced block becomes one empty line, which ends the paragraph before it."""
    fence = ""
    for number, line in enumerate(source.splitlines(), 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark.group(1)
            yield number, ""
        else:
            yield number, line
