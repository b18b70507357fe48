"""Large chats: their channel is listened to once in a process, for as long as one of its devices is in the chat."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, final

from tidings.bus.model import ChatRowChanged
from tidings.bus.ports import BusEvent, BusSubscriber, Subscribed, Subscription, SubscriptionLost
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.frames import chat_row_frame
from tidings.gateway.hub import Hub
from tidings.gateway.ports import ChatListing, DeviceChatRows
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.fair_shares import release_slot
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey
from tidings_wire.codec import encode_push

CONFIRM_TIMEOUT_S: Final = 0.2
"""Devices wait this long for a channel to be confirmed; then they go on, and are compared once it is."""
_RETRY_S: Final = 1.0


class LargeChatChannel:
    """A large chat with the devices that listen to it. `opening` is done when the channel is confirmed.

    `is_late`: a device went on without the confirmation and may miss what is published before it. Nobody waits for this
    channel again. Other channels may be on shards of Redis that answer, so each is waited for by itself.
    """

    def __init__(self, key: ChatKey) -> None:
        self.key = key
        self.devices: dict[ConnectedDevice, None] = {}
        self.listening: Subscription | None = None
        self.opening: asyncio.Task[None] | None = None
        self.is_late = False


class LargeChatListener(Protocol):
    def on_message(self, room: LargeChatChannel, payload: bytes, /) -> None:
        """On the chat's channel."""
        ...

    def missed(self, room: LargeChatChannel, /) -> None:
        """The channel was lost and stands again: what was said meanwhile is to be read."""
        ...


@final
class LargeChatChannels:
    def __init__(self, subscriber: BusSubscriber, heeding: LargeChatListener) -> None:
        self._subscriber = subscriber
        self._heeding = heeding
        self._channels: dict[ChatKey, LargeChatChannel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def is_subscribed(self, key: ChatKey) -> bool:
        """Whether the chat's channel was confirmed; it may be lost since, and then comes back by itself."""
        room = self._channels.get(key)
        return room is not None and room.listening is not None

    async def enter(self, device: ConnectedDevice, chat: ChatId) -> bool:
        """Listen to the chat's channel. True: everything that is published from now on is heard.

        Where Redis does not confirm the channel soon, the device goes on without it: connecting must not wait for
        Redis. When the channel is confirmed later, `missed` has the devices compared with the chat's head.
        """
        key = device.chat(chat)
        room = self._channels.get(key)
        if room is None:
            room = self._channels[key] = LargeChatChannel(key)
        room.devices[device] = None
        device.large_chat_channels[chat] = None
        if room.opening is None:
            room.opening = asyncio.get_running_loop().create_task(self._open(room))
        await self._wait(room, room.opening)
        is_heard = room.listening is not None
        if device.is_gone:
            self.leave(device, chat)
        return is_heard

    def leave(self, device: ConnectedDevice, chat: ChatId) -> None:
        device.large_chat_channels.pop(chat, None)
        room = self._channels.get(device.chat(chat))
        if room is None or device not in room.devices:
            return
        del room.devices[device]
        if not room.devices:
            self._close(room)

    def leave_all(self, device: ConnectedDevice) -> None:
        for chat in list(device.large_chat_channels):
            self.leave(device, chat)

    def close(self) -> None:
        for room in list(self._channels.values()):
            if room.opening is not None:
                room.opening.cancel()
            self._close(room)

    async def _wait(self, room: LargeChatChannel, opening: asyncio.Task[None]) -> None:
        if not opening.done():
            async with release_slot():
                await asyncio.wait([opening], timeout=0 if room.is_late else CONFIRM_TIMEOUT_S)
        if opening.done():
            opening.result()
        else:
            room.is_late = True

    async def _open(self, room: LargeChatChannel) -> None:
        """Try until the channel is confirmed or nobody wants it any more."""
        try:
            room.listening = await self._listen(room)
        except BaseException:
            self._drop(room)
            raise
        if not room.devices:
            self._close(room)
        elif room.is_late:
            self._heeding.missed(room)

    async def _listen(self, room: LargeChatChannel) -> Subscription | None:
        while room.devices:
            try:
                listening = await self._subscriber.subscribe_chat(
                    room.key, lambda heard: self._on_event(room, heard)
                )
            except UnavailableError:
                room.is_late = True
                await asyncio.sleep(_RETRY_S)
            else:
                return listening
        return None

    def _close(self, room: LargeChatChannel) -> None:
        """One that is being opened closes itself when it stands: a channel has one listener at a time."""
        if room.listening is not None:
            room.listening.close()
        if room.opening is None or room.opening.done() or room.opening is asyncio.current_task():
            self._drop(room)

    def _drop(self, room: LargeChatChannel) -> None:
        if self._channels.get(room.key) is room:
            del self._channels[room.key]

    def _on_event(self, room: LargeChatChannel, event: BusEvent) -> None:
        match event:
            case Subscribed(was_lost=True):
                self._heeding.missed(room)
            case Subscribed() | SubscriptionLost():
                pass
            case payload:
                self._heeding.on_message(room, payload)


_MAX_CONCURRENT: Final = 16


@final
class ChatRowPusher:
    """Read the row strongly and push it. A row that cannot be read is not pushed: the chat list has it.

    Costs a read of the row and one of the name for each device, only when a user joins a chat or changes its
    settings, never for a message.
    """

    def __init__(
        self,
        rows: DeviceChatRows,
        listing: ChatListing,
        hub: Hub[ConnectedDevice],
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._rows = rows
        self._listing = listing
        self._hub = hub
        self._pushing: WorkQueue[tuple[ConnectedDevice, ChatId]] = WorkQueue(
            self._push, _MAX_CONCURRENT, report
        )
        self.pushed = 0

    def joined(self, device: ConnectedDevice, chat: ChatId) -> None:
        """The entry that lets the user in was sent to this device. Delivery wrote their row before it pushed that."""
        self._pushing.add((device, chat))

    def changed(self, word: ChatRowChanged) -> None:
        for each in word.devices:
            device = self._hub.get(DeviceKey(word.tenant, word.user, each.device))
            if device is not None:
                self._pushing.add((device, word.chat))

    async def wait_idle(self, within_s: float) -> None:
        await self._pushing.wait_idle(within_s)

    async def _push(self, job: tuple[ConnectedDevice, ChatId]) -> None:
        """Without the shared head of a large chat: it may show messages from after the user's removal.

        A row of a small chat holds only what its user may see. A removal races with this push: either the row has
        it already, or the device's place has it once the `leave` entry is sent. Both are checked after the last
        await, so that nothing follows the `leave` entry.
        """
        device, chat = job
        try:
            row = await self._rows.row(device.chat(chat), device.user)
            if row is None or row.known.joined is None:
                return
            [listed] = await self._listing.listed(device.key.tenant, device.user, [row])
        except TidingsError:
            return
        place = device.positions.get(chat)
        if device.is_gone or place is None or not (place.is_member and listed.is_member):
            return
        self.pushed += 1
        device.connected.push(encode_push(chat_row_frame(listed)))
