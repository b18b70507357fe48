"""Extract the prose of a Python file: docstrings, comments and texts.

A text is a string literal of at least three words. Command help, OpenAPI descriptions, error messages, log events,
metric help and setting descriptions are written in too many ways to list (`TidingsError(...)`, `Meta(description=...)`,
tables of findings), so every literal counts. Shorter literals count only where users see them. JSON is not prose.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from tools.prose_check.passages import CODE, Kind, Passage, strip_markup

MIN_WORDS = 3
SHOWN_ARGUMENTS = {"help", "short_help", "epilog", "summary", "description", "hint", "title"}
"""Keyword arguments that users see: command help and OpenAPI."""
SHOWN_CALLS = {"debug", "info", "warning", "error", "exception", "critical", "echo", "secho"}
"""Methods whose first argument users or operators see: log events and command output."""

_WORD = re.compile(r"[A-Za-z]{2,}")
_DIRECTIVE = re.compile(
    r"#\s*(?:noqa(?::\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*)?|type:\s*ignore(?:\[[^\]]*\])?|pragma:[^#]*|fmt:\s*\w+|ruff:.*|!.*)"
    r"(?:\s*[-:]\s+)?"
)
_NEW_UNIT = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+|\*{0,2}`?\w[\w.*]*`?(?:, `?\w+`?)*(?: \([^)]*\))?:\s)")
_DOCTEST = re.compile(r"\s*(?:>>>|\.\.\.)\s")


def passages(source: str, *, with_texts: bool) -> Iterator[Passage]:
    """Yield docstrings and comments, and string literals if `with_texts`."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {
        id(node.value): node.value
        for node in nodes
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    for docstring in docstrings.values():
        yield from units(docstring.lineno, str(docstring.value), Kind.DOCSTRING)
    yield from _comments(source)
    if with_texts:
        yield from _texts(nodes, docstrings.keys())


def units(line: int, text: str, kind: Kind) -> Iterator[Passage]:
    """Split a docstring or comment at blank lines, list items and `name: description` lines."""
    unit: list[str] = []
    first = line
    for number, content in enumerate(text.split("\n"), line):
        is_blank = not content.strip() or _DOCTEST.match(content)
        if unit and (is_blank or _NEW_UNIT.match(content)):
            yield Passage(first, strip_markup("\n".join(unit)), kind)
            unit = []
        if not is_blank:
            first = number if not unit else first
            unit.append(content)
    if unit:
        yield Passage(first, strip_markup("\n".join(unit)), kind)


def _comments(source: str) -> Iterator[Passage]:
    """Yield comments; lines of comment directly below each other are one passage."""
    block: list[str] = []
    last = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        is_alone = not token.line[: token.start[1]].strip()
        if block and not (is_alone and token.start == (last[0] + 1, last[1])):
            yield from units(last[0] - len(block) + 1, "\n".join(block), Kind.COMMENT)
            block = []
        block.append(_DIRECTIVE.sub("", token.string).lstrip("#: "))
        last = token.start
    yield from units(last[0] - len(block) + 1, "\n".join(block), Kind.COMMENT)


def _texts(nodes: list[ast.AST], docstrings: AbstractSet[int]) -> Iterator[Passage]:
    shown = _shown(nodes)
    in_formatted = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part != node
    }
    for node in nodes:
        text = _literal(node)
        if text is None or text.startswith('{"') or id(node) in docstrings or id(node) in in_formatted:
            continue
        if id(node) in shown or len(_WORD.findall(text)) >= MIN_WORDS:
            lines = getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0)
            if text.count("\n") != lines:
                text = text.replace("\n", " ")
            yield from units(getattr(node, "lineno", 0), text, Kind.TEXT)


def _literal(node: ast.AST) -> str | None:
    """Return the text of a string literal, with a placeholder for each value of an f-string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else CODE for part in node.values)
        return "".join(str(part) for part in parts)
    return None


def _shown(nodes: list[ast.AST]) -> set[int]:
    """Return the ids of literals that users or operators see, whatever their length."""
    found: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.Call):
            found += [word.value for word in node.keywords if word.arg in SHOWN_ARGUMENTS]
            if isinstance(node.func, ast.Attribute) and node.func.attr in SHOWN_CALLS:
                found += node.args[:1]
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found += node.exc.args
    return {id(node) for node in found}
