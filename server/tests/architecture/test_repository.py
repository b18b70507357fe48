"""Rules that linters do not check: length of files, names to avoid, pages that must exist."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tidings.api.openapi import SOURCE as ERRORS
from tidings.cli import COMMANDS, plugin_commands
from tidings.kernel.errors import Code

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "server" / "src" / "tidings"
SDK = ROOT / "sdk-python" / "src" / "tidings_sdk"
TERMINAL = ROOT / "terminal" / "src" / "tidings_terminal"
HARNESS = ROOT / "harness" / "src" / "tidings_harness"
WIRE = ROOT / "wire" / "src" / "tidings_wire"
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 40
AVOIDED_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}


def python_files() -> list[Path]:
    return [path for path in ROOT.glob("*/**/*.py") if not _is_foreign(path)]


def _is_foreign(path: Path) -> bool:
    return any(part.startswith(".") or part in {"build", "dist", "node_modules"} for part in path.parts)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def links(text: str) -> Iterator[str]:
    """Yield the targets of Markdown links into the repository."""
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if not target.startswith(("http://", "https://", "mailto:")):
            yield target


def anchors(text: str) -> set[str]:
    return {
        re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-")
        for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }


def test_the_checks_find_code() -> None:
    assert len(python_files()) > 20
    assert any(SDK in path.parents for path in python_files())


def _violations(path: Path) -> Iterator[str]:
    text = path.read_text()
    if len(text.splitlines()) > MAX_FILE_LINES:
        yield f"the file has more than {MAX_FILE_LINES} lines: split it by role"
    if path.stem in AVOIDED_NAMES:
        yield "the file name does not state a subject"
    if not {SOURCE, WIRE, SDK, TERMINAL, HARNESS} & set(path.parents):
        return
    tree = ast.parse(text)
    if not ast.get_docstring(tree):
        yield "the module has no docstring"
    for function in functions(tree):
        if (function.end_lineno or 0) - function.lineno >= MAX_FUNCTION_LINES:
            yield f"{function.name} has more than {MAX_FUNCTION_LINES} lines"


def test_files_and_functions_stay_short_and_well_named() -> None:
    found = [f"{path.relative_to(ROOT)}: {what}" for path in python_files() for what in _violations(path)]
    assert found == []


def test_every_error_code_is_explained_in_the_docs() -> None:
    assert anchors((ROOT / ERRORS).read_text()) >= {code.value for code in Code}


def test_every_explained_error_code_exists() -> None:
    explained = re.findall(r"^## (\S+)$", (ROOT / ERRORS).read_text(), re.MULTILINE)
    assert set(explained) == {code.value for code in Code}


def pages() -> list[Path]:
    """Return the pages of the repository, without those of TypeDoc, which checks its own links."""
    generated = ROOT / "docs/reference/web/@tidings"
    found = [path for path in ROOT.glob("**/*.md") if not _is_foreign(path.relative_to(ROOT))]
    return [path for path in found if generated not in path.parents]


@pytest.mark.parametrize("path", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_are_valid(path: Path) -> None:
    for target in links(path.read_text()):
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.exists(), f"{target} does not exist"
        if anchor and page.suffix == ".md":
            assert anchor in anchors(page.read_text()), f"{target}: no such heading"


def test_every_path_that_the_architecture_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([\w./-]+/[\w./-]*)`", text))
    assert named, "ARCHITECTURE.md names no paths"
    missing = [name for name in named if not (ROOT / name).exists() and not (SOURCE / name).exists()]
    assert missing == []


def test_architecture_stays_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 120


def test_adrs_are_numbered_without_holes_and_listed() -> None:
    adrs = sorted(p.name for p in (ROOT / "docs/adr").glob("[0-9]*.md"))
    assert [name[:4] for name in adrs] == [f"{n:04}" for n in range(1, len(adrs) + 1)]
    index = (ROOT / "docs/adr/README.md").read_text()
    assert all(name in index for name in adrs)


def test_code_uses_the_terms_of_the_glossary() -> None:
    """`conversation`, `participant` and the like would be second names for terms of the glossary."""
    avoided = re.compile(r"\b(conversation|chatroom|participant|workspace_id|org_id)s?\b", re.IGNORECASE)
    found = [
        p.relative_to(ROOT)
        for p in chain(*(folder.rglob("*.py") for folder in (SOURCE, WIRE, SDK, TERMINAL, HARNESS)))
        if avoided.search(p.read_text())
    ]
    assert found == []


def test_every_command_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/commands.md").read_text()
    assert all(f"## tidings {name}" in text for name in {*COMMANDS, *plugin_commands()})


def test_every_dependency_is_explained() -> None:
    server = tomllib.loads((ROOT / "server/pyproject.toml").read_text())["project"]
    wire = tomllib.loads((ROOT / "wire/pyproject.toml").read_text())["project"]
    sdk = tomllib.loads((ROOT / "sdk-python/pyproject.toml").read_text())["project"]
    terminal = tomllib.loads((ROOT / "terminal/pyproject.toml").read_text())["project"]
    harness = tomllib.loads((ROOT / "harness/pyproject.toml").read_text())["project"]
    workspace = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    lists = [
        server["dependencies"],
        wire["dependencies"],
        sdk["dependencies"],
        terminal["dependencies"],
        harness["dependencies"],
        *server["optional-dependencies"].values(),
        *workspace.values(),
    ]
    ours = {"tidings", "tidings-wire", "tidings-sdk", "tidings-terminal", "tidings-harness"}
    names = {re.split(r"[\[<>=~ ]", wanted)[0] for wanted in chain(*lists)} - ours
    page = (ROOT / "docs/explanation/dependencies.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_every_npm_dependency_is_explained() -> None:
    manifests = [path for path in ROOT.glob("**/package.json") if not _is_foreign(path.relative_to(ROOT))]
    named = [json.loads(path.read_text()) for path in manifests]
    lists = [each.get(kind, {}) for each in named for kind in ("dependencies", "devDependencies")]
    names = {name for name in chain(*lists) if not name.startswith("@tidings/")}
    page = (ROOT / "docs/explanation/dependencies.md").read_text()
    assert len(manifests) > 3
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def typescript_files() -> list[Path]:
    found = chain(*(ROOT.glob(f"*/**/*.{suffix}") for suffix in ("ts", "tsx")))
    return [path for path in found if not _is_foreign(path.relative_to(ROOT)) and ".gen." not in path.name]


def test_typescript_files_stay_short_and_well_named() -> None:
    long = [path for path in typescript_files() if len(path.read_text().splitlines()) > MAX_FILE_LINES]
    unnamed = [path for path in typescript_files() if path.stem in AVOIDED_NAMES]
    assert [str(path.relative_to(ROOT)) for path in (*long, *unnamed)] == []


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved": "http' not in (ROOT / "package-lock.json").read_text()


CLI = SOURCE / "cli"
UNSAFE_PRINTS = {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"}
"""`tidings.cli.output` has the safe form of each."""


def unsafe_prints(tree: ast.AST) -> set[str]:
    """Return the calls and imports that print text without sanitizing it."""
    calls = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}
    imports = {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("rich", "click"))
        for name in node.names
    }
    return calls & UNSAFE_PRINTS | imports & {"Console", "Table", "print", "echo", "secho"}


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda p: p.name)
def test_commands_print_stored_text_through_one_place(path: Path) -> None:
    if path.name != "output.py":
        assert unsafe_prints(ast.parse(path.read_text())) == set()


@pytest.mark.parametrize(
    "line",
    [
        "click.echo(name)",
        "print(name)",
        "from rich.table import Table",
        "from rich.console import Console as C",
    ],
)
def test_an_unsafe_print_is_found(line: str) -> None:
    assert unsafe_prints(ast.parse(line))
