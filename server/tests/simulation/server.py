"""The server's processes on simulated engines, built as `app/` builds them: a gateway, a worker, a relay."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fixtures.gateway_stubs import NoRequestLimiter, ignore_answer
from simulation.change_stream import SimChangeStream
from simulation.dynamo import SimClient
from simulation.group_member import GroupMember
from simulation.kafka import SimConsumers, SimPublisher, Topic
from simulation.keys import SimKeys
from simulation.loop import BEGAN_MS, Process, Scheduler
from simulation.network import Network
from simulation.redis import Redis, SimRedis
from simulation.redis_stores import SimCheckpoints, SimPresenceStore
from simulation.tables import Tables
from simulation.wire import UPGRADE, Wire, WireSubscriber

from tidings.accounts.model import Principal
from tidings.app.wiring.chats import (
    build_chat_lists,
    build_chat_row_reader,
    build_chat_row_writer,
    build_watermark_store,
)
from tidings.app.wiring.delivery import RedisPorts, build_worker
from tidings.app.wiring.ephemeral import (
    VisibilityStore,
)
from tidings.chats.commands import ChatCommands
from tidings.chats.model import MemberStatus
from tidings.chats.rules import ChatAction, check_permission
from tidings.chats.store import DynamoChatStore
from tidings.connections.model import GatewayId
from tidings.delivery.model import DeliveryStats, OfflineCheck
from tidings.delivery.store import DynamoOfflineQueue
from tidings.ephemeral.presence import PresenceAccess
from tidings.ephemeral.receipts import ReceiptSnapshotReader
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.connection import Connection, ConnectionDeps, RequestTasks
from tidings.gateway.ephemeral.service import EphemeralDeps, EphemeralOptions
from tidings.gateway.handlers import HandlerDeps
from tidings.gateway.hub import Hub
from tidings.gateway.node import GatewayNode
from tidings.gateway.ports import GatewayUseCases, NodeDeps, NodeOptions
from tidings.gateway.protocol_state import ConnectionLimits
from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.gateway.stats import TrafficStats
from tidings.gateway.timer_wheel import TimerWheel
from tidings.gateway.transport.ports import Socket
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatKey, TenantId, UserId, initial_epoch
from tidings.messages.edits import ChangePermissions, MessageEdits
from tidings.messages.history import History
from tidings.messages.model import CommittedEvent, PermissionCheck
from tidings.messages.past_log import PastLog
from tidings.messages.ports import AppendDeps as LogWorld
from tidings.messages.sender import Appender, MessageSender
from tidings.messages.store import (
    DynamoEditStore,
    DynamoLogReader,
    DynamoMessageLog,
    KafkaCommitPublisher,
    decode_committed,
)
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.records import Batch, Record
from tidings.relay.audit import Audit
from tidings.relay.model import ShardId
from tidings.relay.relay import Relay
from tidings.relay.shards import ReadPolicy, ShardLeases
from tidings.relay.store.leases import DynamoLeaseStore
from tidings.relay.store.publisher import KafkaEventPublisher

TENANT = TenantId("acme")
_TURN_S = 2.0


class SimClock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)

    def now_ms(self) -> int:
        return BEGAN_MS + int(self._scheduler.now * 1000)

    def monotonic(self) -> float:
        return self._scheduler.now


@dataclass(frozen=True)
class Engines:
    """The engines, which survive every process."""

    scheduler: Scheduler
    network: Network
    tables: Tables
    redis: Redis
    topic: Topic
    feed: SimChangeStream
    quiet_after_s: float
    """After this time without an entry, gateways copy the head of a group into rows."""

    @property
    def clock(self) -> SimClock:
        return SimClock(self.scheduler)


class Names:
    """Authentication in which the credential is the user's name."""

    async def verify(self, bearer: str, /) -> Principal:
        return Principal(tenant=TENANT, user=UserId(bearer))


class NoOfflineChecks:
    """Offline events are not simulated."""

    def check(self, chat: ChatKey, users: Sequence[UserId], first: int, last: int, **_: bool) -> None:
        """Do nothing."""

    def check_late(self, check: OfflineCheck) -> None:
        """Do nothing."""


def may(action: ChatAction) -> PermissionCheck[MemberStatus]:
    def check(standing: MemberStatus, after: int | None, /) -> Code | None:
        return check_permission(action, standing, after)

    return check


PERMITS = ChangePermissions(
    edit_own=may(ChatAction.EDIT_OWN),
    redact_own=may(ChatAction.REDACT_OWN),
    redact_others=may(ChatAction.REDACT_OTHERS),
    react=may(ChatAction.REACT),
)


class Gateway:
    """One gateway process, created inside its event loop so that all its parts use that loop."""

    def __init__(self, engines: Engines, process: Process) -> None:
        self.process = process
        self._network = engines.network
        client, clock, keys = SimClient(engines.tables, engines.network), engines.clock, SimKeys()
        reader, edits = DynamoLogReader(client), DynamoEditStore(client)
        rows = DynamoChatStore(client, clock, PastLog(reader, initial_epoch, None))
        publisher = KafkaCommitPublisher(SimPublisher(engines.topic))
        appends = Appender(
            LogWorld(
                DynamoMessageLog(client, clock),
                rows.member_status,
                clock,
                epoch=initial_epoch,
                on_commit=publisher.publish,
            )
        )
        self.manage = ChatCommands(rows, appends)
        joined = build_chat_lists(client, keys, clock)
        history = self.history = History(reader, joined.directs.intervals, keys, clock)
        cases = GatewayUseCases(
            credentials=Names(),
            limiter=NoRequestLimiter(),
            sender=MessageSender(appends, edits, keys=keys, may_send=may(ChatAction.SEND), clock=clock),
            edits=MessageEdits(
                appends,
                reader,
                edits,
                keys=keys,
                permissions=PERMITS,
                clock=clock,
            ),
            history=history,
            watermarks=joined.marking,
        )
        connection = SimRedis(engines.redis, engines.network, process)
        traffic = TrafficStats()
        hub: Hub[ConnectedDevice] = Hub(_send_all, traffic)
        deps = NodeDeps(
            gateway=GatewayId(process.name),
            routes=connection,
            bus=connection,
            subscriber=connection,
            rows=build_chat_row_reader(client),
            head_copier=build_chat_row_writer(client),
            queue=DynamoOfflineQueue(client, clock),
            chat_list=joined.chat_list,
            history=history,
            watermarks=joined.marking,
            ephemeral=_signs(client, connection, rows, clock),
            offline_checks=NoOfflineChecks(),
            options=NodeOptions(
                renew_every_s=10.0, resume=ResumeOptions(quiet_after_s=engines.quiet_after_s)
            ),
        )
        self.node = GatewayNode(deps, hub, self._report)
        self._timers: TimerWheel[Connection] = TimerWheel(_TURN_S)
        self._shared = ConnectionDeps(
            handlers=HandlerDeps(cases=cases, limits=ConnectionLimits(), clock=clock),
            hub=hub,
            timers=self._timers,
            requests=RequestTasks(ignore_answer, self._report, 1_000),
            traffic=traffic,
            now=clock.monotonic,
            node=self.node,
        )
        self._ordered: dict[Connection, int] = {}
        self.wires: list[Wire] = []
        self._scheduler = engines.scheduler
        self.node.start()
        process.begin(self.node.leases.run())
        process.begin(self._keep_time())

    def open(self, device: Process, ear: WireSubscriber) -> Wire:
        """Open a wire for a device. The gateway learns of it with the first frame."""
        wire = Wire(self._network, device, self.process, ear)
        wire.open(self._accept)
        self.wires.append(wire)
        return wire

    def _accept(self, wire: Wire) -> Connection:
        peer = Connection(self._shared, wire, UPGRADE)
        self._ordered[peer] = len(self._ordered)
        return peer

    async def _keep_time(self) -> None:
        """Run due timers in the order of the connections: the order of a set would not depend on the seed."""
        while True:
            await asyncio.sleep(_TURN_S)
            for peer in sorted(self._timers.due(self._shared.now()), key=self._ordered.__getitem__):
                peer.on_timer()

    def _report(self, what: str, error: BaseException) -> None:
        """Report an error. Unavailable engines are expected, and the caller tries again."""
        if not isinstance(error, TidingsError | UnavailableError):
            self._scheduler.faults.append(f"{self.process.name}: {what}: {error!r}")


def _signs(client: SimClient, connection: SimRedis, rows: DynamoChatStore, clock: Clock) -> EphemeralDeps:
    presences = SimPresenceStore(connection)
    return EphemeralDeps(
        bus=connection,
        snapshots=ReceiptSnapshotReader(rows, build_watermark_store(client, clock).rows_now),
        presences=presences,
        access=PresenceAccess(VisibilityStore(client, clock), presences),
        options=EphemeralOptions(presence_grace_s=10.0, presence_refresh_s=60.0),
    )


def start_worker(engines: Engines, process: Process) -> None:
    client, connection = (
        SimClient(engines.tables, engines.network),
        SimRedis(engines.redis, engines.network, process),
    )
    worker = build_worker(
        client,
        SimKeys(),
        engines.clock,
        wiring=RedisPorts(connection, connection, SimCheckpoints(connection)),
        offline_checks=NoOfflineChecks(),
        counts=DeliveryStats(),
    )

    async def handle(batch: Batch[CommittedEvent]) -> None:
        await worker.handle((event.body.key, event.body.entries) for event in batch.events)

    process.begin(
        GroupMember(engines.topic, process, RecordHandlers(decode_committed, handle, _never_buried)).run()
    )


async def _never_buried(record: Record, reason: str) -> None:
    raise AssertionError(f"record {record.offset} was sent to the dead-letter topic: {reason}")


def start_relay(engines: Engines, process: Process) -> None:
    client, clock = SimClient(engines.tables, engines.network), engines.clock
    publisher = KafkaEventPublisher(SimPublisher(engines.topic))
    alerts = SimRelayAlerts(engines.scheduler, process)
    audit = Audit(
        checkpoints=SimCheckpoints(SimRedis(engines.redis, engines.network, process)),
        consumers=SimConsumers(engines.topic),
        read_entries=DynamoLogReader(client).between,
        publisher=publisher,
        clock=clock,
        on_given_up=alerts.on_given_up,
    )
    relay = Relay(
        stream=engines.feed,
        leases=ShardLeases(DynamoLeaseStore(client, clock), process.name, clock, 15.0),
        audit=audit,
        publisher=publisher,
        clock=clock,
        on_trimmed=alerts.on_trimmed,
        read_policy=ReadPolicy(busy_s=0.4, idle_s=1.0),
    )
    process.begin(relay.run())


@dataclass(frozen=True)
class SimRelayAlerts:
    """Counts every alert as a failure: all simulated faults end, so the relay must recover."""

    scheduler: Scheduler
    process: Process

    def on_trimmed(self, shard: ShardId) -> None:
        self.scheduler.faults.append(f"{self.process.name}: {shard} was trimmed")

    def on_given_up(self, chat: ChatKey, first: int, last: int) -> None:
        self.scheduler.faults.append(f"{self.process.name}: {chat.chat} given up, {first} to {last}")


def _send_all(sockets: Iterable[Socket], data: bytes) -> None:
    for socket in sockets:
        socket.send(data)
