"""Channels of large chats. The process subscribes once to each, while one of its devices is in the chat."""

import asyncio
from collections.abc import Callable
from typing import Final, final

from tidings.bus.ports import BusEvent, BusSubscriber, Subscribed, Subscription, SubscriptionLost
from tidings.gateway.connected_device import ConnectedDevice
from tidings.kernel.errors import UnavailableError
from tidings.kernel.fair_shares import release_slot
from tidings.kernel.ids import ChatId, ChatKey

CONFIRM_TIMEOUT_S: Final = 0.2
"""How long a device waits for the confirmation of a channel. Then it continues without it."""
_RETRY_S: Final = 1.0


class LargeChatChannel:
    """The channel of a large chat, with the devices that are subscribed to it.

    opening: the task that subscribes. It finishes when Redis confirms the channel.
    is_late: at least one device continued without the confirmation and may miss entries that are published before it.
        No device waits for this channel any more. Other channels may be on Redis shards that answer, so each channel
        has its own wait.
    """

    def __init__(self, key: ChatKey) -> None:
        self.key = key
        self.devices: dict[ConnectedDevice, None] = {}
        self.subscription: Subscription | None = None
        self.opening: asyncio.Task[None] | None = None
        self.is_late = False


@final
class LargeChatChannels:
    """All channels of this process.

    on_message: receives what is published on a channel.
    on_missed: called when a channel is confirmed late or was lost meanwhile. Its devices may have missed entries.
    """

    def __init__(
        self,
        subscriber: BusSubscriber,
        on_message: Callable[[LargeChatChannel, bytes], None],
        on_missed: Callable[[LargeChatChannel], None],
    ) -> None:
        self._subscriber = subscriber
        self._on_message = on_message
        self._on_missed = on_missed
        self._channels: dict[ChatKey, LargeChatChannel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def __contains__(self, key: ChatKey) -> bool:
        return key in self._channels

    def is_subscribed(self, key: ChatKey) -> bool:
        """Return whether Redis has confirmed the chat's channel. A lost subscription restores itself."""
        channel = self._channels.get(key)
        return channel is not None and channel.subscription is not None

    async def enter(self, device: ConnectedDevice, chat: ChatId) -> bool:
        """Subscribe a device to a chat. Return whether it receives everything that is published from now on.

        If Redis does not confirm the channel within `CONFIRM_TIMEOUT_S`, the device continues without it: connecting
        must not depend on Redis. After a later confirmation, `on_missed` compares the devices with the chat's head.
        """
        key = device.chat(chat)
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = LargeChatChannel(key)
        # Add the device before the subscription: a message that arrives with the confirmation already reaches it.
        channel.devices[device] = None
        device.large_chat_channels[chat] = None
        if channel.opening is None:
            channel.opening = asyncio.get_running_loop().create_task(self._open(channel))
        await self._wait(channel, channel.opening)
        is_confirmed = channel.subscription is not None
        if device.is_gone:
            # Race: the device disconnected during the wait. `leave_all` may have run before it was added here.
            self.leave(device, chat)
        return is_confirmed

    def leave(self, device: ConnectedDevice, chat: ChatId) -> None:
        device.large_chat_channels.pop(chat, None)
        channel = self._channels.get(device.chat(chat))
        if channel is None or device not in channel.devices:
            return
        del channel.devices[device]
        if not channel.devices:
            self._close(channel)

    def leave_all(self, device: ConnectedDevice) -> None:
        for chat in list(device.large_chat_channels):
            self.leave(device, chat)

    def close(self) -> None:
        for channel in list(self._channels.values()):
            if channel.opening is not None:
                channel.opening.cancel()
            self._close(channel)

    async def _wait(self, channel: LargeChatChannel, opening: asyncio.Task[None]) -> None:
        if not opening.done():
            async with release_slot():
                await asyncio.wait([opening], timeout=0 if channel.is_late else CONFIRM_TIMEOUT_S)
        if opening.done():
            opening.result()
        else:
            channel.is_late = True

    async def _open(self, channel: LargeChatChannel) -> None:
        """Retry until the channel is confirmed or its last device has left."""
        try:
            channel.subscription = await self._subscribe(channel)
        except BaseException:
            self._drop(channel)
            raise
        if not channel.devices:
            self._close(channel)
        elif channel.is_late:
            # Race: the worker published while devices continued without the confirmation. They must compare with the
            # head now, after the confirmation, because only later messages are received.
            self._on_missed(channel)

    async def _subscribe(self, channel: LargeChatChannel) -> Subscription | None:
        while channel.devices:
            try:
                return await self._subscriber.subscribe_chat(
                    channel.key, lambda event: self._on_event(channel, event)
                )
            except UnavailableError:
                channel.is_late = True
                await asyncio.sleep(_RETRY_S)
        return None

    def _close(self, channel: LargeChatChannel) -> None:
        if channel.subscription is not None:
            channel.subscription.close()
        # Race: the last device leaves while `_open` still waits for Redis. `_open` then closes the channel itself.
        # The entry must stay until then: a new device would otherwise subscribe to the same channel a second time.
        if channel.opening is None or channel.opening.done() or channel.opening is asyncio.current_task():
            self._drop(channel)

    def _drop(self, channel: LargeChatChannel) -> None:
        if self._channels.get(channel.key) is channel:
            del self._channels[channel.key]

    def _on_event(self, channel: LargeChatChannel, event: BusEvent) -> None:
        match event:
            case Subscribed(was_lost=True):
                self._on_missed(channel)
            case Subscribed() | SubscriptionLost():
                pass
            case payload:
                self._on_message(channel, payload)
