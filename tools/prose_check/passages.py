"""Passages: the pieces of prose that the rules are applied to."""

import re
from dataclasses import dataclass
from enum import Enum

CODE = "code"
"""Replaces inline code, so that the sentence keeps its shape. No rule matches it."""

_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_URL = re.compile(r"<?https?://[^\s>)]+>?")
_EMPHASIS = re.compile(r"\*+|(?<!\w)_+|_+(?!\w)")


class Kind(Enum):
    """Where a passage was found."""

    HEADING = "heading"
    MARKDOWN = "markdown"
    DOCSTRING = "docstring"
    COMMENT = "comment"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph, list item, table cell, comment or string, without inline code and markup.

    A line break of the source is a line break of `text`, so that the line of a match can be computed.
    """

    line: int
    text: str
    kind: Kind

    def line_at(self, offset: int) -> int:
        """Return the line of the file that contains the character at `offset`."""
        return self.line + self.text.count("\n", 0, offset)


def strip_markup(text: str) -> str:
    """Replace inline code by a placeholder and remove links, URLs and emphasis. Line breaks stay."""
    text = _INLINE_CODE.sub(lambda code: CODE + "\n" * code.group().count("\n"), text)
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub("", _URL.sub(CODE, text))
