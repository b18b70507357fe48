"""How deep a frame is nested, before anything decodes it: the decoder itself has no bound but the stack."""

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
    """Nearly every frame has fewer brackets than it may have levels, so counting them is enough."""
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
    """`id` None: no answer is wanted."""

    id: int | None
    body: Struct


class InvalidFrame(NamedTuple):
    """`is_fault`: no client that keeps to the protocol sends this. An unknown kind is none: the client may be newer."""

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
_loosely: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_bodies: Final = attrgetter(*(kind.name for kind in REQUESTS))
_encode: Final = msgspec.json.Encoder().encode
_ID_IN_FRONT: Final = re.compile(rb'\s*\{\s*"id"\s*:\s*([1-9][0-9]{0,15})\s*[,}]')


def decode(data: bytes) -> DecodedRequest | InvalidFrame:
    """One request, or why it is none. Never raises."""
    if len(data) > MAX_FRAME_BYTES:
        return InvalidFrame(
            None, REQUEST_INVALID, f"The frame is {len(data)} bytes; {MAX_FRAME_BYTES} are allowed."
        )
    if is_too_deep(data):
        return InvalidFrame(_id_in_front(data), REQUEST_INVALID, _TOO_DEEP)
    try:
        frame: Any = _decode(data)
    except (ValueError, RecursionError) as error:
        return _why(data, error)
    given = [body for body in _bodies(frame) if body is not UNSET]
    if len(given) != 1:
        return _why(data, None)
    return _checked(None if frame.id is UNSET else frame.id, given[0])


def encode_response(request_id: int, body: Struct) -> bytes:
    name = "error" if isinstance(body, ErrorBody) else "ok"
    return _encode({"id": request_id, name: body})


def encode_push(body: Struct) -> bytes:
    """Encoded once, whoever and however many get it."""
    return _encode({PUSH_NAME[type(body)]: body})


def _checked(request_id: int | None, body: Struct) -> DecodedRequest | InvalidFrame:
    kind = REQUEST_BY_BODY[type(body)]
    if request_id is None and kind.needs_id:
        return InvalidFrame(None, REQUEST_INVALID, f"`{kind.name}` needs an `id`.")
    if type(body) is GetHistory and _places(body) > 1:
        return InvalidFrame(request_id, REQUEST_INVALID, "Only one of `before`, `after` and `around`.")
    return DecodedRequest(request_id, body)


def _places(asked: GetHistory) -> int:
    return sum(place is not None for place in (asked.before, asked.after, asked.around))


def _why(data: bytes, error: Exception | None) -> InvalidFrame:
    """The slow way, for frames that are wrong: what is wrong, and can it be said of which request?"""
    try:
        keys = _loosely(data)
    except (ValueError, RecursionError) as worse:
        return InvalidFrame(
            _id_in_front(data), REQUEST_INVALID, _short(f"The frame is not a JSON object: {worse}")
        )
    request_id = _parse_id(keys.get("id"))
    named = keys.keys() - {"id"}
    known = sorted(named & REQUEST_OF.keys())
    if not known and named:
        return InvalidFrame(request_id, UNKNOWN_REQUEST, _unknown(min(named)), is_fault=False)
    if len(named) != 1:
        return InvalidFrame(request_id, REQUEST_INVALID, "A frame has `id` and the name of one request.")
    said = str(error) if error else f"`{known[0]}` is an object."
    return InvalidFrame(request_id, REQUEST_INVALID, _short(said))


def _short(said: str) -> str:
    """The decoder's words quote the frame, which may be long: nobody gets more back than he can use."""
    return said if len(said) <= _MAX_ERROR_CHARS else f"{said[:_MAX_ERROR_CHARS]} …"


def _unknown(name: str) -> str:
    return f"This server knows no request `{name[:32]}`."


def _parse_id(raw: msgspec.Raw | None) -> int | None:
    text = bytes(raw) if raw is not None else b""
    return _bounded(int(text)) if text.isdigit() and len(text) <= len(str(MAX_REQUEST_ID)) else None


def _id_in_front(data: bytes) -> int | None:
    """Of a frame that is no JSON at all only this can be known, and only if the id comes first."""
    found = _ID_IN_FRONT.match(data)
    return _bounded(int(found[1])) if found else None


def _bounded(number: int) -> int | None:
    return number if 1 <= number <= MAX_REQUEST_ID else None


_MAX_ERROR_CHARS: Final = 200
_TOO_DEEP: Final = (
    f"The frame is nested more than {MAX_FRAME_DEPTH} deep, or has more than {MAX_FRAME_CONTAINERS} objects."
)
