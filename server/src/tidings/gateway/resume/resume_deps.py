"""Options and collaborators of a resume."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.bus.ports import BusPublisher
from tidings.connections.model import ConnectionRegistry
from tidings.delivery.chat_list import ChatList
from tidings.delivery.ports import ChatRowReader, OfflineQueue
from tidings.gateway.ack_buffer import AckBuffer
from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.fanout.large_chats import LargeChatChannels
from tidings.gateway.resume.catch_up import CatchUp, RangeSender
from tidings.gateway.resume.plan import TailLimits
from tidings.gateway.resume.quiet_rows import QuietRows
from tidings.messages.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """Options of resumes.

    at_once: resumes requested by devices that read concurrently. One tenant has at most the part `tenant_share`.
    per_user: concurrent resumes of one user.
    max_concurrent_resumes: concurrent resumes of connected devices that may have missed pushes.
    within_s: a device that is not live after this time is closed.
    tries: attempts for a device that may have missed pushes. Then it is closed, and reconnects.
    max_queued: offline-queue messages that one resume reads.
    quiet_after_s: heads of groups without an entry for this time are copied into the rows of members.
    """

    at_once: int = 64
    tenant_share: float = 0.8
    per_user: int = 2
    max_concurrent_resumes: int = 16
    within_s: float = 30.0
    tries: int = 6
    max_queued: int = 1_000
    quiet_after_s: float = 14 * 86_400.0
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
    quiet_rows: QuietRows
