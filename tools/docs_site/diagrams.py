"""Draw the Mermaid diagrams of the pages as SVG files, one for light and one for dark backgrounds.

The files are committed, so that a build needs no browser. Their names contain a hash of the source: a diagram that was
changed has no file, and the build fails until it is drawn.
"""

import hashlib
import json
import posixpath
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.node import node_command, node_environment

FOLDER: Final = "docs/pictures/diagrams"
MERMAID: Final = "@mermaid-js/mermaid-cli@12.2.0"
_BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DESCRIPTION = re.compile(r"^%% (.+)$", re.MULTILINE)
_VIEW_BOX = re.compile(r'viewBox="[-.\d]+ [-.\d]+ ([.\d]+) ([.\d]+)"')
_FONT = "system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif"
_LIGHT = {
    "useGradient": False, "dropShadow": "none",
    "primaryColor": "#e8ecfb", "primaryBorderColor": "#4051b5", "primaryTextColor": "#1b1f3b",
    "lineColor": "#5b6075", "textColor": "#1b1f3b", "secondaryColor": "#e3f4ee", "tertiaryColor": "#f6f7fb",
    "noteBkgColor": "#fff6dd", "noteTextColor": "#3c3413", "noteBorderColor": "#c9a94b",
    "edgeLabelBackground": "#ffffff", "clusterBkg": "#f6f7fb", "clusterBorder": "#c3c8dc",
}  # fmt: skip
_DARK = {
    "useGradient": False, "dropShadow": "none",
    "primaryColor": "#2b3256", "primaryBorderColor": "#8fa0ff", "primaryTextColor": "#eef0ff",
    "lineColor": "#a9b0c8", "textColor": "#e6e8f2", "secondaryColor": "#1f3d35", "tertiaryColor": "#23273a",
    "noteBkgColor": "#4a4220", "noteTextColor": "#fff4cf", "noteBorderColor": "#c9a94b",
    "edgeLabelBackground": "#1e2129", "clusterBkg": "#23273a", "clusterBorder": "#4d5470",
}  # fmt: skip
THEMES: Final = {"light": _LIGHT, "dark": _DARK}
_SETTINGS: Final = {
    "theme": "base",
    "look": "classic",
    "fontFamily": _FONT,
    "htmlLabels": False,
    "themeCSS": ".edgeLabel rect, .labelBkg { opacity: 1 !important; }",
    "flowchart": {"htmlLabels": False, "padding": 10, "nodeSpacing": 30, "rankSpacing": 40},
    "sequence": {"mirrorActors": False},
}


class MissingDiagramError(Exception):
    """A diagram was added or changed, and its pictures are not drawn."""


def show_diagrams(text: str, place: str, root: Path) -> str:
    """Replace the diagrams of a page by pictures that follow the colour scheme of the site."""

    def show(found: re.Match[str]) -> str:
        missing = [path for path in _files(found[1], root).values() if not path.exists()]
        if missing:
            raise MissingDiagramError(f"{place} has a diagram without a picture. Run `just docs diagrams`.")
        up = posixpath.relpath("docs", posixpath.join("docs", posixpath.dirname(place)))
        said = _description(found[1])
        return "\n".join(
            f"![{said}]({up}/{path.relative_to(root / 'docs')}#only-{theme})"
            for theme, path in _files(found[1], root).items()
        )

    return _BLOCK.sub(show, text)


def draw_all(root: Path) -> list[Path]:
    """Draw diagrams that have no picture, and delete pictures that no page uses. Return the new files.

    Needs Chromium and the package of Mermaid's command line.
    """
    used: set[Path] = set()
    drawn: list[Path] = []
    for source in _sources(root / "docs"):
        for theme, path in _files(source, root).items():
            used.add(path)
            if not path.exists():
                _draw(source, theme, path)
                drawn.append(path)
    for path in (root / FOLDER).glob("*.svg"):
        if path not in used:
            path.unlink()
    return drawn


def _sources(docs: Path) -> Iterator[str]:
    for page in sorted(docs.rglob("*.md")):
        yield from _BLOCK.findall(page.read_text())


def _files(source: str, root: Path) -> dict[str, Path]:
    style = json.dumps([MERMAID, THEMES, _SETTINGS], sort_keys=True)
    name = hashlib.sha256((style + source).encode()).hexdigest()[:12]
    return {theme: root / FOLDER / f"{name}-{theme}.svg" for theme in THEMES}


def _description(source: str) -> str:
    found = _DESCRIPTION.search(source)
    if found is None:
        raise MissingDiagramError(
            "A diagram needs a line `%% …` that describes it to readers who cannot see it."
        )
    return found[1].replace("[", "(").replace("]", ")")


def _draw(source: str, theme: str, path: Path) -> None:
    settings = {**_SETTINGS, "themeVariables": {**THEMES[theme], "fontFamily": _FONT, "fontSize": "15px"}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        config, browser, diagram = (
            Path(folder) / name for name in ("mermaid.json", "browser.json", "in.mmd")
        )
        config.write_text(json.dumps(settings))
        browser.write_text(json.dumps({"executablePath": "/usr/bin/chromium", "args": ["--no-sandbox"]}))
        diagram.write_text(source)
        options = ["-i", diagram, "-o", path, "-c", config, "-p", browser, "-b", "transparent", "-q"]
        options += ["-I", f"diagram-{path.stem}"]
        command = node_command(
            "npm", ["exec", "--yes", f"--package={MERMAID}", "--", "mmdc", *map(str, options)]
        )
        subprocess.run(command, env=node_environment(), check=True, cwd=folder)
    path.write_text(_with_size(path.read_text()))


def _with_size(svg: str) -> str:
    """Give the picture its natural size. Mermaid sets a width of 100 %, which enlarges small diagrams."""
    found = _VIEW_BOX.search(svg)
    if found is None:
        raise ValueError("The drawn diagram has no size.")
    width, height = (round(float(each)) for each in found.groups())
    return svg.replace('width="100%"', f'width="{width}" height="{height}"', 1)
