"""What a message says, as bytes: bounded, the same bytes for the same words, so that a repeat is recognised."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import EntryKind, IdempotencyKey

MAX_CONTENT_BYTES = 4096
MAX_MENTIONS = 50
MAX_DATA_DEPTH = 8

_encode = msgspec.json.Encoder(order="sorted").encode


class Content(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`data` is the app's own; `reply_to` is the sequence of a message in the same chat."""

    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: Annotated[int, Meta(ge=1)] | None = None
    mentions: Annotated[tuple[UserId, ...], Meta(max_length=MAX_MENTIONS)] = ()


_decode = msgspec.json.Decoder(Content).decode


def encode_content(content: Content) -> bytes:
    """Raises `content_too_large` past 4 KB, `content_invalid` for what is nested too deep or says nothing."""
    if not content.text and content.data is None:
        raise TidingsError(Code.CONTENT_INVALID, "A message has a text or data, or both.")
    if content.data is not None and _depth(content.data) > MAX_DATA_DEPTH:
        raise TidingsError(Code.CONTENT_INVALID, f"`data` is nested more than {MAX_DATA_DEPTH} deep.")
    body = _encode(content)
    if len(body) > MAX_CONTENT_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE,
            f"The content is {len(body)} bytes; {MAX_CONTENT_BYTES} are allowed.",
            hint="Keep files elsewhere and send a link in `data`.",
        )
    return body


def decode_content(body: bytes) -> Content:
    return _decode(body)


def fingerprint_input(
    chat: ChatKey,
    key: IdempotencyKey,
    kind: EntryKind,
    body: bytes,
    *,
    about: int | None = None,
    ttl_s: int | None = None,
) -> bytes:
    """Everything that makes two tries the same message or not.

    Chat, sender and key are in it so that equal words elsewhere have another fingerprint: whoever sees the table
    does not learn who said the same.
    """
    head = f"{chat.tenant}#{chat.chat}#{key.sender}#{key.client_key}#{kind}#{about or 0}#{ttl_s or 0}#"
    return head.encode() + body


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0
