"""Requests to bytes, and bytes to answers and pushes. What this client does not know is ignored, as the protocol asks."""

from typing import Final, NamedTuple

import msgspec

from tidings_wire.frames.registry import PUSH_OF, REQUEST_BY_BODY
from tidings_wire.frames.structs import Body, ErrorBody


class Response(NamedTuple):
    """Of a request with this id. Which form the `ok` has, only the asker knows."""

    id: int
    is_ok: bool
    raw: msgspec.Raw

    def as_form(self, form: type[Body]) -> Body:
        return msgspec.json.decode(self.raw, type=form if self.is_ok else ErrorBody)


_encode: Final = msgspec.json.Encoder().encode
_loosely: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def encode_request(body: Body, request_id: int | None = None) -> bytes:
    """`id` first: then even a frame that the server can't read is answered under its id."""
    name = REQUEST_BY_BODY[type(body)].name
    return _encode({name: body} if request_id is None else {"id": request_id, name: body})


def validate(body: Body) -> None:
    """Raises `ValueError` for what the server would refuse: it would be stored, tried and thrown away again."""
    msgspec.json.decode(_encode(body), type=type(body))


def decode_frame(data: bytes | str) -> Response | Body | None:
    """None: a push from a newer server. Raises `msgspec.DecodeError` for what is no frame at all."""
    keys = _loosely(data)
    if "id" in keys:
        is_ok = "ok" in keys
        return Response(msgspec.json.decode(keys["id"], type=int), is_ok, keys["ok" if is_ok else "error"])
    for name, raw in keys.items():
        if name in PUSH_OF:
            return msgspec.json.decode(raw, type=PUSH_OF[name].body)
    return None
