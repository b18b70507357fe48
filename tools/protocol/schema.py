"""Make the JSON Schema of every frame, and decode frames to plain JSON with the defaults filled in."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from tidings.wire.codec import DecodedRequest, decode
from tidings.wire.fields import MAX_REQUEST_ID, PROTOCOL
from tidings.wire.frames.registry import (
    PUSH_OF,
    PUSHES,
    REQUEST_BY_BODY,
    REQUEST_OF,
    REQUESTS,
    PushKind,
    RequestKind,
)
from tidings.wire.frames.structs import ErrorBody


def request_semantics(data: bytes) -> dict[str, Any]:
    """Decode a request; if it is refused, return the error."""
    got = decode(data)
    if not isinstance(got, DecodedRequest):
        return {"id": got.id, "error": {"code": got.code.value, "message": got.message}}
    return {"id": got.id, "kind": REQUEST_BY_BODY[type(got.body)].name, "body": plain_text(got.body)}


def frame_semantics(data: bytes, answers: str) -> dict[str, Any]:
    """Decode an answer or a push. An unknown push is ignored."""
    keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    request_id = msgspec.json.decode(keys.pop("id")) if "id" in keys else None
    ((name, raw),) = keys.items()
    if name == "ok":
        body = msgspec.json.decode(raw, type=REQUEST_OF[answers].answer)
        return {"id": request_id, "kind": "ok", "answers": answers, "body": plain_text(body)}
    if name == "error":
        return {
            "id": request_id,
            "kind": "error",
            "body": plain_text(msgspec.json.decode(raw, type=ErrorBody)),
        }
    if name not in PUSH_OF:
        return {"kind": name, "is_ignored": True}
    return {"kind": name, "body": plain_text(msgspec.json.decode(raw, type=PUSH_OF[name].body))}


def plain_text(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Struct):
        return {name: plain_text(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: plain_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_text(item) for item in value]
    return value


type Schema = dict[str, Any]


def schema_document() -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frames of Tidings",
        "description": f"Protocol level {PROTOCOL}. To the server strict, to the device growing: see the reference.",
        "protocol": PROTOCOL,
        "requests": {kind.name: _ref(request_name(kind)) for kind in REQUESTS},
        "answers": {kind.name: _ref(answer_name(kind)) for kind in REQUESTS},
        "pushes": {kind.name: _ref(push_name(kind)) for kind in PUSHES},
        "$defs": definitions("#/$defs/{name}"),
    }


def definitions(ref_template: str) -> dict[str, Schema]:
    """Return bodies and frames by name, as plain JSON that can be compared with a file."""
    types = [*(k.body for k in REQUESTS), *(k.answer for k in REQUESTS), *(k.body for k in PUSHES)]
    _, bodies = msgspec.json.schema_components(dict.fromkeys(types), ref_template=ref_template)
    made: dict[str, Schema] = msgspec.json.decode(msgspec.json.encode(bodies))
    return {**made, **dict(_frames(ref_template))}


def request_name(kind: RequestKind) -> str:
    return f"{kind.name}Request"


def answer_name(kind: RequestKind) -> str:
    return f"{kind.name}Answer"


def push_name(kind: PushKind) -> str:
    return f"{kind.name}Push"


def _frames(ref_template: str) -> Iterator[tuple[str, Schema]]:
    def ref(body: type) -> Schema:
        return {"$ref": ref_template.format(name=body.__name__)}

    for kind in REQUESTS:
        required = ["id", kind.name] if kind.needs_id else [kind.name]
        yield request_name(kind), _frame({"id": _ID, kind.name: ref(kind.body)}, required, is_closed=True)
        yield answer_name(kind), _frame({"id": _ID, "ok": ref(kind.answer)}, ["id", "ok"])
    yield "errorAnswer", _frame({"id": _ID, "error": ref(ErrorBody)}, ["id", "error"])
    for push in PUSHES:
        yield push_name(push), _frame({push.name: ref(push.body)}, [push.name])


def _frame(properties: dict[str, Schema], required: list[str], *, is_closed: bool = False) -> Schema:
    frame: Schema = {"type": "object", "properties": properties, "required": required}
    return {**frame, "additionalProperties": False} if is_closed else frame


def _ref(name: str) -> str:
    return f"#/$defs/{name}"


_ID: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_REQUEST_ID}
