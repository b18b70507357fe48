"""Parse requests: idempotency keys, encrypted cursors, and bounded JSON bodies."""

import asyncio
import hashlib
import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn, override

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from fastapi import Header
from pydantic import ValidationError
from starlette.requests import Request

from tidings.api.schemas.api_model import CLIENT_KEY, CLIENT_KEY_CHARS, PART
from tidings.api.services import ApiOptions
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, MessageId, TenantId, UserId, new_ulid, split_message_id
from tidings.kernel.security import Secret

IdempotencyKeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=CLIENT_KEY_CHARS,
        pattern=PART,
        description="An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal.",
        examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"],
    ),
]


def optional_idempotency_key(in_header: str | None, in_body: ClientKey | None = None) -> ClientKey:
    """Return the request's key, or a new one: without a key, each request is a new change."""
    return _header_value(in_header, in_body) or ClientKey(new_ulid())


def required_idempotency_key(in_header: str | None, in_body: ClientKey | None) -> ClientKey:
    key = _header_value(in_header, in_body)
    if key is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            "An idempotency key is required.",
            hint="Send the header `Idempotency-Key`, or `client_message_id` in the body. Use the same key in retries.",
        )
    return key


def locate_message(tenant: TenantId, message: MessageId) -> tuple[ChatKey, int]:
    """Return the chat and the sequence of a message. Raises `message_not_found` for an id that no message can have."""
    found = split_message_id(message)
    if found is None:
        raise TidingsError(Code.MESSAGE_NOT_FOUND, f"Message {message} does not exist.")
    return ChatKey(tenant, found[0]), found[1]


def _header_value(in_header: str | None, in_body: ClientKey | None) -> ClientKey | None:
    from_header = None if in_header is None else _unquoted(in_header)
    if from_header is not None and in_body is not None and from_header != in_body:
        raise TidingsError(Code.REQUEST_INVALID, "`Idempotency-Key` and `client_message_id` must be equal.")
    return from_header or in_body


def _unquoted(text: str) -> ClientKey:
    """Parse the header. Its draft standard requires quotes around the key; most clients send none."""
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    try:
        return CLIENT_KEY.validate_python(text[1:-1] if is_quoted else text)
    except ValidationError:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"`Idempotency-Key` must have 1 to {CLIENT_KEY_CHARS} printable characters without `#`, `*` and `/`.",
        ) from None


class CursorCipher:
    """Encrypts and authenticates cursors with AES-SIV (RFC 5297).

    A cursor does not show its position, which can be that of an item that the caller may not see. The cipher needs
    no nonce: the same position of the same list gives the same cursor.
    """

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._ciphers = [
            AESSIV(hashlib.sha512(b"cursor|" + secret.reveal().encode()).digest()) for secret in secrets
        ]

    def of(self, tenant: TenantId, user: UserId | None, route: str, *filters: object) -> "CursorScope":
        """Return the cursors of a list. `filters` are its other parameters: a cursor is valid with the same ones only."""
        parts = [tenant, user or "", route, *map(repr, filters)]
        return CursorScope(self._ciphers, "".join(f"{len(part)}:{part}" for part in parts).encode())


class CursorScope:
    """The cursors of one list of one caller. List and caller are associated data, which are not part of the cursor."""

    def __init__(self, ciphers: Sequence[AESSIV], scope: bytes) -> None:
        self._ciphers = ciphers
        self._scope = [scope]

    def write(self, position: str | None) -> str | None:
        if position is None:
            return None
        sealed = self._ciphers[0].encrypt(position.encode(), self._scope)
        return urlsafe_b64encode(sealed).decode().rstrip("=")

    def read(self, cursor: str | None) -> str | None:
        """Return the position in a cursor. Raise the same `cursor_invalid` for every reason."""
        if cursor is None:
            return None
        sealed = _decode(cursor)
        for cipher in self._ciphers:
            with suppress(InvalidTag):
                return cipher.decrypt(sealed, self._scope).decode()
        raise _invalid()


def _decode(cursor: str) -> bytes:
    try:
        return urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except (UnicodeEncodeError, Base64Error):
        raise _invalid() from None


def _invalid() -> TidingsError:
    return TidingsError(
        Code.CURSOR_INVALID, "The cursor is not valid for this list.", hint="Start with the first page."
    )


LARGE_BYTES = 128 * 1024
_INTEGERS = range(-(2**63), 2**64)


class ReadRequest(Request):
    """A request whose body was read and parsed within the limits."""

    def __init__(self, request: Request, body: bytes, value: object) -> None:
        super().__init__(request.scope, request.receive)
        self._read, self._value = body, value

    @override
    async def body(self) -> bytes:
        return self._read

    @override
    async def json(self) -> object:
        return self._value


async def read_json(request: Request, options: ApiOptions) -> tuple[bytes, object]:
    """Read the body and its JSON value, within the limits. The value of an empty body is `None`."""
    body = await read_body(request, options.max_body_bytes)
    if not body:
        return body, None
    if "json" not in request.headers.get("content-type", ""):
        raise TidingsError(
            Code.REQUEST_INVALID,
            "The body must be JSON with the header `Content-Type: application/json`.",
            hint="With curl, use `--json`.",
        )
    return body, await parse_async(body, options)


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Read the body. Enforce the limit on the declared length and on the received bytes."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(f"The body has {declared} bytes; {max_bytes} are allowed.")
    body, has_more = bytearray(), True
    while has_more:
        part = await request.receive()
        if part["type"] == "http.disconnect":
            # No client receives this answer. It only prevents an internal error in the log.
            raise TidingsError(Code.REQUEST_INVALID, "The client disconnected before the end of the body.")
        body += part.get("body", b"")
        has_more = part.get("more_body", False)
        if len(body) > max_bytes:
            raise _too_large(f"The body has more than {max_bytes} bytes.")
    return bytes(body)


async def parse_async(body: bytes, options: ApiOptions) -> Any:  # noqa: ANN401 - as `parse_json`
    """Parse a body; a large one in a thread. 100,000 values take 30 ms, which would block other requests."""
    if len(body) <= LARGE_BYTES:
        return parse_json(body, options)
    return await asyncio.to_thread(parse_json, body, options)


def parse_json(body: bytes, options: ApiOptions) -> Any:  # noqa: ANN401 - any JSON value
    try:
        value = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_large(f"The body is nested more than {options.max_body_depth} levels deep.") from None
    except ValueError:
        raise TidingsError(Code.REQUEST_INVALID, "The body is not valid JSON.") from None
    _check_size(value, options)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TidingsError(Code.REQUEST_INVALID, "A JSON object in the body has a duplicate name.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise TidingsError(Code.REQUEST_INVALID, f"`{name}` is not valid JSON.")


def _check_size(value: object, options: ApiOptions) -> None:
    """Limit depth and number of values. Works level by level, without recursion."""
    level, seen = [value], 0
    for _ in range(options.max_body_depth + 1):
        if not level:
            return
        seen += len(level)
        if seen > options.max_body_values:
            raise _too_large(f"The body has more than {options.max_body_values} values.")
        level = [inner for outer in level for inner in _children(outer)]
    if level:
        raise _too_large(f"The body is nested more than {options.max_body_depth} levels deep.")


def _children(value: object) -> list[object]:
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
        raise TidingsError(Code.REQUEST_INVALID, "An integer in the body has more than 64 bits.")


def _check_text(text: str) -> None:
    """Refuse half a surrogate pair, which can be escaped in JSON and is not a character."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TidingsError(Code.REQUEST_INVALID, "A string in the body is not valid Unicode.") from None


def _too_large(message: str) -> TidingsError:
    return TidingsError(Code.REQUEST_TOO_LARGE, message)
