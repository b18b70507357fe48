"""What resuming is made of, and what an operator sets about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.delivery.model import ChatRow
from tidings.gateway.acks import AckBuffer
from tidings.gateway.ports import ChatListing, DeviceChatRows, DeviceQueueReader, HistoryReading
from tidings.gateway.pushing.rooms import LargeChatChannels
from tidings.gateway.resume.plan import TailLimits, chat_head
from tidings.gateway.resume.ranges import CatchUp
from tidings.gateway.resume.sending import RangeSender
from tidings.gateway.seat import ConnectedDevice
from tidings.kernel.ids import ChatId
from tidings.routing.ports import BusPublisher, ConnectionRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """`at_once`: resumes that devices asked for and that read at the same time, of which a tenant has at most
    `tenant_share`. `per_user`: resumes of one user that run at the same time. `max_concurrent_resumes`: resumes of connected
    devices that may have missed something.

    `within_s`: after this time a device that is not live is closed. `tries`: attempts for a device that may have
    missed something; then it is closed, and reconnects.
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
    rows: DeviceChatRows
    queue: DeviceQueueReader
    listing: ChatListing
    history: HistoryReading
    ranges: CatchUp
    sending: RangeSender
    acks: AckBuffer

    def ack_positions(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: Sequence[ChatRow]
    ) -> None:
        """A position is an ack. Only one that is news to the row is written, and never one above its head."""
        drained = device.drained or {}
        for row in rows:
            at = positions.get(row.chat, 0)
            if row.chat in drained:
                self.acks.done_with(device, row.chat, at)
            had = row.delivered.sequence if row.delivered else 0
            if had < at <= chat_head(row):
                self.acks.position(device, row, at)
