"""Large chats: their channel is listened to once in a process, for as long as one of its devices is in the chat."""

import asyncio
from typing import Final, Protocol, final

from tidings.gateway.seat import ConnectedDevice
from tidings.gateway.shares import release_slot
from tidings.kernel.ids import ChatId, ChatKey
from tidings.routing.ports import (
    BusEvent,
    BusSubscriber,
    RegistryUnavailableError,
    Subscribed,
    Subscription,
    SubscriptionLost,
)

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
            except RegistryUnavailableError:
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
