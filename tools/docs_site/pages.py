"""Collect the pages of the site and translate links between files of the repository to links between pages."""

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from tools.docs_site import errors, frames, operations
from tools.docs_site.diagrams import show_diagrams
from tools.docs_site.markdown import anchors, name_repeated_headings, rewrite_links
from tools.release.changelog import render_unreleased

ROOT: Final = Path(__file__).parents[2]
OUTSIDE: Final = {
    "ARCHITECTURE.md": "contributing/architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "GLOSSARY.md": "glossary.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "harness/README.md": "contributing/harness-command.md",
    "react/README.md": "reference/react-package.md",
    "sdk-node/README.md": "reference/sdk-node.md",
    "sdk-python/README.md": "howto/use-the-python-sdk.md",
    "sdk-typescript/README.md": "reference/client-package.md",
}
"""Pages outside of `docs`, with their place in the site. The landing page takes the place of the README."""
PUBLISHED: Final = ("protocol/*.json", "docs/tutorials/*.py", "docs/**/*.png", "docs/**/*.svg")
"""Files that pages link to and that the site has too."""
CHANGELOG: Final = "CHANGELOG.md"
ERRORS: Final = "reference/errors.md"
TYPEDOC: Final = "docs/reference/web/@tidings/"
_ERROR_LINK = re.compile(r"errors\.md#(\w+)$")


@dataclass(slots=True)
class Pages:
    """The content of the site by path: pages as text, other files by their source."""

    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)


def collect(root: Path = ROOT) -> Pages:
    """Return the pages of the site: those of the repository, and those made from OpenAPI, AsyncAPI and error codes."""
    places = _places(root)
    files = {_file_place(path, root): path for path in _published(root)}
    known = {str(source.relative_to(root)): place for place, source in files.items()} | places
    texts = {}
    for source, place in places.items():
        if source != "README.md":
            text = (root / source).read_text()
            text += render_unreleased(root) if source == CHANGELOG else ""
            texts[place] = _translate(text, source, place, known, root)
    texts |= operations.pages(root) | frames.pages(root)
    texts |= errors.pages(texts[ERRORS], ERRORS)
    texts["reference/rest.md"] += operations.index(root)
    return Pages(texts, files)


def write(pages: Pages, folder: Path) -> None:
    """Write all pages and files below a folder. Files that are already the same keep their time."""
    wanted = {folder / place: text.encode() for place, text in pages.texts.items()}
    wanted |= {folder / place: source.read_bytes() for place, source in pages.files.items()}
    for path, content in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def _places(root: Path) -> dict[str, str]:
    """Return the place in the site of each Markdown file of the repository that is a page."""
    docs = {f"docs/{name}": name for name in _names(root / "docs")}
    docs |= {source: place.replace("README.md", "index.md") for source, place in docs.items()}
    return docs | OUTSIDE


def _names(docs: Path) -> Iterable[str]:
    return sorted(str(path.relative_to(docs)) for path in docs.rglob("*.md"))


def _published(root: Path) -> Iterable[Path]:
    return sorted(path for pattern in PUBLISHED for path in root.glob(pattern))


def _file_place(path: Path, root: Path) -> str:
    return str(path.relative_to(root)).removeprefix("docs/")


def _translate(text: str, source: str, place: str, known: Mapping[str, str], root: Path) -> str:
    def rewrite(mark: str, label: str, target: str) -> str:
        if target.startswith("#") and source.startswith(TYPEDOC):
            return f"[{label}]({_without_false_number(target, text)})"
        if re.match(r"[a-z]+:|#|/", target):
            return f"{mark}[{label}]({target})"
        file, _, anchor = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        if wanted not in known:
            if not (root / wanted).exists():
                raise FileNotFoundError(f"{source} links to {target}, which does not exist.")
            return label  # code of the repository, which the site does not have
        if wanted == "README.md":
            return f"[{label}]({_relative(_README_PARTS.get(anchor, 'index.md'), place)})"
        found = f"{_relative(known[wanted], place)}{'#' if anchor else ''}{anchor}"
        if wanted.startswith(TYPEDOC):
            found = _without_false_number(found, (root / wanted).read_text())
        if place != ERRORS:
            found = _ERROR_LINK.sub(r"errors/\1.md", found)
        return f"{mark}[{label}]({found})"

    return rewrite_links(name_repeated_headings(show_diagrams(text, place, root)), rewrite)


def _without_false_number(target: str, text: str) -> str:
    """TypeDoc numbers anchors as if headings of the same name existed that it did not write."""
    page, _, anchor = target.partition("#")
    plain = re.sub(r"-\d+$", "", anchor)
    return f"{page}#{plain}" if anchor not in _anchors_of(text) and plain in _anchors_of(text) else target


@cache
def _anchors_of(text: str) -> frozenset[str]:
    return frozenset(anchors(text))


_README_PARTS: Final = {"guarantees": "explanation/promises.md", "quick-start": "tutorials/quickstart.md"}


def _relative(target: str, place: str) -> str:
    return os.path.relpath(target, posixpath.dirname(place) or ".")
