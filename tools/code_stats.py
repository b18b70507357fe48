"""Measure the size and the navigability of a package: `python -m tools.code_stats [--skip FOLDER] [PACKAGE]`.

Prints a table with a row for each folder, then the import cycles, call objects and late hooks. The last line is JSON
with the figures of the whole package and, under `folders`, those of each folder. The figures:

files, lines            Python files, and all of their lines.
import_share            Lines of import statements in percent of all lines.
protocols               Classes that derive directly from `typing.Protocol`.
call_objects            Public classes that define `__call__`, except protocols and ASGI applications. "Go to definition"
                        on a call of such an object ends at a variable.
late_hooks              Hooks that are set after construction; `tools/late_hooks.py` has the definition.
comment_lines_per_100   Lines with a comment in 100 lines. Comments that only address a tool (`noqa`) do not count.
cycles                  Import cycles: groups of folders, and groups of files, that import each other. A folder's
                        figure counts the groups that it or one of its files is in.
prose_hits              Hits of `tools.prose_check`.
"""

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tools import import_graph
from tools.import_graph import folder_of
from tools.late_hooks import LateHook, is_protocol, late_hooks
from tools.prose_check import exceptions, files, rules

PACKAGE = files.ROOT / "server" / "src" / "tidings"
_DIRECTIVE = re.compile(r"#\s*(noqa\b|type:|pragma:|fmt:|ruff:|!)")


@dataclass(slots=True)
class Stats:
    """The figures of a folder or of the whole package."""

    files: int = 0
    lines: int = 0
    import_share: float = 0
    protocols: int = 0
    call_objects: int = 0
    late_hooks: int = 0
    comment_lines_per_100: float = 0
    cycles: int = 0
    prose_hits: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file."""

    name: str
    path: Path
    source: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Number of lines, as `wc -l` counts them."""
        return len(self.source.splitlines())

    @property
    def import_lines(self) -> int:
        """Number of lines that import statements occupy."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom))
        return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)

    @property
    def comment_lines(self) -> int:
        """Number of lines with a comment for people."""
        tokens = tokenize.generate_tokens(io.StringIO(self.source).readline)
        return sum(token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string) for token in tokens)

    @property
    def classes(self) -> list[ast.ClassDef]:
        """All classes, also those inside others."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was measured."""

    whole: Stats
    folders: dict[str, Stats]
    cycles: list[list[str]]
    call_objects: list[str]
    late_hooks: list[LateHook]


def measure(package: Path, skipped: Sequence[str] = ()) -> Report:
    """Measure a package without the skipped folders."""
    modules = [
        Module(name, path, source := path.read_text(), ast.parse(source))
        for name, path in import_graph.modules(package).items()
        if folder_of(name) not in skipped
    ]
    trees = {module.name: module.tree for module in modules}
    packages = {module.name for module in modules if module.path.name == "__init__.py"}
    graph = import_graph.file_graph(trees, packages)
    file_cycles = import_graph.cycles(graph)
    folder_cycles = import_graph.cycles(import_graph.folder_graph(graph))
    hooks = late_hooks(trees, package.name)
    callables = call_objects(modules)
    prose = _prose_hits(modules)
    folders = {
        folder: _stats([m for m in modules if folder_of(m.name) == folder], callables, hooks, prose)
        for folder in sorted({folder_of(module.name) for module in modules})
    }
    for folder, stats in folders.items():
        stats.cycles = sum(folder in cycle for cycle in folder_cycles)
        stats.cycles += sum(folder in map(folder_of, cycle) for cycle in file_cycles)
    whole = _stats(modules, callables, hooks, prose)
    whole.cycles = len(folder_cycles) + len(file_cycles)
    names = sorted(f"{module}.{name}" for module, name in callables)
    return Report(whole, folders, [*folder_cycles, *file_cycles], names, hooks)


def _stats(
    modules: list[Module], callables: set[tuple[str, str]], hooks: list[LateHook], prose: Mapping[str, int]
) -> Stats:
    names = {module.name for module in modules}
    lines = sum(module.lines for module in modules)
    return Stats(
        files=len(modules),
        lines=lines,
        import_share=_percent(sum(module.import_lines for module in modules), lines),
        protocols=sum(is_protocol(node) for module in modules for node in module.classes),
        call_objects=sum(name in names for name, _ in callables),
        late_hooks=sum(hook.module in names for hook in hooks),
        comment_lines_per_100=_percent(sum(module.comment_lines for module in modules), lines),
        prose_hits=sum(prose[module.name] for module in modules),
    )


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0


def call_objects(modules: list[Module]) -> set[tuple[str, str]]:
    """Return module and name of each public class whose instances are called like a function."""
    return {
        (module.name, node.name)
        for module in modules
        for node in module.classes
        if not node.name.startswith("_")
        and not is_protocol(node)
        and any(_is_call(member) for member in node.body)
    }


def _is_call(member: ast.stmt) -> bool:
    if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) or member.name != "__call__":
        return False
    return [argument.arg for argument in member.args.args] != ["self", "scope", "receive", "send"]


def _prose_hits(modules: list[Module]) -> dict[str, int]:
    known = rules.load()
    names = [rules.LONG_SENTENCE, *(rule.name for rule in known)]
    allowed, _ = exceptions.load(exceptions.EXCEPTIONS.read_text(), names)
    counts: dict[str, int] = {}
    for module in modules:
        is_ours = module.path.is_relative_to(files.ROOT)
        path = module.path.relative_to(files.ROOT).as_posix() if is_ours else module.path.name
        passages = files.passages(module.path, path)
        hits = [hit for passage in passages for hit in rules.check(path, passage, known)]
        counts[module.name] = len(exceptions.apply(hits, allowed)[0])
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure a package and print the report."""
    parser = argparse.ArgumentParser(
        prog="just code-stats", description="Measure size and navigability of a package."
    )
    parser.add_argument("package", nargs="?", type=Path, default=PACKAGE, help="the server by default")
    parser.add_argument("--skip", action="append", default=[], metavar="FOLDER", help="leave this folder out")
    options = parser.parse_args(arguments)
    report = measure(options.package.resolve(), options.skip)
    print(table(report))
    for cycle in report.cycles:
        print("import cycle: " + " ↔ ".join(cycle))
    for name in report.call_objects:
        print(f"call object: {name}")
    for hook in report.late_hooks:
        print(f"late hook: {hook.module}:{hook.line}: {hook.statement}")
    folders = {name: asdict(stats) for name, stats in report.folders.items()}
    print(json.dumps(asdict(report.whole) | {"folders": folders}))
    return 0


def table(report: Report) -> str:
    """Return the figures as a Markdown table, so that a page can contain it."""
    heads = [
        "files",
        "lines",
        "imports %",
        "protocols",
        "call objects",
        "late hooks",
        "comments / 100",
        "cycles",
        "prose",
    ]
    rows = [["folder", *heads], ["---", *["---:"] * len(heads)]]
    rows += [[f"`{name}`", *_cells(stats)] for name, stats in report.folders.items()]
    rows += [["**all**", *_cells(report.whole)]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in rows
    )


def _cells(stats: Stats) -> list[str]:
    return [f"{value:,}" if isinstance(value, int) else f"{value:.1f}" for value in asdict(stats).values()]


if __name__ == "__main__":
    sys.exit(main())
