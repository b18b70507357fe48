"""Split from `tidings.connections.model`."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tidings.connections.model import GatewayId, Route
from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry


class DeviceTarget(NamedTuple):
    """A device and the epoch of the route by which it was found: who is not there is taken out by it."""

    user: UserId
    device: DeviceId
    epoch: int


class PushSlice(Struct, frozen=True, array_like=True, gc=False):
    """Of a push's entries those from `first` to `last` are for these devices: all that lie in their users' intervals."""

    first: int
    last: int
    devices: tuple[DeviceTarget, ...]


class Push(Struct, frozen=True, array_like=True, tag="push", gc=False):
    """Entries of one chat, in order and without holes. Without parts: on a large chat's channel, for who listens there.

    `is_large`: from these entries on, what follows comes over the chat's channel.
    """

    tenant: TenantId
    chat: ChatId
    entries: tuple[Entry, ...]
    parts: tuple[PushSlice, ...] = ()
    is_large: bool = False

    @property
    def key(self) -> ChatKey:
        return ChatKey(self.tenant, self.chat)


class ResumeSignal(Struct, frozen=True, array_like=True, tag="ring", gc=False):
    """A user's devices may have read before the truth was written for them: they are to resume."""

    tenant: TenantId
    user: UserId
    devices: tuple[DeviceTarget, ...]


class ConnectionReplaced(Struct, frozen=True, array_like=True, tag="replaced", gc=False):
    """A device has come in elsewhere with this epoch: whoever is here with a lower one is closed."""

    tenant: TenantId
    user: UserId
    device: DeviceId
    epoch: int


class OwnReadAdvanced(Struct, frozen=True, array_like=True, tag="own_read", gc=False):
    """A user has read a chat up to here, on one of his devices: the others take their badge away."""

    tenant: TenantId
    user: UserId
    chat: ChatId
    read: int
    devices: tuple[DeviceTarget, ...]


class ChatRowChanged(Struct, frozen=True, array_like=True, tag="row_changed", gc=False):
    """A user muted, pinned or archived a chat on one device: their connected devices get the row."""

    tenant: TenantId
    user: UserId
    chat: ChatId
    devices: tuple[DeviceTarget, ...]


class InboxChanged(Struct, frozen=True, array_like=True, tag="noticed", gc=False):
    """A user's inbox changed, by these notifications among others: who looks at it reads it anew. `has_more`: not all are named."""

    tenant: TenantId
    user: UserId
    inbox: str
    added: tuple[str, ...] = ()
    amended: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False


class BroadcastLogAdvanced(Struct, frozen=True, array_like=True, tag="log_moved", gc=False):
    """On the channel of an inbox's log of broadcasts: it is this far by now, and what these say was changed."""

    sequence: int
    amended: tuple[str, ...] = ()


type BusMessage = (
    Push
    | ResumeSignal
    | ConnectionReplaced
    | OwnReadAdvanced
    | ChatRowChanged
    | InboxChanged
    | BroadcastLogAdvanced
)
"""What is said to a gateway."""


def group_by_gateway(user: UserId, routes: Iterable[Route]) -> dict[GatewayId, tuple[DeviceTarget, ...]]:
    """A user's devices, as they are to be said to each gateway."""
    devices: dict[GatewayId, tuple[DeviceTarget, ...]] = {}
    for device, gateway, epoch in routes:
        devices[gateway] = (*devices.get(gateway, ()), DeviceTarget(user, device, epoch))
    return devices


_encoder = msgspec.msgpack.Encoder()
_decode = wrap_decoder(msgspec.msgpack.Decoder(tuple[BusMessage, ...]).decode, msgspec.DecodeError)


def encode_messages(messages: tuple[BusMessage, ...]) -> bytes:
    return _encoder.encode(messages)


def decode_messages(payload: bytes) -> tuple[BusMessage, ...]:
    """Raises `msgspec.DecodeError` for what is none."""
    return _decode(payload)
