"""How much work a tenant's JSON Schema can cause: its subschemas, counted as if every reference were written out.

A chain of references in which each level names the next one twice is short and doubles the work with every level.
A loop is written out `_LOOP` times rather than once: a loop that names itself twice doubles with every level of the
message, so counting it once would let `{"anyOf": [{"properties": {"x": {"$ref": "#"}}}, …the same again]}` pass.

The walk does not know keywords: every object and list counts, wherever it is, and every string under `$ref` is
followed. So a keyword that this module does not know hides nothing. Schemas in one document refer to each other by
`#…` alone; a `$id` below the root would change what that means, and is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from tidings.inboxes.schema_process import SchemaProcess, is_valid, make_validator, schema_errors
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

MAX_UNROLLED: Final = 2_000
_MAX_DEPTH = 100
_LOOP = 12
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_UNEVALUATED_FACTOR = 4
"""The validator goes through everything below once more, several times over."""
_UNIQUE = 50
"""`uniqueItems` compares pairs."""
_VALUES_PER_STEP = 8
"""Plain values in a list, as in `enum` and `required`, are compared much faster than a subschema is tried."""


def count_unrolled(schema: Mapping[str, Any]) -> int:
    """Count the subschemas of `schema` with its references written out.

    Raises `request_invalid` above `MAX_UNROLLED`, after visiting no more than that, and for a reference that does
    not lead to a place in `schema`.
    """
    return _SchemaWalk(schema).count(schema, 0)


class _SchemaWalk:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._anchors = defaultdict[str, list[Any]](list)
        self._entered = Counter[int]()
        self._visited = 0
        for node in _containers(root):
            if isinstance(node, dict):
                self._note(node)

    def count(self, node: Any, depth: int) -> int:  # noqa: ANN401 - JSON
        self._visited += 1
        if self._visited > MAX_UNROLLED or depth > _MAX_DEPTH:
            raise _too_complex()
        children = node.values() if isinstance(node, dict) else node
        total = 1 + len(node) // _VALUES_PER_STEP
        total += sum(self.count(child, depth + 1) for child in children if isinstance(child, dict | list))
        if isinstance(node, dict):
            total += sum(self._follow(target, depth) for target in self._targets(node))
            total += _UNIQUE * ("uniqueItems" in node)
            total *= _UNEVALUATED_FACTOR if any(name in node for name in _UNEVALUATED) else 1
        if total > MAX_UNROLLED:
            raise _too_complex()
        return total

    def _follow(self, target: Any, depth: int) -> int:  # noqa: ANN401 - JSON
        if not isinstance(target, dict | list) or self._entered[id(target)] >= _LOOP:
            return 1
        self._entered[id(target)] += 1
        total = self.count(target, depth + 1)
        self._entered[id(target)] -= 1
        return total

    def _targets(self, node: Mapping[str, Any]) -> Iterator[Any]:
        for keyword in _REFERENCES:
            if isinstance(reference := node.get(keyword), str):
                yield from self._resolved(reference)

    def _resolved(self, reference: str) -> list[Any]:
        """Every place that `reference` may mean: a dynamic one means any anchor of its name."""
        if not reference.startswith("#"):
            raise _faulty(
                f"the reference {reference!r} must begin with #: schemas refer to themselves alone."
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            found = self._anchors.get(fragment, [])
        else:
            found = _at(self._root, fragment)
        if not found:
            raise _faulty(f"the reference {reference!r} leads nowhere.")
        return found

    def _note(self, node: Mapping[str, Any]) -> None:
        if node is not self._root and isinstance(node.get("$id"), str):
            raise _faulty("`$id` is allowed at the root alone.")
        for keyword in _ANCHORS:
            if isinstance(name := node.get(keyword), str):
                self._anchors[name].append(node)


def _containers(root: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        children = node.values() if isinstance(node, dict) else node
        waiting.extend(child for child in children if isinstance(child, dict | list))


def _at(root: Any, pointer: str) -> list[Any]:  # noqa: ANN401 - JSON
    node = root
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            return []
    return [node]


def _too_complex() -> TidingsError:
    return _faulty(
        f"with its references written out it has more than {MAX_UNROLLED} subschemas, or is nested deeper than "
        f"{_MAX_DEPTH}. A recursive schema may refer to itself once."
    )


def _faulty(reason: str) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, f"The schema can't be used: {reason}")


MAX_BYTES = 16 * 1024
_CHEAP = 20_000
"""Up to so many steps a message is checked at once: some milliseconds."""
_CHEAP_FAULTS = 1_000
"""The same for finding out what is wrong with one that is not valid."""
_BYTES_PER_VALUE = 8
_encode = msgspec.json.Encoder(order="sorted").encode
_helper = SchemaProcess()


def encode_payload(message: Mapping[str, Any]) -> bytes:
    body = _encode(message)
    if len(body) > MAX_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE, f"The message is {len(body)} bytes; {MAX_BYTES} are allowed."
        )
    return body


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises `request_invalid` for what is no schema of draft 2020-12, refers to something outside, or is too complex."""
    _unrolled(body := _encode(schema))
    try:
        make_validator(body)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise TidingsError(Code.REQUEST_INVALID, f"The schema can't be used: {reason}") from error


async def check_payload(
    tenant: TenantId, schema: Mapping[str, Any] | None, message: Mapping[str, Any]
) -> None:
    """Raises `content_invalid`, with the first faults.

    What can be costly is checked in a helper process, off the event loop. A schema that was stored before there was
    a bound, and is above it, accepts no message: raises `request_invalid`, and the inbox needs another schema.
    """
    if schema is None:
        return
    wanted, body = _encode(schema), encode_payload(message)
    steps = _unrolled(wanted) * (1 + len(body) // _BYTES_PER_VALUE)
    if steps <= _CHEAP and is_valid(wanted, message):
        return
    if steps <= _CHEAP_FAULTS:
        faults = schema_errors(wanted, message)
    else:
        faults = await _helper.faults(tenant, wanted, body)
    if faults:
        raise TidingsError(
            Code.CONTENT_INVALID, "The message is not as its inbox wants it.", hint="; ".join(faults)[:1000]
        )


@lru_cache(maxsize=256)
def _unrolled(schema: bytes) -> int:
    return count_unrolled(msgspec.json.decode(schema))
