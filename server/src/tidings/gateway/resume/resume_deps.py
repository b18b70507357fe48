"""Options and collaborators of a resume."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.bus.ports import BusPublisher
from tidings.connections.model import ConnectionRegistry
from tidings.delivery.chat_list import ChatList
from tidings.delivery.model import ChatRow, OfflineQueueKey, OfflineQueueMessage
from tidings.delivery.ports import ChatRowReader, OfflineQueue
from tidings.gateway.ack_buffer import AckBuffer
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.fanout.large_chats import LargeChatChannels
from tidings.gateway.resume.catch_up import CatchUp, RangeSender
from tidings.gateway.resume.plan import TailLimits, chat_head, has_missed_entries
from tidings.kernel.ids import ChatId
from tidings.messages.history import History
from tidings.messages.model import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """Options of resumes.

    at_once: resumes requested by devices that read concurrently. One tenant has at most the part `tenant_share`.
    per_user: concurrent resumes of one user.
    max_concurrent_resumes: concurrent resumes of connected devices that may have missed pushes.
    within_s: a device that is not live after this time is closed.
    tries: attempts for a device that may have missed pushes. Then it is closed, and reconnects.
    max_queued: offline-queue messages that one resume reads.
    """

    at_once: int = 64
    tenant_share: float = 0.8
    per_user: int = 2
    max_concurrent_resumes: int = 16
    within_s: float = 30.0
    tries: int = 6
    max_queued: int = 1_000
    tails: TailLimits = field(default_factory=TailLimits)


class ResumeDeps(NamedTuple):
    """The collaborators of `ResumeService`."""

    routes: ConnectionRegistry
    bus: BusPublisher
    large_chats: LargeChatChannels
    rows: ChatRowReader
    queue: OfflineQueue
    chat_list: ChatList
    history: History
    ranges: CatchUp
    sender: RangeSender
    acks: AckBuffer
    ephemeral: EphemeralService

    def ack_positions(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: Sequence[ChatRow]
    ) -> None:
        """Treat the positions of a resume as acks. Only those between a row's watermark and its head are written."""
        drained = device.drained or {}
        for row in rows:
            at = positions.get(row.chat, 0)
            if row.chat in drained:
                self.acks.delete_queued(device, row.chat, at)
            delivered = row.delivered.sequence if row.delivered else 0
            if delivered < at <= chat_head(row):
                self.acks.take_resumed(device, row, at)

    async def queued(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: Sequence[ChatRow], limit: int
    ) -> dict[ChatId, dict[int, Entry]]:
        """Read about `limit` messages of the offline queue, but only if the device missed something."""
        queued: dict[ChatId, dict[int, Entry]] = {}
        if has_missed_entries(positions, rows):
            # Race: the device acknowledges a message of the previous drain while the queue is read again. That ack
            # finds no key and deletes nothing; `ack_positions` or the next ack of the chat deletes the item.
            device.drained = {}
            for each in await self._drain(device, limit):
                device.drained.setdefault(each.chat.chat, []).append((each.entry.sequence, each.key))
                queued.setdefault(each.chat.chat, {})[each.entry.sequence] = each.entry
        return queued

    async def _drain(self, device: ConnectedDevice, limit: int) -> list[OfflineQueueMessage]:
        found: list[OfflineQueueMessage] = []
        after: OfflineQueueKey | None = None
        while len(found) < limit:
            page = await self.queue.drain(device.key.tenant, device.user, after)
            found += page.waiting
            after = page.after
            if after is None:
                break
        return found
