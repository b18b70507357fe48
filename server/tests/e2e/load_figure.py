"""Draw a terminal's screen as SVG. Each run of equal style has the width of its cells, in any font."""

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

import pyte
from pyte.screens import Char

CELL_W, CELL_H = 7.8, 17.0
_INK, _PAPER = "#d5d8df", "#14171d"
_COLOURS: Final = {
    "black": "#20242c",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#d9b45b",
    "blue": "#3f6fb5",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": _INK,
    "brightblack": "#7d8491",
    "brightred": "#ef8a92",
    "brightgreen": "#b3dd97",
    "brightbrown": "#f0d58a",
    "brightblue": "#74a9f0",
    "brightmagenta": "#dda0ee",
    "brightcyan": "#86d6e0",
    "brightwhite": "#ffffff",
}


class Run(NamedTuple):
    column: int
    cells: int
    text: str
    style: Char


def drawn(screen: pyte.Screen, title: str, x: float, y: float) -> Iterator[str]:
    """Return the SVG of a window: a title bar and the screen below it."""
    width, height = screen.columns * CELL_W + 16, (screen.lines + 1) * CELL_H + 20
    yield f'<g transform="translate({x:.0f} {y:.0f})">'
    yield f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{_PAPER}" stroke="#3a404c"/>'
    yield f'<text x="{width / 2:.0f}" y="16" text-anchor="middle" fill="#8b93a1">{escape(title)}</text>'
    for row in range(screen.lines):
        for run in _runs(screen, row):
            yield from _drawn(run, 8 + run.column * CELL_W, 26 + row * CELL_H)
    yield "</g>"


def size_of(screen: pyte.Screen) -> tuple[float, float]:
    return screen.columns * CELL_W + 16, (screen.lines + 1) * CELL_H + 20


def page(width: float, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13">'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _runs(screen: pyte.Screen, row: int) -> Iterator[Run]:
    cells = [(column, screen.buffer[row][column]) for column in range(screen.columns)]
    for _, group in groupby(cells, key=lambda cell: _look(cell[1])):
        some = list(group)
        text = "".join(char.data for _, char in some)
        if text.strip() or _look(some[0][1])[1] != _PAPER:
            yield Run(some[0][0], len(some), text, some[0][1])


def _look(char: Char) -> tuple[str, str, bool, bool]:
    ink, paper = _COLOURS.get(char.fg, _hex(char.fg, _INK)), _COLOURS.get(char.bg, _hex(char.bg, _PAPER))
    if char.reverse:
        ink, paper = paper, ink
    return ink, paper, char.bold, char.italics


def _hex(colour: str, default: str) -> str:
    return default if colour == "default" else f"#{colour}"


def _drawn(run: Run, x: float, y: float) -> Iterator[str]:
    ink, paper, bold, italics = _look(run.style)
    if paper != _PAPER:
        yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{run.cells * CELL_W:.1f}" height="{CELL_H}" fill="{paper}"/>'
    text = run.text.rstrip()
    if text:
        cells = run.cells - (len(run.text) - len(text))
        lead = len(text) - len(text.lstrip())
        style = ' font-weight="bold"' * bold + ' font-style="italic"' * italics
        yield (
            f'<text x="{x + lead * CELL_W:.1f}" y="{y + 13:.1f}" fill="{ink}" textLength="{(cells - lead) * CELL_W:.1f}"'
            f' lengthAdjust="spacingAndGlyphs"{style} xml:space="preserve">{escape(text.lstrip())}</text>'
        )
