"""Encode and decode frames.

The nesting depth is checked before decoding, because the decoder's own limit is the stack.
"""

import re
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tidings_wire.fields import (
    MAX_FRAME_BYTES,
    MAX_FRAME_CONTAINERS,
    MAX_FRAME_DEPTH,
    MAX_REQUEST_ID,
    RequestId,
)
from tidings_wire.frames.history import GetHistory
from tidings_wire.frames.registry import PUSH_NAME, REQUEST_BY_BODY, REQUEST_OF, REQUESTS
from tidings_wire.frames.structs import ErrorBody

REQUEST_INVALID: Final = "request_invalid"
UNKNOWN_REQUEST: Final = "unknown_request"

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[^\[\]{}]+")


def is_too_deep(frame: bytes) -> bool:
    """Return whether a frame is nested too deeply or has too many containers.

    Most frames have fewer brackets than allowed levels, so counting brackets is enough for them.
    """
    opened = frame.count(b"{") + frame.count(b"[")
    return opened > MAX_FRAME_DEPTH and _is_too_deep(frame)


def _is_too_deep(frame: bytes) -> bool:
    brackets = _BRACKETS.sub(b"", _STRING.sub(b"", frame))
    if len(brackets) > 2 * MAX_FRAME_CONTAINERS:
        return True
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_FRAME_DEPTH:
            return True
    return False


class DecodedRequest(NamedTuple):
    """A valid request. `id` is None if the client wants no answer."""

    id: int | None
    body: Struct


class InvalidFrame(NamedTuple):
    """A frame that is no valid request, with the error to answer.

    `is_fault`: a correct client never sends such a frame. An unknown request is no fault: the client may be newer.
    """

    id: int | None
    code: str
    message: str
    is_fault: bool = True


_ClientFrame: Final = msgspec.defstruct(
    "ClientFrame",
    [("id", RequestId | UnsetType, UNSET), *((kind.name, kind.body | UnsetType, UNSET) for kind in REQUESTS)],
    forbid_unknown_fields=True,
)
_decode: Final = msgspec.json.Decoder(_ClientFrame).decode
_decode_keys: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_bodies: Final = attrgetter(*(kind.name for kind in REQUESTS))
_encode: Final = msgspec.json.Encoder().encode
_LEADING_ID: Final = re.compile(rb'\s*\{\s*"id"\s*:\s*([1-9][0-9]{0,15})\s*[,}]')


def decode(data: bytes) -> DecodedRequest | InvalidFrame:
    """Decode one request. Returns the error of an invalid frame and never raises."""
    if len(data) > MAX_FRAME_BYTES:
        return InvalidFrame(
            None, REQUEST_INVALID, f"The frame is {len(data)} bytes; {MAX_FRAME_BYTES} are allowed."
        )
    if is_too_deep(data):
        return InvalidFrame(_leading_id(data), REQUEST_INVALID, _TOO_DEEP)
    try:
        frame: Any = _decode(data)
    except (ValueError, RecursionError) as error:
        return _explain(data, error)
    bodies = [body for body in _bodies(frame) if body is not UNSET]
    if len(bodies) != 1:
        return _explain(data, None)
    return _check_request(None if frame.id is UNSET else frame.id, bodies[0])


def encode_response(request_id: int, body: Struct) -> bytes:
    name = "error" if isinstance(body, ErrorBody) else "ok"
    return _encode({"id": request_id, name: body})


def encode_push(body: Struct) -> bytes:
    """Encode a push. The bytes do not depend on the recipient, so encode once for all of them."""
    return _encode({PUSH_NAME[type(body)]: body})


def _check_request(request_id: int | None, body: Struct) -> DecodedRequest | InvalidFrame:
    kind = REQUEST_BY_BODY[type(body)]
    if request_id is None and kind.needs_id:
        return InvalidFrame(None, REQUEST_INVALID, f"`{kind.name}` needs an `id`.")
    if type(body) is GetHistory and _anchor_count(body) > 1:
        return InvalidFrame(request_id, REQUEST_INVALID, "Only one of `before`, `after` and `around`.")
    return DecodedRequest(request_id, body)


def _anchor_count(request: GetHistory) -> int:
    return sum(anchor is not None for anchor in (request.before, request.after, request.around))


def _explain(data: bytes, error: Exception | None) -> InvalidFrame:
    """Find the error of an invalid frame, and its request id if it can be read. Slow, for invalid frames only."""
    try:
        keys = _decode_keys(data)
    except (ValueError, RecursionError) as invalid:
        return InvalidFrame(
            _leading_id(data), REQUEST_INVALID, _shorten(f"The frame is not a JSON object: {invalid}")
        )
    request_id = _parse_id(keys.get("id"))
    names = keys.keys() - {"id"}
    known = sorted(names & REQUEST_OF.keys())
    if not known and names:
        return InvalidFrame(request_id, UNKNOWN_REQUEST, _unknown(min(names)), is_fault=False)
    if len(names) != 1:
        return InvalidFrame(request_id, REQUEST_INVALID, "A frame has `id` and the name of one request.")
    text = str(error) if error else f"`{known[0]}` must be an object."
    return InvalidFrame(request_id, REQUEST_INVALID, _shorten(text))


def _shorten(text: str) -> str:
    """Shorten an error of the decoder, which quotes the frame."""
    return text if len(text) <= _MAX_ERROR_CHARS else f"{text[:_MAX_ERROR_CHARS]} …"


def _unknown(name: str) -> str:
    return f"Unknown request `{name[:32]}`."


def _parse_id(raw: msgspec.Raw | None) -> int | None:
    text = bytes(raw) if raw is not None else b""
    return _bounded(int(text)) if text.isdigit() and len(text) <= len(str(MAX_REQUEST_ID)) else None


def _leading_id(data: bytes) -> int | None:
    """Read the id of a frame that is not JSON. This works only if the id comes first."""
    found = _LEADING_ID.match(data)
    return _bounded(int(found[1])) if found else None


def _bounded(number: int) -> int | None:
    return number if 1 <= number <= MAX_REQUEST_ID else None


_MAX_ERROR_CHARS: Final = 200
_TOO_DEEP: Final = (
    f"The frame is nested more than {MAX_FRAME_DEPTH} deep, or has more than {MAX_FRAME_CONTAINERS} objects."
)
