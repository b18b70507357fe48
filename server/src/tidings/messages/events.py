"""Committed entries as the topic `messages` carries them: those of one append, of one chat, in order."""

import msgspec
from msgspec import Struct

from tidings.kernel.decoding import wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry


class CommittedEvent(Struct, frozen=True, array_like=True, gc=False):
    """Never empty, without holes. Content is sealed, as it is stored."""

    tenant: TenantId
    chat: ChatId
    entries: tuple[Entry, ...]
    epoch: int = 0

    @property
    def key(self) -> ChatKey:
        return ChatKey(self.tenant, self.chat)


_encoder = msgspec.msgpack.Encoder()
_decode = wrap_decoder(msgspec.msgpack.Decoder(CommittedEvent).decode, msgspec.DecodeError)


def encode_event(event: CommittedEvent) -> bytes:
    return _encoder.encode(event)


def decode_event(payload: bytes) -> CommittedEvent:
    """Raises `msgspec.DecodeError` for what is none."""
    return _decode(payload)


def partition_key(chat: ChatKey) -> bytes:
    return f"{chat.tenant}#{chat.chat}".encode()
