"""Committed entries as the topic `messages` carries them: those of one append, of one chat, in order."""

import msgspec
from msgspec import Struct

from tidings.kernel.decoding import decoding
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry


class Committed(Struct, frozen=True, array_like=True, gc=False):
    """Never empty, without holes. Content is sealed, as it is stored."""

    tenant: TenantId
    chat: ChatId
    entries: tuple[Entry, ...]
    epoch: int = 0

    @property
    def key(self) -> ChatKey:
        return ChatKey(self.tenant, self.chat)


_encoder = msgspec.msgpack.Encoder()
_decode = decoding(msgspec.msgpack.Decoder(Committed).decode, msgspec.DecodeError)


def encode(event: Committed) -> bytes:
    return _encoder.encode(event)


def decode(payload: bytes) -> Committed:
    """Raises `msgspec.DecodeError` for what is none."""
    return _decode(payload)


def kafka_key(chat: ChatKey) -> bytes:
    return f"{chat.tenant}#{chat.chat}".encode()
