"""What a frame says once it is decoded: with the defaults filled in, as plain JSON."""

from typing import Any

import msgspec
from msgspec import Struct

from tidings.wire.codec import DecodedRequest, decode
from tidings.wire.errors import ErrorBody
from tidings.wire.frames.table import PUSH_OF, REQUEST_BY_BODY, REQUEST_OF


def request_semantics(data: bytes) -> dict[str, Any]:
    """Of one that is refused: what it is told."""
    got = decode(data)
    if not isinstance(got, DecodedRequest):
        return {"id": got.id, "error": {"code": got.code.value, "message": got.message}}
    return {"id": got.id, "kind": REQUEST_BY_BODY[type(got.body)].name, "body": plain_text(got.body)}


def frame_semantics(data: bytes, answers: str) -> dict[str, Any]:
    """Of a frame from the server. A push that is not known means nothing."""
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
