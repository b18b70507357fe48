"""Subscriptions of devices to chats and users. A gateway subscribes once per channel, while a device watches it."""

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, final

import msgspec

from tidings.bus.ports import BusEvent, BusHandler, BusSubscriber, Subscribed, Subscription, SubscriptionLost
from tidings.ephemeral.model import MemberReceipt, ReceiptsEvent, TypingEvent, decode_event
from tidings.ephemeral.receipts import ReceiptSnapshot, ReceiptSnapshotReader, apply_receipts, merge_receipts
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.hub import Hub
from tidings.gateway.stats import EphemeralStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import ErrorReporter
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings_wire.codec import encode_push
from tidings_wire.frames.ephemeral import MemberWatermarks, Receipts, TypingPush


class PubSubChannel[K: Hashable]:
    """`devices`: the devices that watch; True once the device has the snapshot and receives events."""

    def __init__(self, key: K) -> None:
        self.key = key
        self.devices: dict[ConnectedDevice, bool] = {}
        self.is_subscribed = False
        self.subscription: Subscription | None = None


class ChannelSet[K: Hashable, C: PubSubChannel[Any]]:
    """The channels that devices watch. Subscribing does not wait for Redis.

    `on_subscribed` is called when Redis has confirmed a channel: events before may have been missed, later ones arrive
    by `on_message`.
    """

    def __init__(
        self,
        create: Callable[[K], C],
        subscribe: Callable[[K, BusHandler], Subscription],
        *,
        on_subscribed: Callable[[C], None],
        on_message: Callable[[C, bytes], None],
    ) -> None:
        self._create = create
        self._subscribe = subscribe
        self._on_subscribed = on_subscribed
        self._on_message = on_message
        self._channels: dict[K, C] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def get(self, key: K) -> C | None:
        return self._channels.get(key)

    def enter(self, device: ConnectedDevice, key: K) -> C:
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = self._create(key)
            channel.subscription = self._subscribe(key, self._handler(channel))
        channel.devices.setdefault(device, False)
        return channel

    def leave(self, device: ConnectedDevice, key: K) -> None:
        channel = self._channels.get(key)
        if channel is not None and channel.devices.pop(device, None) is not None and not channel.devices:
            self._close(channel)

    def close(self) -> None:
        for channel in list(self._channels.values()):
            self._close(channel)

    def _close(self, channel: C) -> None:
        del self._channels[channel.key]
        if channel.subscription is not None:
            channel.subscription.close()

    def _handler(self, channel: C) -> BusHandler:
        def handle(event: BusEvent) -> None:
            match event:
                case Subscribed():
                    channel.is_subscribed = True
                    self._on_subscribed(channel)
                case SubscriptionLost():
                    channel.is_subscribed = False
                case payload:
                    self._on_message(channel, payload)

        return handle


_MAX_CONCURRENT_READS: Final = 16
UNCONFIRMED_S: Final = 1.0
"""How long a snapshot waits for its channel. Then it is sent anyway, and again when Redis confirms the channel."""
_RETRY_S: Final = 2.0


class ChatChannel(PubSubChannel[ChatKey]):
    """The ephemeral channel of a chat.

    `requested_by`: devices that need a snapshot. `received`: the newest receipts since the channel was opened.
    `unsent`: receipts for the next frame.
    """

    def __init__(self, key: ChatKey) -> None:
        super().__init__(key)
        self.requested_by: dict[ConnectedDevice, None] = {}
        self.received: dict[UserId, MemberReceipt] = {}
        self.unsent: dict[UserId, MemberReceipt] = {}
        self.timer: asyncio.TimerHandle | None = None


@final
class ChatSubscriptions:
    """Receipts and typing for devices that have a chat open. A chat has at most one receipts frame per `within_s`."""

    def __init__(
        self,
        subscriber: BusSubscriber,
        snapshots: ReceiptSnapshotReader,
        hub: Hub[ConnectedDevice],
        *,
        within_s: float,
        counts: EphemeralStats,
        on_error: ErrorReporter,
    ) -> None:
        self._snapshots = snapshots
        self._hub = hub
        self._within_s = within_s
        self._counts = counts
        self._report = on_error
        self.channels: ChannelSet[ChatKey, ChatChannel] = ChannelSet(
            ChatChannel,
            subscriber.subscribe_ephemeral,
            on_subscribed=lambda channel: self._request(channel, channel.devices),
            on_message=self._on_message,
        )
        self._reads: WorkQueue[ChatKey] = WorkQueue(self._read, _MAX_CONCURRENT_READS, on_error)

    def subscribe(self, device: ConnectedDevice, chat: ChatId) -> None:
        """Subscribe the device and send it a snapshot, again if it is subscribed already.

        Unsubscribes a device whose user is no longer a member, or whose chat has become large.
        """
        place = device.positions.get(chat)
        if place is None or not place.is_member or chat in device.large_chat_channels:
            self.leave(device, chat)
            return
        channel = self.channels.enter(device, device.chat(chat))
        # Race: a member's gateway publishes a receipt after our snapshot was read and before Redis has confirmed our
        # subscription. We would miss it, so read the snapshot after the confirmation. If that takes too long, send a
        # snapshot now: `on_subscribed` sends another one.
        if channel.is_subscribed:
            self._request(channel, [device])
        else:
            asyncio.get_running_loop().call_later(UNCONFIRMED_S, self._request_unconfirmed, channel, device)

    def leave(self, device: ConnectedDevice, chat: ChatId) -> None:
        self.channels.leave(device, device.chat(chat))

    def is_open(self, device: ConnectedDevice, chat: ChatId) -> bool:
        channel = self.channels.get(device.chat(chat))
        return channel is not None and channel.devices.get(device, False)

    async def wait_idle(self) -> None:
        self.channels.close()
        await self._reads.wait_idle(0)

    def _on_message(self, channel: ChatChannel, payload: bytes) -> None:
        try:
            event = decode_event(payload)
        except msgspec.DecodeError as error:
            self._report("ephemeral event cannot be decoded", error)
            return
        match event:
            case ReceiptsEvent(members):
                self._add_receipts(channel, members)
            case TypingEvent(user, is_typing):
                frame = encode_push(TypingPush(chat=channel.key.chat, user=user, is_typing=is_typing))
                self._counts.typing += self._send(channel, frame, except_user=user)

    def _request(self, channel: ChatChannel, devices: Iterable[ConnectedDevice]) -> None:
        channel.requested_by.update(dict.fromkeys(devices))
        if channel.requested_by:
            self._reads.add(channel.key)

    def _request_unconfirmed(self, channel: ChatChannel, device: ConnectedDevice) -> None:
        # Race: before this timer fires, the device leaves, or Redis confirms the channel. After a confirmation,
        # `on_subscribed` has already requested the snapshot.
        if not channel.is_subscribed and device in channel.devices:
            self._request(channel, [device])

    def _request_again(self, channel: ChatChannel, devices: Iterable[ConnectedDevice]) -> None:
        # Race: devices leave while this retry waits. If all have left, the channel is closed and nothing is requested.
        self._request(channel, [device for device in devices if device in channel.devices])

    async def _read(self, key: ChatKey) -> None:
        """Read one snapshot for all devices that requested it."""
        channel = self.channels.get(key)
        if channel is None:
            return
        devices, channel.requested_by = channel.requested_by, {}
        try:
            snapshot = await self._snapshots.read_snapshot(key)
        except TidingsError:
            asyncio.get_running_loop().call_later(_RETRY_S, self._request_again, channel, devices)
            return
        self._counts.states += 1
        for device in devices:
            self._open(channel, device, snapshot)

    def _open(self, channel: ChatChannel, device: ConnectedDevice, snapshot: ReceiptSnapshot) -> None:
        # Race: the device unsubscribed or disconnected while the snapshot was read. Opening it would add it to the
        # channel again, and no later event would remove it.
        if device not in channel.devices:
            return
        members = snapshot.seen_by(device.user)
        if members is None:
            self.channels.leave(device, channel.key)
            return
        channel.devices[device] = True
        self._counts.receipts += 1
        # Race: a receipt arrives while the snapshot is read, and the read does not include it. The device was not open,
        # so the receipt was not sent to it. A gateway also publishes receipts before it writes their watermarks.
        # Merge all receipts of the channel into the snapshot.
        receipts = apply_receipts(members, channel.received)
        frame = _receipts_frame(channel.key.chat, receipts, is_snapshot=True)
        device.connected.push(frame)

    def _add_receipts(self, channel: ChatChannel, members: Iterable[MemberReceipt]) -> None:
        """Send receipts at once if none were sent within the window, else at its end."""
        members = tuple(members)
        merge_receipts(channel.received, members)
        merge_receipts(channel.unsent, members)
        if channel.timer is None:
            self._send_receipts(channel)

    def _send_receipts(self, channel: ChatChannel) -> None:
        channel.timer = None
        # Race: the last device leaves before the timer of the window fires. A device that subscribes later has a new
        # channel and starts with a snapshot.
        if not channel.unsent or not channel.devices:
            return
        members, channel.unsent = tuple(channel.unsent.values()), {}
        self._counts.receipts += self._send(channel, _receipts_frame(channel.key.chat, members))
        channel.timer = asyncio.get_running_loop().call_later(self._within_s, self._send_receipts, channel)

    def _send(self, channel: ChatChannel, frame: bytes, except_user: UserId | None = None) -> int:
        """Send a frame to all open devices. A device that resumes gets a snapshot when it is live."""
        sockets = [
            device.socket
            for device, is_open in channel.devices.items()
            if is_open and device.is_live and device.user != except_user
        ]
        if sockets:
            self._hub.send(frame, sockets)
        return len(sockets)


def _receipts_frame(chat: ChatId, receipts: Iterable[MemberReceipt], *, is_snapshot: bool = False) -> bytes:
    members = tuple(
        MemberWatermarks(
            user=receipt.user,
            delivered=receipt.delivered or None,
            read=receipt.read or None,
            since=receipt.since or None,
        )
        for receipt in receipts
    )
    return encode_push(Receipts(chat=chat, members=members, is_snapshot=is_snapshot))
