"""Validate messages against a tenant's JSON Schema, and bound the work that a schema can cause.

The work is the number of subschemas with all references written out.

A chain of references in which each level names the next one twice is short and doubles the work with every level.
A loop is written out `_LOOP` times rather than once: a loop that names itself twice doubles with every level of the
message, so counting it once would let `{"anyOf": [{"properties": {"x": {"$ref": "#"}}}, …the same again]}` pass.

The walk does not know keywords: every object and list counts, and every string under `$ref` is followed. So a keyword
that this module does not know hides nothing. Regular expressions are bounded apart from that: the time to match one is
its compiled size times the text, and both are the tenant's. References within a document start with `#`; a `$id` below the root
would change their meaning and is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from tidings.inboxes.schema_process import (
    MAX_PATTERN_BYTES,
    SchemaProcess,
    is_valid,
    make_validator,
    pattern_bytes,
    schema_errors,
)
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

MAX_UNROLLED: Final = 2_000
_MAX_DEPTH = 100
_LOOP = 12
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_UNEVALUATED_FACTOR = 4
"""The validator evaluates everything below such a keyword several times."""
_UNIQUE = 50
"""`uniqueItems` compares pairs."""
_MAX_PATTERNS_BYTES = 256_000
"""With a message of `MAX_BYTES`, they take about 1.5 s in the helper process, whose limit is 5 s."""
_VALUES_PER_STEP = 8
"""Plain values in a list, as in `enum` and `required`, are compared much faster than a subschema."""


def count_unrolled(schema: Mapping[str, Any]) -> int:
    """Count the subschemas of `schema` with its references written out.

    Raises `request_invalid` above `MAX_UNROLLED`, after visiting no more than that, and for a reference to a location
    that does not exist in `schema`.
    """
    return _SchemaWalk(schema).count(schema, 0)


def _check_patterns(patterns: Mapping[str, int]) -> None:
    """Raise `request_invalid` for patterns that take too long together. `patterns`: how often each is matched."""
    total_bytes = 0
    for pattern, times in patterns.items():
        total_bytes += times * pattern_bytes(pattern)
        if total_bytes > _MAX_PATTERNS_BYTES:
            raise _invalid_schema(
                f"its regular expressions compile to more than {_MAX_PATTERNS_BYTES} bytes together. Use `maxLength` "
                "and `minLength` rather than long repetitions."
            )


def _patterns_of(node: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(pattern := node.get("pattern"), str):
        yield pattern
    if isinstance(by_name := node.get("patternProperties"), dict):
        yield from by_name


def _has_pattern(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema matches regular expressions, or compiles those of messages."""
    nodes = (node for node in _containers(schema) if isinstance(node, dict))
    return any(node.get("format") == "regex" or any(_patterns_of(node)) for node in nodes)


class _SchemaWalk:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._anchors = defaultdict[str, list[Any]](list)
        self._entered = Counter[int]()
        self._visited = 0
        self.patterns = Counter[str]()
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
            self.patterns.update(_patterns_of(node))
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
        """Return every location that `reference` can mean: a dynamic one means any anchor of its name."""
        if not reference.startswith("#"):
            raise _invalid_schema(
                f"the reference {reference!r} must start with `#`. A schema can refer to itself only."
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            found = self._anchors.get(fragment, [])
        else:
            found = _at(self._root, fragment)
        if not found:
            raise _invalid_schema(f"the target of the reference {reference!r} does not exist.")
        return found

    def _note(self, node: Mapping[str, Any]) -> None:
        if node is not self._root and isinstance(node.get("$id"), str):
            raise _invalid_schema("`$id` is allowed at the root only.")
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
    return _invalid_schema(
        f"with its references written out it has more than {MAX_UNROLLED} subschemas, or is nested deeper than "
        f"{_MAX_DEPTH}. A recursive schema may refer to itself once."
    )


def _invalid_schema(reason: str) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, f"Invalid schema: {reason}")


MAX_BYTES = 16 * 1024
_CHEAP = 20_000
"""Up to this number of steps, a message is validated on the event loop: some milliseconds."""
_CHEAP_ERRORS = 1_000
"""The same bound for listing the errors of an invalid message."""
_BYTES_PER_VALUE = 8
_encode = msgspec.json.Encoder(order="sorted").encode
_helper = SchemaProcess()


def encode_payload(message: Mapping[str, Any]) -> bytes:
    body = _encode(message)
    if len(body) > MAX_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE, f"The message has {len(body)} bytes. At most {MAX_BYTES} are allowed."
        )
    return body


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise `request_invalid` if this is not a schema of draft 2020-12, has external references or is too complex."""
    walk = _SchemaWalk(schema)
    walk.count(schema, 0)
    _check_patterns(walk.patterns)
    try:
        make_validator(_encode(schema))
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        if reason.endswith('is not a "regex"'):
            reason += f", or it compiles to more than {MAX_PATTERN_BYTES} bytes"
        raise _invalid_schema(reason) from error


async def check_payload(
    tenant: TenantId, schema: Mapping[str, Any] | None, message: Mapping[str, Any]
) -> None:
    """Raise `content_invalid`, with the first errors, if the message does not match the schema.

    A costly validation, and each with a regular expression, runs in a helper process, off the event loop. Raises `request_invalid` for a stored schema that
    is more complex than the bound: the inbox needs another schema.
    """
    if schema is None:
        return
    encoded, body = _encode(schema), encode_payload(message)
    cost = _cost_of(encoded)
    steps = cost.unrolled * (1 + len(body) // _BYTES_PER_VALUE)
    if not cost.has_pattern and steps <= _CHEAP and is_valid(encoded, message):
        return
    if not cost.has_pattern and steps <= _CHEAP_ERRORS:
        errors = schema_errors(encoded, message)
    else:
        errors = await _helper.errors(tenant, encoded, body)
    if errors:
        raise TidingsError(
            Code.CONTENT_INVALID,
            "The message does not match the schema of its inbox.",
            hint="; ".join(errors)[:1000],
        )


class _SchemaCost(NamedTuple):
    unrolled: int
    has_pattern: bool


@lru_cache(maxsize=256)
def _cost_of(encoded: bytes) -> _SchemaCost:
    schema = msgspec.json.decode(encoded)
    return _SchemaCost(count_unrolled(schema), _has_pattern(schema))
