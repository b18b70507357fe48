"""Encode requests; decode answers and pushes. Unknown pushes and fields are ignored, as the protocol requires."""

from typing import Final, NamedTuple

import msgspec

from tidings_wire.frames.registry import PUSH_OF, REQUEST_BY_BODY
from tidings_wire.frames.structs import Body, ErrorBody


class Response(NamedTuple):
    """The answer to the request with this id. The type of `ok` depends on the request."""

    id: int
    is_ok: bool
    raw: msgspec.Raw

    def as_form(self, form: type[Body]) -> Body:
        return msgspec.json.decode(self.raw, type=form if self.is_ok else ErrorBody)


_encode: Final = msgspec.json.Encoder().encode
_decode_keys: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def encode_request(body: Body, request_id: int | None = None) -> bytes:
    """Encode a request with its `id` first, so that the server can answer even a frame that it cannot decode."""
    name = REQUEST_BY_BODY[type(body)].name
    return _encode({name: body} if request_id is None else {"id": request_id, name: body})


def validate(body: Body) -> None:
    """Raise `ValueError` for a request that the server would refuse, before it is stored in the outbox."""
    msgspec.json.decode(_encode(body), type=type(body))


def decode_frame(data: bytes | str) -> Response | Body | None:
    """Decode an answer or a push. Returns None for an unknown push. Raises `msgspec.DecodeError` for other data."""
    keys = _decode_keys(data)
    if "id" in keys:
        is_ok = "ok" in keys
        return Response(msgspec.json.decode(keys["id"], type=int), is_ok, keys["ok" if is_ok else "error"])
    for name, raw in keys.items():
        if name in PUSH_OF:
            return msgspec.json.decode(raw, type=PUSH_OF[name].body)
    return None
