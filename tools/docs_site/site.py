"""Run MkDocs on the staged pages, and add the Markdown of each page, `llms.txt` and the list of versions."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tools.docs_site import pages
from tools.docs_site.markdown import summary, title

STAGED: Final = "build/docs/pages"
PUBLIC: Final = "server/src/tidings/cli/build/docs"
"""The site with a folder for each version. It is part of the wheel, and `tidings docs` serves it."""

_FOREIGN: Final = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(?:https?:)?//[^>]*>"
    r"|<link[^>]*rel=\"?(?:stylesheet|preload|preconnect|icon)[^>]*href=\"?(?:https?:)?//[^>]*>"
    r"|url\(\s*['\"]?(?:https?:)?//[^)]*\)"
)


def build(root: Path = pages.ROOT) -> Path:
    """Build the site of this version and return its folder. Fails on a page outside of the navigation."""
    content = pages.collect(root)
    pages.write(content, root / STAGED)
    version = _version(root)
    site = root / PUBLIC / version
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--clean", "--site-dir", str(site)]
    # Material announces the next version of MkDocs on every start, and strict mode would count it as a warning.
    subprocess.run(command, cwd=root, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    for place, text in content.texts.items():
        (site / place).write_text(text)
    for page in site.rglob("*.html"):
        # Material gives its search the role of a dialog, which needs a name for screen readers.
        page.write_text(page.read_text().replace('role="dialog"', 'role="dialog" aria-label="Search"'))
    _place_missing_page(site / "404.html", version)
    (site / "llms.txt").write_text(llms_text(content.texts, navigation(root)))
    _write_versions(root / PUBLIC, version)
    return site


def llms_text(texts: dict[str, str], navigation: list[Any]) -> str:
    """Return the index of the site for programs that read text: a line for each page, with a link to its Markdown."""
    lines = ["# Tidings", "", f"> {summary(texts['index.md'])}", ""]
    for section in navigation:
        for name, entries in section.items():
            lines += [f"## {name}", ""]
            for place in pages_of(entries):
                lines.append(f"- [{title(texts[place])}]({place}): {summary(texts[place])}")
            lines.append("")
    return "\n".join(lines)


def pages_of(entries: object) -> Iterator[str]:
    """Yield the pages of a part of the navigation, in order."""
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, list):
        for entry in entries:
            yield from pages_of(entry)
    elif isinstance(entries, dict):
        for entry in entries.values():
            yield from pages_of(entry)


def navigation(root: Path) -> list[Any]:
    """Return the navigation of the configuration file."""
    text = (root / "mkdocs.yml").read_text()
    found: list[Any] = yaml.safe_load(text[text.index("\nnav:") :])["nav"]
    return found


def foreign_assets(public: Path) -> list[str]:
    """Return scripts, styles, fonts and pictures that a page of the site would load from another host."""
    pages_and_styles = [path for suffix in ("html", "css") for path in public.rglob(f"*.{suffix}")]
    return [
        f"{path.relative_to(public)}: {found[0]}"
        for path in pages_and_styles
        for found in _FOREIGN.finditer(path.read_text())
    ]


def _version(root: Path) -> str:
    project = tomllib.loads((root / "server/pyproject.toml").read_text())["project"]
    return str(project["version"])


def _place_missing_page(page: Path, version: str) -> None:
    """Let the page for unknown paths, which has absolute links, refer to the folder of its version."""
    text = page.read_text()
    text = re.sub(r'((?:href|src)=")/(?!/)', rf"\1/{version}/", text)
    page.write_text(text.replace('"base": "/"', f'"base": "/{version}"'))


def _write_versions(public: Path, newest: str) -> None:
    """Write the list that the version selector of every version reads, and let the root lead to the newest one."""
    for folder in public.iterdir():
        if folder.is_dir() and folder.name != newest and "dev" in folder.name:
            shutil.rmtree(folder)  # the site of an earlier development version
    kept = sorted((folder.name for folder in public.iterdir() if folder.is_dir()), reverse=True)
    listed = [
        {"version": name, "title": name, "aliases": ["latest"] if name == newest else []} for name in kept
    ]
    (public / "versions.json").write_text(json.dumps(listed))
    # Without an icon, browsers request /favicon.ico and log that it does not exist.
    icon = f'<link rel="icon" href="{newest}/assets/logo.svg">'
    refresh = f'{icon}<meta http-equiv="refresh" content="0; url={newest}/">'
    (public / "index.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Tidings</title>{refresh}</html>\n'
    )
