"""Does a change of the frames break clients that are out there? What they send must still be taken, what they read told.

Compares two schema documents: the baseline, from which clients were built, and the present one.
"""

from collections.abc import Iterator
from typing import Any

type Schema = dict[str, Any]

_LOWER_IS_NARROWER = ("maximum", "maxLength", "maxItems", "maxProperties")
_HIGHER_IS_NARROWER = ("minimum", "minLength", "minItems", "minProperties")


def find_breaking_frame_changes(before: Schema, after: Schema) -> list[str]:
    """Empty: old clients go on as they are."""
    found = [*_gone(before, after, "requests"), *_gone(before, after, "pushes")]
    for name, ref in before["requests"].items():
        if name in after["requests"]:
            to_server = _Side(before["$defs"], after["$defs"], is_to_server=True)
            found += to_server.compare(name, {"$ref": ref}, {"$ref": after["requests"][name]})
    for group in ("answers", "pushes"):
        for name, ref in before[group].items():
            if name in after[group]:
                to_device = _Side(before["$defs"], after["$defs"], is_to_server=False)
                found += to_device.compare(f"{group}.{name}", {"$ref": ref}, {"$ref": after[group][name]})
    return found


def _gone(before: Schema, after: Schema, group: str) -> list[str]:
    return [f"{group}.{name}: is gone" for name in before[group] if name not in after[group]]


class _Side:
    """One direction. The server must go on taking all that it took, and telling all that it told."""

    def __init__(self, before: Schema, after: Schema, *, is_to_server: bool) -> None:
        self._before = before
        self._after = after
        self._is_to_server = is_to_server

    def compare(self, at: str, before: Schema, after: Schema) -> Iterator[str]:
        before, after = _resolved(before, self._before), _resolved(after, self._after)
        if _type(before) != _type(after) and not self._is_widened(before, after):
            yield f"{at}: was {_type(before)}, is {_type(after)}"
            return
        if before.get("default") != after.get("default"):
            # what has its default is not sent: the other side fills in the one that it knows
            yield f"{at}: the default is {after.get('default')}, was {before.get('default')}"
        yield from self._values(at, before, after)
        yield from self._bounds(at, before, after)
        yield from self._fields(at, before, after)
        for part in ("items", "additionalProperties", "propertyNames"):
            if isinstance(before.get(part), dict) and isinstance(after.get(part), dict):
                yield from self.compare(f"{at}[]", before[part], after[part])
        yield from self._variants(at, before, after)

    def _variants(self, at: str, before: Schema, after: Schema) -> Iterator[str]:
        """An optional field is `anyOf` its type and null; the types are compared in their order."""
        for was, now in zip(_real(before), _real(after), strict=False):
            yield from self.compare(at, was, now)

    def _is_widened(self, before: Schema, after: Schema) -> bool:
        """A request may take null where it did not; an answer must not begin to tell it."""
        was, now = set(_type(before).split(" or ")), set(_type(after).split(" or "))
        return was <= now if self._is_to_server else now <= was

    def _values(self, at: str, before: Schema, after: Schema) -> Iterator[str]:
        """Clients take a value that they do not know for one; the server does not."""
        if self._is_to_server and "enum" in before:
            for value in before["enum"]:
                if value not in after.get("enum", [value]):
                    yield f"{at}: the value {value} is gone"
        if before.get("pattern") != after.get("pattern") and self._is_to_server and "pattern" in after:
            yield f"{at}: another pattern"

    def _bounds(self, at: str, before: Schema, after: Schema) -> Iterator[str]:
        if not self._is_to_server:
            return
        for name in _LOWER_IS_NARROWER:
            if name in after and after[name] < before.get(name, float("inf")):
                yield f"{at}: {name} is {after[name]}, was {before.get(name, 'unbounded')}"
        for name in _HIGHER_IS_NARROWER:
            if name in after and after[name] > before.get(name, float("-inf")):
                yield f"{at}: {name} is {after[name]}, was {before.get(name, 'unbounded')}"

    def _fields(self, at: str, before: Schema, after: Schema) -> Iterator[str]:
        was, now = before.get("properties", {}), after.get("properties", {})
        for name in was.keys() - now.keys():
            yield f"{at}.{name}: is gone"
        required = set(after.get("required", ())), set(before.get("required", ()))
        if self._is_to_server:
            yield from (f"{at}.{name}: is required now" for name in sorted(required[0] - required[1]))
        else:
            lost = (required[1] - required[0]) & now.keys()
            yield from (f"{at}.{name}: can be missing now" for name in sorted(lost))
        for name in was.keys() & now.keys():
            yield from self.compare(f"{at}.{name}", was[name], now[name])


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    while "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    return schema


def _real(schema: Schema) -> list[Schema]:
    return [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]


def _type(schema: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(sorted({_type(one) for one in schema["anyOf"]}))
    if "enum" in schema:
        return "string"
    return str(schema.get("type", "reference" if "$ref" in schema else "anything"))
