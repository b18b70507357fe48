"""Render the blocks of a report as Markdown and as one HTML page. Independent of the contents."""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

_CSS = (
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #1f2328; }",
    "table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto; margin: 1rem 0; }",
    "td + td { white-space: nowrap; }",
    "td:first-child { min-width: 7rem; }",
    "th, td { border-bottom: 1px solid #d8dee4; padding: .3rem .7rem; text-align: left; vertical-align: top; }",
    "blockquote { border-left: 4px solid #bf8700; background: #fff8c5; margin: 1rem 0; padding: .5rem 1rem; }",
    "code { background: #f2f4f6; padding: .1rem .25rem; font-size: 13px; }",
    "img { max-width: 100%; background: #fff; }",
)


class Text(NamedTuple):
    """A subset of Markdown: a heading, a quote, a list or a paragraph, with `code` and **bold**."""

    text: str


class Table(NamedTuple):
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Plot(NamedTuple):
    """A plot. `drawn` returns SVG; it is a callable because drawing is slow and Markdown needs only the name."""

    name: str
    title: str
    drawn: Callable[[], str]


type Block = Text | Table | Plot


def markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(_as_markdown(block) for block in blocks) + "\n"


def _as_markdown(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Plot(name, title, _):
            return f"![{title}](plots/{name}.svg)"
        case Table(head, rows):
            return "\n".join([_row(head), _row(["---"] * len(head)), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def html(title: str, blocks: Iterable[Block]) -> str:
    body = "\n".join(_as_html(block) for block in blocks)
    css = "\n".join(_CSS)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{css}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head><body>\n{body}\n</body></html>\n'


def _as_html(block: Block) -> str:
    match block:
        case Text(text):
            return _prose(text)
        case Plot(_, title, drawn):
            data = base64.b64encode(drawn().encode()).decode()
            return f'<p><img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}"></p>'
        case Table(head, rows):
            top = _cells(head, "th")
            return f"<table><thead>{top}</thead><tbody>{''.join(_cells(row, 'td') for row in rows)}</tbody></table>"


def _cells(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in cells) + "</tr>"


def _prose(text: str) -> str:
    return "\n".join(_paragraph(part) for part in text.split("\n\n"))


def _paragraph(text: str) -> str:
    if found := re.match(r"(#+) (.*)", text):
        level = len(found[1])
        return f"<h{level}>{_inline(found[2])}</h{level}>"
    if text.startswith("> "):
        return f"<blockquote>{_inline(text[2:])}</blockquote>"
    if text.startswith("- "):
        items = (f"<li>{_inline(item)}</li>" for item in text[2:].split("\n- "))
        return f"<ul>{''.join(items)}</ul>"
    return f"<p>{_inline(text)}</p>"


def _inline(text: str) -> str:
    safe = escape(text, quote=False).replace("\\*", "*")
    marks: list[tuple[str, Callable[[re.Match[str]], str]]] = [
        (r"`([^`]+)`", lambda found: f"<code>{found[1]}</code>"),
        (r"\*\*([^*]+)\*\*", lambda found: f"<strong>{found[1]}</strong>"),
    ]
    for pattern, marked in marks:
        safe = re.sub(pattern, marked, safe)
    return safe
