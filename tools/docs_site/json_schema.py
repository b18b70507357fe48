"""Describe the fields of JSON Schemas in tables, for the pages that are made from OpenAPI and AsyncAPI."""

from collections.abc import Iterator
from typing import Any

from tools.docs_site.markdown import markdown_table

type Json = dict[str, Any]

_LIMITS = {
    "minLength": "at least {} characters", "maxLength": "at most {} characters",
    "minimum": "at least {}", "maximum": "at most {}",
    "minItems": "at least {} items", "maxItems": "at most {} items",
}  # fmt: skip


class SchemaTables:
    """The schemas of one document, described one at a time. References are followed."""

    def __init__(self, document: Json) -> None:
        self._schemas: Json = document["components"]["schemas"]

    def resolve(self, schema: Json) -> Json:
        """Return the schema that a reference, or an optional reference, names."""
        while True:
            variants = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
            if "$ref" in schema:
                schema = self._schemas[_name(schema)]
            elif len(variants) == 1:
                schema = {**{k: v for k, v in schema.items() if k != "anyOf"}, **variants[0]}
            else:
                return schema

    def describe(self, schema: Json, presence: str = "required") -> list[str]:
        """Return tables of the fields of an object, one for each variant, and of the objects in it.

        presence: the heading of the column for fields that are never absent.
        """
        shown: list[str] = []
        for heading, each in self._variants(schema):
            shown += [*([f"With {heading}:", ""] if heading else []), *self._fields(each, presence), ""]
        inner = [name for name in self._objects_within(schema) if self._schemas[name].get("properties")]
        for name in inner:
            shown += [f"**{name}**", "", *self._fields(self._schemas[name], presence), ""]
        return shown

    def example(self, schema: Json) -> object | None:
        for _, each in self._variants(schema):
            for found in each.get("examples", ()):
                return found  # type: ignore[no-any-return]  # decoded JSON
        return None

    def _variants(self, schema: Json) -> Iterator[tuple[str, Json]]:
        found = self.resolve(schema)
        choices = [self.resolve(each) for each in found.get("oneOf") or found.get("anyOf", ())]
        if not choices:
            yield "", found
        for each in choices:
            kind = each.get("properties", {}).get("type", {})
            yield f"`type` = `{kind.get('const', each.get('title', ''))}`", each

    def _fields(self, schema: Json, presence: str) -> list[str]:
        required = set(schema.get("required", ()))
        rows = [
            (f"`{name}`", self.type_of(each), "yes" if name in required else "", self.meaning(each))
            for name, each in schema.get("properties", {}).items()
        ]
        return markdown_table(("field", "type", presence, "meaning"), rows) if rows else ["No fields."]

    def type_of(self, schema: Json) -> str:
        """Return a short name of the type of a value."""
        if "$ref" in schema:
            target = self._schemas[_name(schema)]
            return f"`{_name(schema)}`" if target.get("properties") else self.type_of(target)
        variants = [
            each for each in schema.get("anyOf") or schema.get("oneOf", ()) if each.get("type") != "null"
        ]
        if variants:
            return " or ".join(dict.fromkeys(map(self.type_of, variants)))
        if "enum" in schema or "const" in schema:
            return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
        if schema.get("type") == "array":
            return f"list of {self.type_of(schema.get('items', {}))}"
        more = schema.get("additionalProperties")
        if schema.get("type") == "object" and isinstance(more, dict):
            return f"object of {self.type_of(more)}"
        return str(schema.get("type", "any JSON value"))

    def meaning(self, schema: Json) -> str:
        """Return the description of a value with its limits and its default."""
        found = self.resolve(schema)
        said = schema.get("description") or found.get("description", "")
        limits = [
            text.format(_number(found[name])) for name, text in _LIMITS.items() if _is_shown(name, found)
        ]
        default = schema.get("default")
        if default not in (None, [], {}, "", False):
            limits.append(f"default `{str(default).lower()}`" if default is True else f"default `{default}`")
        limit = ", ".join(limits)
        return " ".join(
            part
            for part in (said.replace("\n", " "), f"{limit[0].upper()}{limit[1:]}." if limit else "")
            if part
        )

    def _objects_within(self, schema: Json) -> list[str]:
        """Return the names of the objects in the fields of a schema, each once, outer ones first."""
        names: dict[str, None] = {}
        waiting = [each for _, each in self._variants(schema)]
        while waiting:
            for value in waiting.pop(0).get("properties", {}).values():
                for name in _references(value):
                    if name not in names:
                        names[name] = None
                        waiting.append(self._schemas[name])
        return list(names)


def _is_shown(name: str, schema: Json) -> bool:
    """Leave out limits that say nothing: a text of at least one character, the bounds of all integers."""
    trivial = {"minLength": 1, "minimum": 0}
    unbounded = 10**9
    return name in schema and schema[name] != trivial.get(name) and schema[name] < unbounded


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else str(value)


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield _name(schema)
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _name(schema: Json) -> str:
    return str(schema["$ref"].rpartition("/")[2])
