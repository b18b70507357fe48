"""Find changes of the frames or of the REST API that break existing clients.

Each function compares an older document with a newer one and returns one line for each change that breaks a client:
the server refuses what the client sends, or no longer sends what the client reads. Additions break no client.
"""

from collections.abc import Iterator
from typing import Any

type Json = dict[str, Any]

_METHODS = ("get", "put", "post", "delete", "patch")
_UPPER_BOUNDS = ("maximum", "maxLength", "maxItems", "maxProperties")
_LOWER_BOUNDS = ("minimum", "minLength", "minItems", "minProperties")


def find_breaking_frame_changes(old: Json, new: Json) -> list[str]:
    """Compare two schema documents of the WebSocket protocol."""
    found = [
        f"{group}.{name}: was removed"
        for group in ("requests", "pushes")
        for name in old[group]
        if name not in new[group]
    ]
    for group in ("requests", "answers", "pushes"):
        for name in old[group].keys() & new[group].keys():
            is_request = group == "requests"
            at = name if is_request else f"{group}.{name}"
            schemas = _Schemas(old, new, is_sent=is_request)
            found += schemas.compare(at, {"$ref": old[group][name]}, {"$ref": new[group][name]})
    return found


def find_breaking_api_changes(old: Json, new: Json) -> list[str]:
    """Compare two OpenAPI documents."""
    operations, found = _Operations(old, new), list[str]()
    for path, methods in old["paths"].items():
        for method in (method for method in _METHODS if method in methods):
            at, changed = f"{method.upper()} {path}", new["paths"].get(path, {}).get(method)
            if changed is None:
                found.append(f"{at}: was removed")
            else:
                found += operations.compare(at, methods[method], changed)
    return list(dict.fromkeys(found))


class _Operations:
    """Compare operations of the REST API. A schema that many use is compared, and reported, once."""

    def __init__(self, old_document: Json, new_document: Json) -> None:
        self._request = _Schemas(old_document, new_document, is_sent=True)
        self._response = _Schemas(old_document, new_document, is_sent=False)

    def compare(self, at: str, old: Json, new: Json) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{at}: another operation id; generated clients name their methods after it"
        if not old.get("security") and new.get("security"):
            yield f"{at}: needs a credential now"
        yield from self._parameters(at, _parameters(old), _parameters(new))
        yield from self._body(f"{at} body", old.get("requestBody"), new.get("requestBody"))
        yield from self._responses(at, old["responses"], new["responses"])

    def _parameters(self, at: str, old: dict[str, Json], new: dict[str, Json]) -> Iterator[str]:
        yield from (f"{at} {name}: was removed" for name in old.keys() - new.keys())
        for name, parameter in new.items():
            was = old.get(name)
            if parameter.get("required") and not (was and was.get("required")):
                yield f"{at} {name}: is required now"
            if was is not None:
                yield from self._request.compare(f"{at} {name}", was["schema"], parameter["schema"])

    def _body(self, at: str, old: Json | None, new: Json | None) -> Iterator[str]:
        if old is not None and new is not None:
            yield from _contents(self._request, at, old["content"], new["content"])
        elif old is not None:
            yield f"{at}: was removed"
        elif new is not None and new.get("required"):
            yield f"{at}: is required now"

    def _responses(self, at: str, old: Json, new: Json) -> Iterator[str]:
        for status, response in old.items():
            if status in new:
                contents = response.get("content", {}), new[status].get("content", {})
                yield from _contents(self._response, f"{at} {status}", *contents)
            elif status.startswith("2"):
                yield f"{at} {status}: was removed"


def _parameters(operation: Json) -> dict[str, Json]:
    return {f"{each['name']} in {each['in']}": each for each in operation.get("parameters", [])}


def _contents(schemas: "_Schemas", at: str, old: Json, new: Json) -> Iterator[str]:
    for media, content in old.items():
        if media in new:
            yield from schemas.compare(at, content["schema"], new[media]["schema"])
        else:
            yield f"{at} {media}: was removed"


class _Schemas:
    """Compare the JSON Schemas of one direction: what clients send (`is_sent`), or what they read.

    A pair of referenced schemas is compared once, so that recursive ones end.
    """

    def __init__(self, old_document: Json, new_document: Json, *, is_sent: bool) -> None:
        self._old = old_document
        self._new = new_document
        self._is_sent = is_sent
        self._compared: set[tuple[str, str]] = set()

    def compare(self, at: str, old: Json, new: Json) -> Iterator[str]:
        if "$ref" in old and "$ref" in new:
            if (old["$ref"], new["$ref"]) in self._compared:
                return
            self._compared.add((old["$ref"], new["$ref"]))
        old, new = _resolve(self._old, old), _resolve(self._new, new)
        old_types, new_types = _types(self._old, old), _types(self._new, new)
        if not (old_types <= new_types if self._is_sent else new_types <= old_types):
            yield f"{at}: was {' or '.join(sorted(old_types))}, is {' or '.join(sorted(new_types))}"
            return
        if old.get("default") != new.get("default"):
            # a field with its default value is not sent: the other side fills in the default that it knows
            yield f"{at}: the default is {new.get('default')}, was {old.get('default')}"
        yield from self._values(at, old, new)
        yield from self._fields(at, old, new)
        for part in ("items", "additionalProperties", "propertyNames"):
            if isinstance(old.get(part), dict) and isinstance(new.get(part), dict):
                yield from self.compare(f"{at}[]", old[part], new[part])
        yield from self._alternatives(at, old, new)

    def _values(self, at: str, old: Json, new: Json) -> Iterator[str]:
        """Report values that are no longer possible. Clients must accept new values that they do not know."""
        if "enum" in new:
            gone = [value for value in old.get("enum", ()) if value not in new["enum"]]
            yield from (f"{at}: the value {value} was removed" for value in gone)
        if not self._is_sent:
            return
        if new.get("pattern") not in (None, old.get("pattern")):
            yield f"{at}: another pattern"
        infinite = float("inf")
        tighter = [name for name in _UPPER_BOUNDS if new.get(name, infinite) < old.get(name, infinite)]
        tighter += [name for name in _LOWER_BOUNDS if new.get(name, -infinite) > old.get(name, -infinite)]
        yield from (f"{at}: {name} is {new[name]}, was {old.get(name, 'unbounded')}" for name in tighter)

    def _fields(self, at: str, old: Json, new: Json) -> Iterator[str]:
        before, now = old.get("properties", {}), new.get("properties", {})
        required, required_now = set(old.get("required", ())), set(new.get("required", ()))
        yield from (f"{at}.{name}: was removed" for name in before if name not in now)
        if self._is_sent:
            yield from (f"{at}.{name}: is required now" for name in sorted(required_now - required))
        else:
            optional = sorted((required - required_now) & now.keys())
            yield from (f"{at}.{name}: can be missing now" for name in optional)
        for name in (name for name in before if name in now):
            yield from self.compare(f"{at}.{name}", before[name], now[name])

    def _alternatives(self, at: str, old: Json, new: Json) -> Iterator[str]:
        """Compare the alternatives of `anyOf`, in their order and without null."""
        before, now = _alternatives(old), _alternatives(new)
        if len(before) > len(now) if self._is_sent else len(now) > len(before):
            yield f"{at}: has {len(now)} alternatives, had {len(before)}"
        for one, other in zip(before, now, strict=False):
            if one is not old or other is not new:
                yield from self.compare(at, one, other)


def _resolve(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def _alternatives(schema: Json) -> list[Json]:
    if "anyOf" not in schema:
        return [schema]
    return [each for each in schema["anyOf"] if each.get("type") != "null"]


def _types(document: Json, schema: Json) -> set[str]:
    schema = _resolve(document, schema)
    if "anyOf" in schema:
        return {name for each in schema["anyOf"] for name in _types(document, each)}
    return {"string" if "enum" in schema else str(schema.get("type", "anything"))}
