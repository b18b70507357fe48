"""Channels in Redis that devices here look at: each is listened to once in a process, while somebody does."""

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Protocol, final

import msgspec

from tidings.bus.ports import BusEvent, BusHandler, BusSubscriber, Subscribed, Subscription, SubscriptionLost
from tidings.ephemeral import rules
from tidings.ephemeral.model import MemberReceipt, ReceiptsEvent, TypingEvent, decode_event
from tidings.ephemeral.receipts import ReceiptSnapshot
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.hub import Hub
from tidings.gateway.stats import EphemeralStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings_wire.codec import encode_push
from tidings_wire.frames.ephemeral import MemberWatermarks as GotFrame
from tidings_wire.frames.ephemeral import Receipts as ReceiptsPush
from tidings_wire.frames.ephemeral import TypingPush


class PubSubChannel[K: Hashable]:
    """`devices`: who looks; True once he has been given the state, and is told of what is said since."""

    def __init__(self, key: K) -> None:
        self.key = key
        self.devices: dict[ConnectedDevice, bool] = {}
        self.is_subscribed = False
        self.listening: Subscription | None = None


class EphemeralListener[C](Protocol):
    def on_subscribed(self, channel: C, /) -> None:
        """Everything is heard from now on. What was said before may have been missed."""
        ...

    def on_message(self, channel: C, payload: bytes, /) -> None: ...


class ChannelSet[K: Hashable, C: PubSubChannel[Any]]:
    """Does not wait: a channel stands when Redis says so, and until then whoever looks gets what is read."""

    def __init__(
        self,
        make: Callable[[K], C],
        listen: Callable[[K, BusHandler], Subscription],
        heeding: EphemeralListener[C],
    ) -> None:
        self._make = make
        self._listen = listen
        self._heeding = heeding
        self._all: dict[K, C] = {}

    def __len__(self) -> int:
        return len(self._all)

    def get(self, key: K) -> C | None:
        return self._all.get(key)

    def enter(self, device: ConnectedDevice, key: K) -> C:
        channel = self._all.get(key)
        if channel is None:
            channel = self._all[key] = self._make(key)
            channel.listening = self._listen(key, self._ear(channel))
        channel.devices.setdefault(device, False)
        return channel

    def leave(self, device: ConnectedDevice, key: K) -> None:
        channel = self._all.get(key)
        if channel is not None and channel.devices.pop(device, None) is not None and not channel.devices:
            self._close(channel)

    def close(self) -> None:
        for channel in list(self._all.values()):
            self._close(channel)

    def _close(self, channel: C) -> None:
        del self._all[channel.key]
        if channel.listening is not None:
            channel.listening.close()

    def _ear(self, channel: C) -> BusHandler:
        def hear(heard: BusEvent) -> None:
            match heard:
                case Subscribed():
                    channel.is_subscribed = True
                    self._heeding.on_subscribed(channel)
                case SubscriptionLost():
                    channel.is_subscribed = False
                case payload:
                    self._heeding.on_message(channel, payload)

        return hear


_MAX_CONCURRENT_READS: Final = 16
UNHEARD_S: Final = 1.0
"""So long the state waits for its channel. Then it is told all the same, and again when the channel stands."""
_RETRY_S: Final = 2.0

type ErrorReporter = Callable[[str, BaseException], None]


class ReadReceiptSnapshot(Protocol):
    async def of(self, chat: ChatKey, /) -> ReceiptSnapshot: ...


class ChatEventChannel(PubSubChannel[ChatKey]):
    """`asked`: who is to be given the state. `received`: what was said while it is read. `waiting`: what is told next."""

    def __init__(self, key: ChatKey) -> None:
        super().__init__(key)
        self.asked: dict[ConnectedDevice, None] = {}
        self.readers = 0
        self.received: dict[UserId, MemberReceipt] = {}
        self.waiting: dict[UserId, MemberReceipt] = {}
        self.timer: asyncio.TimerHandle | None = None


@final
class ChatSubscriptions:
    """`within_s`: of a chat at most one frame of receipts in such a time."""

    def __init__(
        self,
        subscriber: BusSubscriber,
        whole: ReadReceiptSnapshot,
        hub: Hub[ConnectedDevice],
        *,
        within_s: float,
        counts: EphemeralStats,
        on_error: ErrorReporter,
    ) -> None:
        self._whole = whole
        self._hub = hub
        self._within_s = within_s
        self._counts = counts
        self._report = on_error
        self.channels: ChannelSet[ChatKey, ChatEventChannel] = ChannelSet(
            ChatEventChannel, subscriber.subscribe_ephemeral, self
        )
        self._reads: WorkQueue[ChatKey] = WorkQueue(self._read, _MAX_CONCURRENT_READS, on_error)

    def subscribe(self, device: ConnectedDevice, chat: ChatId) -> None:
        """Also for one who looks already: he is given the whole state again, if it is still his to see."""
        place = device.positions.get(chat)
        if place is None or not place.is_member or chat in device.large_chat_channels:
            self.leave(device, chat)
            return
        channel = self.channels.enter(device, device.chat(chat))
        if channel.is_subscribed:
            self._ask(channel, [device])
        else:
            asyncio.get_running_loop().call_later(UNHEARD_S, self._ask_unheard, channel, device)

    def leave(self, device: ConnectedDevice, chat: ChatId) -> None:
        self.channels.leave(device, device.chat(chat))

    def is_open(self, device: ConnectedDevice, chat: ChatId) -> bool:
        channel = self.channels.get(device.chat(chat))
        return channel is not None and channel.devices.get(device, False)

    async def wait_idle(self) -> None:
        self.channels.close()
        await self._reads.wait_idle(0)

    def on_subscribed(self, channel: ChatEventChannel, /) -> None:
        self._ask(channel, channel.devices)

    def on_message(self, channel: ChatEventChannel, payload: bytes, /) -> None:
        try:
            sign = decode_event(payload)
        except msgspec.DecodeError as error:
            self._report("a sign that can't be read", error)
            return
        match sign:
            case ReceiptsEvent(members):
                self._gather(channel, members)
            case TypingEvent(user, is_typing):
                frame = encode_push(TypingPush(chat=channel.key.chat, user=user, is_typing=is_typing))
                self._counts.typing += self._send(channel, frame, but=user)

    def _ask(self, channel: ChatEventChannel, devices: Iterable[ConnectedDevice]) -> None:
        channel.asked.update(dict.fromkeys(devices))
        if channel.asked:
            self._reads.add(channel.key)

    def _ask_unheard(self, channel: ChatEventChannel, device: ConnectedDevice) -> None:
        if not channel.is_subscribed and device in channel.devices:
            self._ask(channel, [device])

    def _schedule_retry(self, channel: ChatEventChannel, devices: Iterable[ConnectedDevice]) -> None:
        self._ask(channel, [device for device in devices if device in channel.devices])

    async def _read(self, key: ChatKey) -> None:
        """One read for all of a channel who wait for it."""
        channel = self.channels.get(key)
        if channel is None:
            return
        asked, channel.asked = channel.asked, {}
        channel.readers += 1
        try:
            state = await self._whole.of(key)
        except TidingsError:
            asyncio.get_running_loop().call_later(_RETRY_S, self._schedule_retry, channel, asked)
            return
        finally:
            channel.readers -= 1
            heard = channel.received
            if not channel.readers:
                channel.received = {}
        self._counts.states += 1
        for device in asked:
            self._open(channel, device, state, heard)

    def _open(
        self,
        channel: ChatEventChannel,
        device: ConnectedDevice,
        state: ReceiptSnapshot,
        heard: dict[UserId, MemberReceipt],
    ) -> None:
        if device not in channel.devices:
            return
        members = state.seen_by(device.user)
        if members is None:
            self.channels.leave(device, channel.key)
            return
        channel.devices[device] = True
        self._counts.receipts += 1
        device.connected.push(_frame(channel.key.chat, rules.apply_updates(members, heard), is_all=True))

    def _gather(self, channel: ChatEventChannel, members: Iterable[MemberReceipt]) -> None:
        """At once if it was quiet; then what comes within a window goes together."""
        if channel.readers:
            rules.merge(channel.received, members)
        rules.merge(channel.waiting, members)
        if channel.timer is None:
            self._push(channel)

    def _push(self, channel: ChatEventChannel) -> None:
        channel.timer = None
        if not channel.waiting or not channel.devices:
            return
        members, channel.waiting = tuple(channel.waiting.values()), {}
        self._counts.receipts += self._send(channel, _frame(channel.key.chat, members))
        channel.timer = asyncio.get_running_loop().call_later(self._within_s, self._push, channel)

    def _send(self, channel: ChatEventChannel, frame: bytes, but: UserId | None = None) -> int:
        """One frame, encoded once. Who resumes gets the whole state when he is through."""
        sockets = [
            device.socket
            for device, is_open in channel.devices.items()
            if is_open and device.is_live and device.user != but
        ]
        if sockets:
            self._hub.send(frame, sockets)
        return len(sockets)


def _frame(chat: ChatId, members: Iterable[MemberReceipt], *, is_all: bool = False) -> bytes:
    return encode_push(ReceiptsPush(chat=chat, members=tuple(map(_got, members)), is_all=is_all))


def _got(got: MemberReceipt) -> GotFrame:
    return GotFrame(
        user=got.user,
        delivered=got.delivered or None,
        read=got.read or None,
        since=got.since or None,
    )
