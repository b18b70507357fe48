"""Find, in source code, the access patterns that are used and DynamoDB calls that bypass them."""

import ast
import re
from collections.abc import Iterator

from tidings.platform.dynamo.operations import Operation
from tidings.schema.tables.patterns import SUBJECTS
from tidings.schema.tables.patterns.builders import Pattern

CONSTANTS = {
    f"{subject.__name__}.{name}": pattern.name
    for subject in SUBJECTS
    for name, pattern in vars(subject).items()
    if isinstance(pattern, Pattern)
}

FORBIDDEN = {"Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction", "PartiQL"}
DATA_PLANE = {str(operation) for operation in Operation}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


FORBIDDEN_METHODS = {snake(name) for name in FORBIDDEN}
DATA_PLANE_METHODS = {snake(name) for name in DATA_PLANE}


def used_patterns(source: str) -> set[str]:
    """Return the names of the patterns whose constants a module imports or reaches through an import."""
    tree = ast.parse(source)
    known = dict(_imports(tree))
    reached = {_dotted(node, known) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)}
    return {CONSTANTS[path] for path in (reached | set(known.values())) & CONSTANTS.keys()}


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names of a module with the imports that they refer to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)
        elif isinstance(node, ast.Import):
            for each in node.names:
                yield (each.asname, each.name) if each.asname else ((top := each.name.split(".")[0]), top)


def _dotted(node: ast.expr, known: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, known)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def breaches(source: str, *, is_dynamo_client: bool = False) -> Iterator[str]:
    """Yield every mention of Scan or PartiQL and, outside the client, every data-plane call that bypasses the client."""
    for node in ast.walk(ast.parse(source)):
        word = _word(node)
        if word in FORBIDDEN | FORBIDDEN_METHODS:
            yield f"line {getattr(node, 'lineno', 0)}: {word} is not used here at all"
        elif not is_dynamo_client and _goes_round_the_client(node, word):
            yield f"line {getattr(node, 'lineno', 0)}: {word} goes round platform.dynamo"


def _word(node: ast.AST) -> str:
    """Return the name of an attribute, a plain name or a whole string; `Scan` for `DynamoDB_20120810.Scan`."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.]+", text):
            return text.rpartition(".")[2]
        case _:
            return ""


def _goes_round_the_client(node: ast.AST, word: str) -> bool:
    if isinstance(node, ast.Call):
        return _is_bare_query(node)
    if word == "query":
        return False  # also the name of the client's own method; its calls tell them apart
    is_operation = isinstance(node, ast.Constant) and word in DATA_PLANE - {"Query"}
    return is_operation or (not isinstance(node, ast.Name) and word in DATA_PLANE_METHODS)


def _is_bare_query(call: ast.Call) -> bool:
    """Return whether the call is botocore's, with keyword arguments only: the client's first argument is a pattern."""
    is_query = isinstance(call.func, ast.Attribute) and call.func.attr == "query"
    return is_query and (not call.args or any(keyword.arg == "TableName" for keyword in call.keywords))
