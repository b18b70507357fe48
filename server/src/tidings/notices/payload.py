"""What a notice says, as bytes, and whether it is as its inbox wants it: held against a JSON Schema when it is sent."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from tidings.kernel.errors import Code, TidingsError

MAX_BYTES = 16 * 1024
_TOLD = 5
_encode = msgspec.json.Encoder(order="sorted").encode


def encode(message: Mapping[str, Any]) -> bytes:
    body = _encode(message)
    if len(body) > MAX_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE, f"The message is {len(body)} bytes; {MAX_BYTES} are allowed."
        )
    return body


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises `request_invalid` for what is no schema of draft 2020-12, or refers to something outside of it."""
    try:
        _validator(_encode(schema))
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise TidingsError(Code.REQUEST_INVALID, f"The schema can't be used: {reason}") from error


def check_message(schema: Mapping[str, Any] | None, message: Mapping[str, Any]) -> None:
    """Raises `content_invalid`, with the first faults."""
    if schema is None:
        return
    errors = list(_validator(_encode(schema)).iter_errors(message))
    if errors:
        told = [f"{'/'.join(map(str, each.instance_path)) or '.'}: {each.message}" for each in errors[:_TOLD]]
        raise TidingsError(
            Code.CONTENT_INVALID, "The message is not as its inbox wants it.", hint="; ".join(told)[:1000]
        )


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    """Patterns take linear time, whatever they say; nothing is fetched."""
    return jsonschema_rs.Draft202012Validator(
        msgspec.json.decode(schema),
        pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000),
        offline=True,
    )
