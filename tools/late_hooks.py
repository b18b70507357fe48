"""Find late hooks: edges of the call graph that are set after construction, where a reader cannot follow them.

An attribute is a *hook* if a class of the package declares it with a type that names `Callable`, an alias of a
`Callable`, a `Protocol` of the package, or a service of the package. A declaration is `x: T` in the body of the class,
`self.x: T = …`, or `self.x = parameter` in the constructor. A service is a class that is neither a dataclass, struct,
named tuple, enum nor exception.

A *late hook* is one of these statements:
- `x.hook = value` where `x` is not `self` and the value is a lambda, a name or an attribute: an assignment from
  outside. Freshly computed values are state, not hooks.
- `self.hook = parameter` in a method other than the constructor, if the type of the hook names `Callable` or a
  `Protocol`: a setter such as `bind(handler)`.
- `X.name = value` where `X` is a class or module imported from the package and the value is a function or lambda: a
  patch.

Attributes are compared by name. If a class of the same file declares the name with another type, it is no hook there.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

_CONSTRUCTORS = {"__init__", "__post_init__", "__new__"}
_VALUE_BASES = re.compile(r"\b(Struct|NamedTuple|TypedDict|\w*Enum|Exception|\w*Error|Flag|str|int)\b")
_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LateHook:
    """One statement that sets a hook late."""

    module: str
    line: int
    statement: str


@dataclass(frozen=True, slots=True)
class _Types:
    """The types of a package. `called`: protocols, and aliases that name `Callable`."""

    called: frozenset[str]
    services: frozenset[str]


@dataclass(slots=True)
class _Declared:
    """Attributes that classes declare.

    called: their type names `Callable` or a `Protocol`.
    services: their type names a service.
    data: all others.
    """

    called: set[str] = field(default_factory=set)
    services: set[str] = field(default_factory=set)
    data: set[str] = field(default_factory=set)

    def add(self, attribute: str, annotation: ast.expr, types: _Types) -> None:
        names = set(_NAME.findall(ast.unparse(annotation)))
        if names & {"Callable", *types.called}:
            self.called.add(attribute)
        elif names & types.services:
            self.services.add(attribute)
        else:
            self.data.add(attribute)


def is_protocol(node: ast.ClassDef) -> bool:
    """Return whether a class derives directly from `typing.Protocol`."""
    return any(re.fullmatch(r"(typing\.)?Protocol(\[.*\])?", ast.unparse(base)) for base in node.bases)


def late_hooks(trees: Mapping[str, ast.Module], package: str) -> list[LateHook]:
    """Return the late hooks of a package, in order of module and line."""
    classes = {
        module: [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for module, tree in trees.items()
    }
    everything = list(chain(*classes.values()))
    types = _Types(
        frozenset(node.name for node in everything if is_protocol(node)).union(_aliases(trees.values())),
        frozenset(node.name for node in everything if not is_protocol(node) and not _is_value(node)),
    )
    whole = _declarations(everything, types)
    found: list[LateHook] = []
    for module, tree in trees.items():
        here = _declarations(classes[module], types)
        data = here.data - here.called - here.services
        found += _in_module(module, tree, _Declared(whole.called - data, whole.services - data), package)
    return sorted(found, key=lambda hook: (hook.module, hook.line))


def _aliases(trees: Iterable[ast.Module]) -> Iterator[str]:
    """Yield the names of `type X = Callable[…]`."""
    for node in chain(*map(ast.walk, trees)):
        if isinstance(node, ast.TypeAlias) and "Callable" in ast.unparse(node.value):
            yield node.name.id


def _declarations(classes: Iterable[ast.ClassDef], types: _Types) -> _Declared:
    declared = _Declared()
    for node in (inner for outer in classes for inner in ast.walk(outer)):
        if isinstance(node, ast.AnnAssign) and (attribute := _attribute(node.target)):
            declared.add(attribute, node.annotation, types)
        elif isinstance(node, ast.FunctionDef) and node.name in _CONSTRUCTORS:
            _declare_in_constructor(node, declared, types)
    return declared


def _declare_in_constructor(node: ast.FunctionDef, declared: _Declared, types: _Types) -> None:
    annotations = {parameter.arg: parameter.annotation for parameter in _parameters(node)}
    for statement in ast.walk(node):
        if not isinstance(statement, ast.Assign):
            continue
        annotation = annotations.get(statement.value.id) if isinstance(statement.value, ast.Name) else None
        for target in statement.targets:
            attribute = _attribute(target) if isinstance(target, ast.Attribute) else None
            if attribute and annotation:
                declared.add(attribute, annotation, types)
            elif attribute:
                declared.data.add(attribute)


def _is_value(node: ast.ClassDef) -> bool:
    decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
    bases = " ".join(ast.unparse(base) for base in node.bases)
    return "dataclass" in decorators or bool(_VALUE_BASES.search(bases))


def _attribute(target: ast.expr) -> str | None:
    """Return `x` for the declarations `x: T` and `self.x: T`."""
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) and _is_self(target.value) else None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _in_module(module: str, tree: ast.Module, declared: _Declared, package: str) -> Iterator[LateHook]:
    nodes = list(ast.walk(tree))
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == package)
        for alias in node.names
    }
    methods = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    functions = {node.name for node in methods}
    setters = {
        id(statement)
        for node in methods
        if node.name not in _CONSTRUCTORS
        for statement in _parameter_assignments(node)
    }
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if not isinstance(target, ast.Attribute):
                continue
            if _is_self(target.value):
                is_late = id(node) in setters and target.attr in declared.called
            else:
                is_reference = isinstance(node.value, ast.Lambda | ast.Name | ast.Attribute)
                is_late = is_reference and target.attr in declared.called | declared.services
                is_late |= _is_patch(target, node.value, imported, functions)
            if is_late:
                yield LateHook(module, node.lineno, ast.unparse(node))


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _parameter_assignments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Assign]:
    """Yield the assignments of a function whose value is one of its parameters."""
    names = {parameter.arg for parameter in _parameters(node)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Name) and inner.value.id in names:
            yield inner


def _is_patch(target: ast.Attribute, value: ast.expr, imported: set[str], functions: set[str]) -> bool:
    """Return whether a function replaces a name of an imported class or module."""
    is_function = isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in functions)
    return is_function and isinstance(target.value, ast.Name) and target.value.id in imported
