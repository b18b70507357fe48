"""The import graph of a package, and its cycles."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

type Graph = Mapping[str, set[str]]
"""Each name with the names that it imports."""


def modules(package: Path) -> dict[str, Path]:
    """Return the modules of a package by their dotted names."""
    return {_dotted(path.relative_to(package.parent)): path for path in sorted(package.rglob("*.py"))}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def file_graph(trees: Mapping[str, ast.Module], packages: set[str]) -> Graph:
    """Return which module imports which. Imports in functions and under `TYPE_CHECKING` count too.

    `from a import b` imports the module `a.b` if there is one, else the module `a`.
    """
    return {
        name: {target for target in _imported(name, tree, packages, trees.keys()) if target != name}
        for name, tree in trees.items()
    }


def _imported(name: str, tree: ast.Module, packages: set[str], known: Iterable[str]) -> set[str]:
    targets: set[str] = set()
    names = set(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(name, node, packages)
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                targets.add(inner if inner in names else origin)
    return targets & names


def _origin(name: str, node: ast.ImportFrom, packages: set[str]) -> str:
    """Return the absolute name of the module that `from … import` names."""
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    drop = node.level - (1 if name in packages else 0)
    return ".".join([*parts[: len(parts) - drop], *([node.module] if node.module else [])])


def folder_of(name: str) -> str:
    """Return the folder of a module: the second part of its name, or `.` for modules of the package itself."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "."


def folder_graph(files: Graph) -> Graph:
    """Return which folder imports which."""
    folders: dict[str, set[str]] = {folder_of(name): set() for name in files}
    for name, targets in files.items():
        folders[folder_of(name)] |= {folder_of(target) for target in targets} - {folder_of(name)}
    return folders


def cycles(graph: Graph) -> list[list[str]]:
    """Return the groups of names that import each other, directly or through others, each group sorted.

    The groups are the strongly connected components with more than one member, by Tarjan's algorithm.
    """
    found: list[list[str]] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            start = stack.index(name)
            component = stack[start:]
            del stack[start:]
            if len(component) > 1:
                found.append(sorted(component))

    for name in graph:
        if name not in index:
            visit(name)
    return sorted(found)
