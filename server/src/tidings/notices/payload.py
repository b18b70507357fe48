"""What a notice says, as bytes, and whether it is as its inbox wants it: held against a JSON Schema when it is sent."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.notices.schema_cost import count_unrolled
from tidings.notices.schema_helper import SchemaProcess
from tidings.notices.validation import is_valid, make_validator, schema_errors

MAX_BYTES = 16 * 1024
_CHEAP = 20_000
"""Up to so many steps a message is checked at once: some milliseconds."""
_CHEAP_FAULTS = 1_000
"""The same for finding out what is wrong with one that is not valid."""
_BYTES_PER_VALUE = 8
_encode = msgspec.json.Encoder(order="sorted").encode
_helper = SchemaProcess()


def encode_payload(message: Mapping[str, Any]) -> bytes:
    body = _encode(message)
    if len(body) > MAX_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE, f"The message is {len(body)} bytes; {MAX_BYTES} are allowed."
        )
    return body


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises `request_invalid` for what is no schema of draft 2020-12, refers to something outside, or is too complex."""
    _unrolled(body := _encode(schema))
    try:
        make_validator(body)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise TidingsError(Code.REQUEST_INVALID, f"The schema can't be used: {reason}") from error


async def check_payload(
    tenant: TenantId, schema: Mapping[str, Any] | None, message: Mapping[str, Any]
) -> None:
    """Raises `content_invalid`, with the first faults.

    What can be costly is checked in a helper process, off the event loop. A schema that was stored before there was
    a bound, and is above it, accepts no message: raises `request_invalid`, and the inbox needs another schema.
    """
    if schema is None:
        return
    wanted, body = _encode(schema), encode_payload(message)
    steps = _unrolled(wanted) * (1 + len(body) // _BYTES_PER_VALUE)
    if steps <= _CHEAP and is_valid(wanted, message):
        return
    if steps <= _CHEAP_FAULTS:
        faults = schema_errors(wanted, message)
    else:
        faults = await _helper.faults(tenant, wanted, body)
    if faults:
        raise TidingsError(
            Code.CONTENT_INVALID, "The message is not as its inbox wants it.", hint="; ".join(faults)[:1000]
        )


@lru_cache(maxsize=256)
def _unrolled(schema: bytes) -> int:
    return count_unrolled(msgspec.json.decode(schema))
