"""What a gateway node is built from."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.bus.ports import BroadcastSubscriber, BusPublisher, BusSubscriber
from tidings.connections.model import ConnectionRegistry, GatewayId
from tidings.gateway.ephemeral.service import EphemeralDeps
from tidings.gateway.ports import (
    ChatListing,
    DeviceChatRows,
    DeviceQueueReader,
    HistoryReading,
    InboxUseCases,
    NoOfflineNotifier,
    OfflineNotifier,
    WatermarkMarking,
)
from tidings.gateway.resume.catch_up import CatchUpOptions, ResumeOptions
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.failpoints import NO_PAUSES, Failpoints

type ErrorReporter = Callable[[str, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """`ack_flush_s`: so long an ack waits for others of the same user and chat.

    `broadcast_spread_s`: within such a time those who look are told of a broadcast.
    """

    renew_every_s: float = 10.0
    ack_flush_s: float = 1.0
    broadcast_spread_s: float = 30.0
    resume: ResumeOptions = field(default_factory=ResumeOptions)
    ranges: CatchUpOptions = field(default_factory=CatchUpOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeps:
    """What it is given. `gateway` is new at each start of a process."""

    gateway: GatewayId
    routes: ConnectionRegistry
    bus: BusPublisher
    subscriber: BusSubscriber
    rows: DeviceChatRows
    queue: DeviceQueueReader
    listing: ChatListing
    history: HistoryReading
    marking: WatermarkMarking
    ephemeral: EphemeralDeps
    inboxes: InboxUseCases | None = None
    broadcast_subscriber: BroadcastSubscriber | None = None
    offline_notifier: OfflineNotifier = field(default_factory=NoOfflineNotifier)
    failpoints: Failpoints = NO_PAUSES
    clock: Clock = field(default_factory=SystemClock)
    options: NodeOptions = field(default_factory=NodeOptions)
