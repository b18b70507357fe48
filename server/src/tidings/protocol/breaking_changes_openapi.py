"""What a change of the description means for the clients that are out there: which changes would break one.

Pure: two documents in, sentences out. A client breaks by what it sends and is refused now, or by what it awaits and
does not get any more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

_METHODS = ("get", "put", "post", "delete", "patch")
_UPPER = ("maxLength", "maximum", "maxItems", "maxProperties")
_LOWER = ("minLength", "minimum", "minItems", "minProperties")


def find_breaking_api_changes(old: Json, new: Json) -> list[str]:
    return list(dict.fromkeys(_Comparison(old, new).found()))


@dataclass(slots=True)
class _Comparison:
    old: Json
    new: Json
    compared: set[tuple[str, str, bool]] = field(default_factory=set)

    def found(self) -> Iterator[str]:
        for path, methods in self.old["paths"].items():
            for method in _METHODS:
                if method in methods:
                    now = self.new["paths"].get(path, {}).get(method)
                    yield from self._operation(f"{method.upper()} {path}", methods[method], now)

    def _operation(self, where: str, old: Json, new: Json | None) -> Iterator[str]:
        if new is None:
            yield f"{where} is gone"
            return
        if old["operationId"] != new["operationId"]:
            yield f"{where} has another operation id: generated clients call it by that"
        if not old.get("security") and new.get("security"):
            yield f"{where} asks for a credential now"
        yield from self._parameters(where, old, new)
        yield from self._bodies(where, old.get("requestBody"), new.get("requestBody"))
        yield from self._responses(where, old["responses"], new["responses"])

    def _parameters(self, where: str, old: Json, new: Json) -> Iterator[str]:
        before, now = _parameters(old), _parameters(new)
        yield from (f"{where}: the parameter {name} is gone" for name in before.keys() - now.keys())
        for name, parameter in now.items():
            was = before.get(name)
            if parameter.get("required") and not (was and was.get("required")):
                yield f"{where}: the parameter {name} is required now"
            if was is not None:
                yield from self._schema(f"{where} {name}", was["schema"], parameter["schema"], is_sent=True)

    def _bodies(self, where: str, old: Json | None, new: Json | None) -> Iterator[str]:
        if old is None and new is not None and new.get("required"):
            yield f"{where} asks for a body now"
        if old is not None and new is None:
            yield f"{where} takes no body any more"
        if old is not None and new is not None:
            yield from self._contents(f"{where} body", old["content"], new["content"], is_sent=True)

    def _responses(self, where: str, old: Json, new: Json) -> Iterator[str]:
        for status, response in old.items():
            if status not in new:
                if status.startswith("2"):
                    yield f"{where} does not answer {status} any more"
                continue
            before, now = response.get("content", {}), new[status].get("content", {})
            yield from self._contents(f"{where} {status}", before, now, is_sent=False)

    def _contents(self, where: str, old: Json, new: Json, *, is_sent: bool) -> Iterator[str]:
        for media, content in old.items():
            if media not in new:
                yield f"{where}: {media} is gone"
            else:
                yield from self._schema(where, content["schema"], new[media]["schema"], is_sent=is_sent)

    def _schema(self, where: str, old: Json, new: Json, *, is_sent: bool) -> Iterator[str]:
        names = (old.get("$ref", ""), new.get("$ref", ""), is_sent)
        if all(names[:2]):
            if names in self.compared:
                return
            self.compared.add(names)
        old, new = _resolve(self.old, old), _resolve(self.new, new)
        yield from _forms(where, old, new, is_sent=is_sent)
        yield from self._fields(where, old, new, is_sent=is_sent)
        for inner in ("items", "additionalProperties"):
            if isinstance(old.get(inner), dict) and isinstance(new.get(inner), dict):
                yield from self._schema(f"{where}[]", old[inner], new[inner], is_sent=is_sent)
        yield from self._choices(where, old.get("anyOf", []), new.get("anyOf", []), is_sent=is_sent)

    def _choices(self, where: str, old: list[Json], new: list[Json], *, is_sent: bool) -> Iterator[str]:
        """By their order: a form that goes, in what is sent, or comes, in what is awaited, breaks."""
        if len(old) > len(new) if is_sent else len(new) > len(old):
            yield f"{where} can be of other forms than before"
        for before, now in zip(old, new, strict=False):
            yield from self._schema(where, before, now, is_sent=is_sent)

    def _fields(self, where: str, old: Json, new: Json, *, is_sent: bool) -> Iterator[str]:
        before, now = old.get("properties", {}), new.get("properties", {})
        needed, needed_now = set(old.get("required", [])), set(new.get("required", []))
        for name in before:
            if name not in now:
                yield f"{where}.{name} is gone"
            else:
                yield from self._schema(f"{where}.{name}", before[name], now[name], is_sent=is_sent)
        if is_sent:
            yield from (f"{where}.{name} is required now" for name in sorted(needed_now - needed))
        else:
            left = sorted((needed - needed_now) & now.keys())
            yield from (f"{where}.{name} may be missing now" for name in left)


def _forms(where: str, old: Json, new: Json, *, is_sent: bool) -> Iterator[str]:
    if old.get("type") != new.get("type"):
        yield f"{where} is {new.get('type')} now, was {old.get('type')}"
    gone = set(map(str, old.get("enum", []))) - set(map(str, new.get("enum", [])))
    if gone and (is_sent or "enum" in new):
        yield from (f"{where} can't be {value} any more" for value in sorted(gone))
    if is_sent:
        yield from _bounds(where, old, new)


def _bounds(where: str, old: Json, new: Json) -> Iterator[str]:
    infinite = float("inf")
    tighter = [name for name in _UPPER if new.get(name, infinite) < old.get(name, infinite)]
    tighter += [name for name in _LOWER if new.get(name, -infinite) > old.get(name, -infinite)]
    tighter += ["pattern"] if new.get("pattern") not in (None, old.get("pattern")) else []
    yield from (f"{where}: {name} is tighter" for name in tighter)


def _parameters(operation: Json) -> dict[str, Json]:
    return {f"{each['name']} in {each['in']}": each for each in operation.get("parameters", [])}


def _resolve(document: Json, schema: Json) -> Json:
    name = schema.get("$ref")
    return schema if name is None else document["components"]["schemas"][name.rpartition("/")[2]]
