"""Pushes `chat`: a user's row of a chat that they joined while connected, or whose settings another device changed."""

from collections.abc import Callable
from typing import Final, final

from tidings.gateway.crew import WorkQueue
from tidings.gateway.hub import Hub
from tidings.gateway.ports import ChatListing, DeviceChatRows
from tidings.gateway.resume.sending import chat_row_frame
from tidings.gateway.seat import ConnectedDevice
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, DeviceKey
from tidings.routing.model import ChatRowChanged
from tidings.wire.codec import encode_push

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
            seat = self._hub.get(DeviceKey(word.tenant, word.user, each.device))
            if seat is not None:
                self._pushing.add((seat, word.chat))

    async def wait_idle(self, within_s: float) -> None:
        await self._pushing.wait_idle(within_s)

    async def _push(self, job: tuple[ConnectedDevice, ChatId]) -> None:
        """Without the shared head of a large chat: it may show messages from after the user's removal.

        A row of a small chat holds only what its user may see. A removal races with this push: either the row has
        it already, or the device's place has it once the `leave` entry is sent. Both are checked after the last
        await, so that nothing follows the `leave` entry.
        """
        seat, chat = job
        try:
            row = await self._rows.row(seat.chat(chat), seat.user)
            if row is None or row.known.joined is None:
                return
            [listed] = await self._listing.listed(seat.key.tenant, seat.user, [row])
        except TidingsError:
            return
        place = seat.positions.get(chat)
        if seat.is_gone or place is None or not (place.is_member and listed.is_member):
            return
        self.pushed += 1
        seat.connected.push(encode_push(chat_row_frame(listed)))
