"""Effects of membership entries on the device that they were sent to, and the push of its chat rows."""

from collections.abc import Callable
from typing import Final, final

from tidings.bus.model import ChatRowChanged
from tidings.delivery.chat_list import ChatList
from tidings.gateway.connected_device import (
    MEMBERSHIP_KINDS,
    NEVER_JOINED,
    VISIBILITY_KINDS,
    ConnectedDevice,
)
from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.fanout.large_chats import LargeChatChannels
from tidings.gateway.frames import chat_row_frame
from tidings.gateway.hub import Hub
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, DeviceKey
from tidings.messages.model import Entry, EntryKind
from tidings_wire.codec import encode_push

_MAX_CONCURRENT: Final = 16


@final
class MembershipEffects:
    """Apply entries that change what a user may see.

    on_rejoined: called if the user is again a member of a chat that was large when they left. A push that announced
        the chat as large may have been ignored because the device was still subscribed.
    """

    def __init__(
        self,
        large_chats: LargeChatChannels,
        chat_rows: "ChatRowPusher",
        ephemeral: EphemeralService,
        on_rejoined: Callable[[ConnectedDevice, ChatId], None],
    ) -> None:
        self._large_chats = large_chats
        self._chat_rows = chat_rows
        self._ephemeral = ephemeral
        self._on_rejoined = on_rejoined

    def entry_sent(self, device: ConnectedDevice, chat: ChatId, entry: Entry) -> None:
        """Apply an entry that was sent to the device."""
        if entry.kind not in VISIBILITY_KINDS:
            return
        if entry.kind in MEMBERSHIP_KINDS and device.user in entry.users:
            self._membership_changed(device, chat, entry)
        self._ephemeral.on_membership_changed(device, chat, entry)

    def _membership_changed(self, device: ConnectedDevice, chat: ChatId, entry: Entry) -> None:
        position = device.positions[chat]
        position.is_member = entry.kind is not EntryKind.LEAVE
        position.since = entry.sequence if position.is_member else NEVER_JOINED
        if not position.is_member:
            position.had_channel |= chat in device.large_chat_channels
            position.has_row = False
            self._large_chats.leave(device, chat)
            return
        if position.had_channel:
            self._on_rejoined(device, chat)
        if not position.has_row:
            self._chat_rows.joined(device, chat)


@final
class ChatRowPusher:
    """Read a chat row with strong consistency and push it. If the read fails, nothing is pushed: clients list the row.

    This costs a read of the row, of the group's head and of the chat's name for each device. It happens only when a user
    joins a chat or changes its settings, never for a message.
    """

    def __init__(
        self,
        listing: ChatList,
        hub: Hub[ConnectedDevice],
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._listing = listing
        self._hub = hub
        self._queue: WorkQueue[tuple[ConnectedDevice, ChatId]] = WorkQueue(
            self._push, _MAX_CONCURRENT, report
        )
        self.pushed = 0

    def joined(self, device: ConnectedDevice, chat: ChatId) -> None:
        """Push the row of a chat whose join entry was sent to this device. The worker wrote the row before the push."""
        self._queue.add((device, chat))

    def changed(self, message: ChatRowChanged) -> None:
        for each in message.devices:
            device = self._hub.get(DeviceKey(message.tenant, message.user, each.device))
            if device is not None:
                self._queue.add((device, message.chat))

    async def wait_idle(self, within_s: float) -> None:
        await self._queue.wait_idle(within_s)

    async def _push(self, job: tuple[ConnectedDevice, ChatId]) -> None:
        device, chat = job
        try:
            listed = await self._listing.one(device.chat(chat), device.user)
        except TidingsError:
            return
        if listed is None:
            return
        # Race: the user is removed while this row is read. Either the row shows the removal already, or the device's
        # position does once the dispatcher has sent the `leave` entry. Both are checked after the last await, so that
        # no row follows the `leave` entry.
        position = device.positions.get(chat)
        if device.is_gone or position is None or not (position.is_member and listed.is_member):
            return
        self.pushed += 1
        device.connected.push(encode_push(chat_row_frame(listed)))
