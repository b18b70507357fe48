"""Routes, and what goes over the line between those who deliver and the gateways.

Entries go sealed, as they are stored: a gateway opens them for its devices, nobody on the way can.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, NewType

import msgspec
from msgspec import Struct

from tidings.kernel.decoding import wrap_decoder
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry

GatewayId = NewType("GatewayId", str)
"""New at each start of a process, so that what was meant for the one before can't reach it."""


class RegistryUnavailableError(Exception):
    """Redis did not answer, or nobody knows whether it did what was asked."""


class LookupResult[K, V](NamedTuple):
    """What a look-up of many keys found out, key by key. Each shard of Redis answers or fails by itself.

    `found` holds the keys that exist. `unknown` holds the keys whose shard did not answer: nothing is known about them,
    which is not the same as "not there". `failure` is the first failure in words, empty if every key was answered.
    """

    found: Mapping[K, V]
    unknown: frozenset[K] = frozenset()
    failure: str = ""


class Route(NamedTuple):
    """`epoch`: of two routes of a device the higher is the newer. It comes from Redis' time, never from ours."""

    device: DeviceId
    gateway: GatewayId
    epoch: int


class RegistrationResult(NamedTuple):
    """`replaced_route`: the route that was replaced. Its socket is to be closed, last of all."""

    epoch: int
    replaced_route: Route | None


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
    """A user's inbox changed, by these notices among others: who looks at it reads it anew. `has_more`: not all are named."""

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
