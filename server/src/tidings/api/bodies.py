"""The body of a request: counted while it comes in, parsed strictly, bounded in depth and in number.

JSON lets a name stand twice in an object, NaN, and halves of characters pass; what comes after would trip over them.
"""

import asyncio
import json
import math
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from tidings.api.options import ApiOptions
from tidings.kernel.errors import Code, TidingsError

LARGE_BYTES = 128 * 1024
_INTEGERS = range(-(2**63), 2**64)


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Refuses by the length that was announced, and by what came, whatever was announced."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise _too_large(f"The body has {announced} bytes; {max_bytes} are allowed.")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise _too_large(f"The body has more than {max_bytes} bytes.")
    except ClientDisconnect:
        # nobody hears it; and it is no fault of ours that would be logged as one
        raise TidingsError(Code.REQUEST_INVALID, "The body did not come whole.") from None
    return bytes(body)


async def parse_async(body: bytes, options: ApiOptions) -> Any:  # noqa: ANN401 - as `parse_json`
    """A large one is looked through in a thread: 100,000 values take 30 ms, in which nobody else would be served."""
    if len(body) <= LARGE_BYTES:
        return parse_json(body, options)
    return await asyncio.to_thread(parse_json, body, options)


def parse_json(body: bytes, options: ApiOptions) -> Any:  # noqa: ANN401 - JSON is anything; the models say what it must be
    try:
        value = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_large(f"The body is nested more than {options.max_body_depth} deep.") from None
    except ValueError:
        raise TidingsError(Code.REQUEST_INVALID, "The body is not JSON.") from None
    _bound(value, options)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TidingsError(Code.REQUEST_INVALID, "A name stands twice in one object of the body.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise TidingsError(Code.REQUEST_INVALID, f"{name} is not JSON.")


def _bound(value: object, options: ApiOptions) -> None:
    """Level by level, so that nothing deep is walked deeply."""
    level, seen = [value], 0
    for _ in range(options.max_body_depth + 1):
        if not level:
            return
        seen += len(level)
        if seen > options.max_body_values:
            raise _too_large(f"The body has more than {options.max_body_values} values.")
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise _too_large(f"The body is nested more than {options.max_body_depth} deep.")


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        for name in value:
            _check_text(name)
        return list(value.values())
    if isinstance(value, list):
        return value
    _check_leaf(value)
    return []


def _check_leaf(value: object) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise TidingsError(Code.REQUEST_INVALID, "A number in the body is too large.")
    elif isinstance(value, int) and value not in _INTEGERS:
        raise TidingsError(Code.REQUEST_INVALID, "A whole number in the body has more than 64 bits.")


def _check_text(text: str) -> None:
    """Half of a surrogate pair can be escaped in JSON, and is no character."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TidingsError(Code.REQUEST_INVALID, "A text in the body is not Unicode.") from None


def _too_large(message: str) -> TidingsError:
    return TidingsError(Code.REQUEST_TOO_LARGE, message)
