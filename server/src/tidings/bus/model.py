"""Messages to gateways over Redis pub/sub.

Entries travel encrypted, as they are stored. The gateway decrypts them for its devices.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tidings.connections.model import GatewayId, Route
from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry


class DeviceTarget(NamedTuple):
    """A device and the epoch of its route. A gateway without this device removes the route by its epoch."""

    user: UserId
    device: DeviceId
    epoch: int


class PushSlice(Struct, frozen=True, array_like=True, gc=False):
    """Devices that receive the entries `first` to `last` of a push: those in the membership intervals of their users."""

    first: int
    last: int
    devices: tuple[DeviceTarget, ...]


class Push(Struct, frozen=True, array_like=True, tag="push", gc=False):
    """Entries of one chat, in order and without gaps.

    Without `parts`, the push is on the channel of a large chat and is for every subscribed device. `is_large`: later
    entries of the chat are published on its channel. `traces`: W3C `traceparent` of each traced entry.
    """

    tenant: TenantId
    chat: ChatId
    entries: tuple[Entry, ...]
    parts: tuple[PushSlice, ...] = ()
    is_large: bool = False
    traces: tuple[str, ...] = ()

    @property
    def key(self) -> ChatKey:
        return ChatKey(self.tenant, self.chat)


class ResumeSignal(Struct, frozen=True, array_like=True, tag="ring", gc=False):
    """Devices of a user that must resume: they may have read their rows before the sender wrote them."""

    tenant: TenantId
    user: UserId
    devices: tuple[DeviceTarget, ...]


class ConnectionReplaced(Struct, frozen=True, array_like=True, tag="replaced", gc=False):
    """A device registered with this epoch. The gateway closes its connection of the device if its epoch is lower."""

    tenant: TenantId
    user: UserId
    device: DeviceId
    epoch: int


class OwnReadAdvanced(Struct, frozen=True, array_like=True, tag="own_read", gc=False):
    """A user has read a chat up to `read` on one device. The other devices update their unread count."""

    tenant: TenantId
    user: UserId
    chat: ChatId
    read: int
    devices: tuple[DeviceTarget, ...]


class ChatRowChanged(Struct, frozen=True, array_like=True, tag="row_changed", gc=False):
    """A user muted, pinned or archived a chat. All their connected devices receive the chat row."""

    tenant: TenantId
    user: UserId
    chat: ChatId
    devices: tuple[DeviceTarget, ...]


class InboxChanged(Struct, frozen=True, array_like=True, tag="noticed", gc=False):
    """A user's inbox changed. The gateway reads it again for the devices that watch it. `has_more`: not all ids are listed."""

    tenant: TenantId
    user: UserId
    inbox: str
    added: tuple[str, ...] = ()
    amended: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False


class BroadcastLogAdvanced(Struct, frozen=True, array_like=True, tag="log_moved", gc=False):
    """The broadcast log of an inbox has reached `sequence`, and the content of `amended` broadcasts changed."""

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


def group_by_gateway(user: UserId, routes: Iterable[Route]) -> dict[GatewayId, tuple[DeviceTarget, ...]]:
    """Group the devices of a user by the gateway that they are connected to."""
    devices: dict[GatewayId, tuple[DeviceTarget, ...]] = {}
    for device, gateway, epoch in routes:
        devices[gateway] = (*devices.get(gateway, ()), DeviceTarget(user, device, epoch))
    return devices


_encoder = msgspec.msgpack.Encoder()
_decode = wrap_decoder(msgspec.msgpack.Decoder(tuple[BusMessage, ...]).decode, msgspec.DecodeError)


def encode_messages(messages: tuple[BusMessage, ...]) -> bytes:
    return _encoder.encode(messages)


def decode_messages(payload: bytes) -> tuple[BusMessage, ...]:
    """Decode a payload. Raises `msgspec.DecodeError` if it is invalid."""
    return _decode(payload)
