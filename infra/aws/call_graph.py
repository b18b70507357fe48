"""Find all functions that a process can reach, from the types that mypy finds.

A method is reachable if a reachable function names it on an expression of its class, of a base class or of a protocol, and the
class is used. So the result can have too many functions, for example of a branch that a setting excludes, and not too few: only
calls on values of type `Any` are not seen.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from mypy import nodes
from mypy.build import BuildResult, build
from mypy.modulefinder import BuildSource
from mypy.nodes import (
    CallExpr,
    Decorator,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OverloadedFuncDef,
    RefExpr,
    StrExpr,
    SuperExpr,
    SymbolNode,
    TypeAlias,
    TypeInfo,
    Var,
)
from mypy.options import Options
from mypy.subtypes import is_subtype
from mypy.types import (
    CallableType,
    Instance,
    LiteralType,
    Overloaded,
    TupleType,
    Type,
    TypeType,
    TypeVarType,
    UnionType,
    get_proper_type,
)
from mypy.typevars import fill_typevars_with_any

_FUNCTIONS: Final = (FuncDef, Decorator, OverloadedFuncDef)
_CODE: Final = (nodes.Expression, nodes.Statement, nodes.Argument, nodes.FuncItem)
_OTHER_PLACES: Final = frozenset(
    {
        "node",
        "_node",
        "info",
        "type",
        "unanalyzed_type",
        "def_var",
        "var",
        "original_def",
        "original_decorators",
    }
)
"""Attributes of mypy's nodes that lead to another place of the code."""
_PLAIN_BASES: Final = ("builtins.", "typing.", "enum.", "msgspec.")


def read_types(modules: list[str], path: list[Path]) -> BuildResult:
    """Check the types of modules and of all that they import. Takes a minute of CPU and one GB of memory."""
    options = Options()
    options.incremental = False
    options.export_types = True
    options.preserve_asts = True
    options.ignore_errors = True
    options.mypy_path = [str(each) for each in path]
    return build([BuildSource(None, module, None) for module in modules], options)


type References = tuple[list[SymbolNode | None], set[tuple[str, TypeInfo]], list[CallExpr]]


class CodeIndex:
    """The code of one package: values of module variables, and functions that a decorator registers."""

    def __init__(self, result: BuildResult, package: str) -> None:
        self.types = result.types
        self.files = result.files
        self._package = package
        self._references: dict[int, References] = {}
        self.values: dict[str, list[nodes.Expression]] = defaultdict(list)
        self.registered: dict[str, list[Decorator]] = defaultdict(list)
        for name, file in result.files.items():
            if self.has(name):
                self._scan(file.defs)

    def has(self, fullname: str) -> bool:
        return fullname == self._package or fullname.startswith(f"{self._package}.")

    def find(self, fullname: str) -> SymbolNode:
        module, _, name = fullname.rpartition(".")
        found = self.files[module].names[name].node
        if found is None:
            raise LookupError(fullname)
        return found

    def references(self, root: Node) -> References:
        """Return the names below a node, the members with the classes on which they are named, and the calls."""
        if id(root) not in self._references:
            self._references[id(root)] = self._find_references(root)
        return self._references[id(root)]

    def _find_references(self, root: Node) -> References:
        names: list[SymbolNode | None] = []
        members: set[tuple[str, TypeInfo]] = set()
        calls = []
        for node in code_in(root):
            if isinstance(node, NameExpr):
                names.append(node.node)
            elif isinstance(node, MemberExpr):
                if isinstance(node.expr, RefExpr) and isinstance(node.expr.node, MypyFile):
                    names.append(node.node)
                else:
                    kinds = classes_of(self.types.get(node.expr))
                    members |= {(node.name, info) for info in kinds if self.has(info.fullname)}
            elif isinstance(node, SuperExpr) and node.info:
                names += [
                    base.names[node.name].node for base in node.info.mro[1:] if node.name in base.names
                ][:1]
            elif isinstance(node, CallExpr):
                calls.append(node)
        return names, members, calls

    def _scan(self, statements: list[nodes.Statement]) -> None:
        for each in statements:
            if isinstance(each, nodes.AssignmentStmt):
                for target in _flat(each.lvalues):
                    if isinstance(target, NameExpr) and isinstance(target.node, Var):
                        self.values[target.node.fullname].append(each.rvalue)
            elif isinstance(each, nodes.IfStmt):
                for block in [*each.body, *([each.else_body] if each.else_body else [])]:
                    self._scan(block.body)
            elif isinstance(each, Decorator):
                for decorator in each.original_decorators:
                    owner = _owner(decorator)
                    if owner and self.has(owner):
                        self.registered[owner].append(each)


def _owner(expression: nodes.Expression) -> str:
    """Return the name of `router` in `router.get("/v1")`."""
    while not isinstance(expression, NameExpr):
        if isinstance(expression, CallExpr):
            expression = expression.callee
        elif isinstance(expression, MemberExpr):
            expression = expression.expr
        else:
            return ""
    return expression.node.fullname if expression.node else ""


def _flat(value: object) -> Iterator[Node]:
    if isinstance(value, _CODE):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)
    if isinstance(value, nodes.TupleExpr):
        yield from value.items


@cache
def _attributes(kind: type[Node]) -> tuple[str, ...]:
    names = {name for each in kind.__mro__ for name in getattr(each, "__mypyc_attrs__", ())}
    return tuple(sorted(name for name in names - _OTHER_PLACES if not name.startswith("__")))


def code_in(root: Node) -> Iterator[Node]:
    """Yield all expressions below a node, with those of nested functions."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for name in _attributes(type(node)):  # type: ignore[arg-type] # a class can be hashed
            waiting += _flat(getattr(node, name, None))


def classes_of(kind: Type | None) -> list[TypeInfo]:  # noqa: PLR0911 - one for each kind of type
    """Return the classes on which a member of an expression of this type can be found."""
    match get_proper_type(kind):
        case Instance(type=info):
            return [info]
        case UnionType(items=items):
            return [info for each in items for info in classes_of(each)]
        case TypeVarType(upper_bound=bound, values=values):
            return [info for each in (bound, *values) for info in classes_of(each)]
        case TypeType(item=item):
            return classes_of(item)
        case CallableType() as called if called.is_type_obj():
            return classes_of(called.ret_type)
        case Overloaded(items=items):
            return classes_of(items[0])
        case TupleType(partial_fallback=fallback) | LiteralType(fallback=fallback):
            return [fallback.type]
        case _:
            return []


@cache
def _members(info: TypeInfo) -> frozenset[str]:
    return frozenset(name for base in info.mro for name in base.names)


@cache
def _implements(info: TypeInfo, other: TypeInfo) -> bool:
    if other in info.mro:
        return True
    return (
        other.is_protocol
        and _members(info).issuperset(other.protocol_members)
        and is_subtype(fill_typevars_with_any(info), fill_typevars_with_any(other))
    )


class CallGraph:
    """The names that are reachable from the functions that were added. `calls`: the calls of classes in `traced`."""

    def __init__(self, code: CodeIndex, traced: frozenset[str] = frozenset()) -> None:
        self.reached: dict[str, str] = {}
        """The names of functions, classes and variables, each with that from which it was reached first."""
        self.calls: list[tuple[str, CallExpr]] = []
        self._code = code
        self._traced = traced
        self._waiting: list[SymbolNode] = []
        self._used: dict[str, list[TypeInfo]] = defaultdict(list)
        """The classes that are used, by the names of their members."""
        self._asked: dict[str, set[TypeInfo]] = defaultdict(set)

    def add(self, root: SymbolNode | None, reason: str) -> None:
        """Add what a name stands for, and everything that can be reached from there."""
        self._refer(root, reason)
        while self._waiting:
            self._visit(self._waiting.pop())

    def _visit(self, symbol: SymbolNode) -> None:
        name = symbol.fullname
        for registered in self._code.registered.get(name, ()):
            self._refer(registered, name)
        if isinstance(symbol, TypeInfo):
            self._use(symbol)
        elif isinstance(symbol, Var):
            for value in self._code.values[name]:
                self._read(value, name)
        else:
            self._read(symbol, name)

    def _read(self, root: Node, here: str) -> None:
        names, members, calls = self._code.references(root)
        for symbol in names:
            self._refer(symbol, here)
        for name, info in members:
            if info not in self._asked[name]:
                self._asked[name].add(info)
                for each in (info, *self._used[name]):
                    if _implements(each, info):
                        self._refer_to_method(each, name, here)
        self.calls += [
            (here, call)
            for call in calls
            if isinstance(call.callee, RefExpr) and call.callee.fullname in self._traced
        ]

    def _refer_to_method(self, info: TypeInfo, name: str, here: str) -> None:
        found = info.get(name)
        if found and isinstance(found.node, _FUNCTIONS):
            self._refer(found.node, here)

    def _refer(self, symbol: SymbolNode | None, here: str) -> None:
        if isinstance(symbol, TypeAlias):
            for info in classes_of(symbol.target):
                self._refer(info, here)
        elif isinstance(symbol, (*_FUNCTIONS, TypeInfo, Var)) and self._code.has(symbol.fullname):
            is_known = not isinstance(symbol, Var) or symbol.fullname in self._code.values
            if is_known and symbol.fullname not in self.reached:
                self.reached[symbol.fullname] = here
                self._waiting.append(symbol)

    def _use(self, info: TypeInfo) -> None:
        """Add what a class runs when it is used: special methods, those that foreign bases call, those that were named before."""
        for name in _members(info):
            self._used[name].append(info)
        for statement in info.defn.defs.body:
            if not isinstance(statement, (*_FUNCTIONS, nodes.ClassDef)):
                self._read(statement, info.fullname)
        for expression in (*info.defn.base_type_exprs, *info.defn.decorators):
            self._read(expression, info.fullname)
        foreign = [
            base
            for base in info.mro
            if not self._code.has(base.fullname) and not base.fullname.startswith(_PLAIN_BASES)
        ]
        for name in _members(info):
            is_called_from_outside = name.startswith("__") or any(name in base.names for base in foreign)
            if is_called_from_outside or any(_implements(info, each) for each in self._asked.get(name, ())):
                self._refer_to_method(info, name, info.fullname)


def argument(call: CallExpr, name: str) -> nodes.Expression | None:
    """Return an argument that was given by its name."""
    return next((each for each, given in zip(call.args, call.arg_names, strict=True) if given == name), None)


def constant(expression: nodes.Expression | None, value_of: Callable[[str], object]) -> str | None:
    """Return a text that is written here or in a module variable; None for other expressions."""
    if isinstance(expression, StrExpr):
        return expression.value
    if isinstance(expression, NameExpr) and isinstance(expression.node, Var):
        return str(value_of(expression.node.fullname))
    return None
