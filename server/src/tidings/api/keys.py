"""The key that makes a repeat a repeat: `client_message_id` in the body, or the header `Idempotency-Key`."""

from typing import Annotated

from fastapi import Header
from pydantic import ValidationError

from tidings.api.schemas.ids import CLIENT_KEY, CLIENT_KEY_CHARS, PART
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ClientKey, new_ulid

IdempotencyKeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=CLIENT_KEY_CHARS,
        pattern=PART,
        description="Is the `client_message_id` of a request whose body has none. If both are there they are the same.",
        examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"],
    ),
]


def optional_idempotency_key(in_header: str | None, in_body: ClientKey | None = None) -> ClientKey:
    """Without one each request is a change of its own."""
    return _header_value(in_header, in_body) or ClientKey(new_ulid())


def required_idempotency_key(in_header: str | None, in_body: ClientKey | None) -> ClientKey:
    key = _header_value(in_header, in_body)
    if key is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            "There is no key to recognise a repeat by.",
            hint="Choose one before the first try and send it with every try: as the header `Idempotency-Key`, "
            "or as `client_message_id` in the body.",
        )
    return key


def _header_value(in_header: str | None, in_body: ClientKey | None) -> ClientKey | None:
    from_header = None if in_header is None else _unquoted(in_header)
    if from_header is not None and in_body is not None and from_header != in_body:
        raise TidingsError(Code.REQUEST_INVALID, "`Idempotency-Key` and `client_message_id` differ.")
    return from_header or in_body


def _unquoted(text: str) -> ClientKey:
    """The header's draft standard puts the key between quotes; most clients don't."""
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    try:
        return CLIENT_KEY.validate_python(text[1:-1] if is_quoted else text)
    except ValidationError:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"`Idempotency-Key` is 1 to {CLIENT_KEY_CHARS} printable characters without `#`, `*`, `/`.",
        ) from None
