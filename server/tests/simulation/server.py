"""The server's processes, joined as `run/` joins them, on simulated engines: a gateway, a worker, a relay."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from simulation.dynamo import SimClient
from simulation.feed import SimFeed
from simulation.kafka import SimConsumers, SimPublisher, Topic
from simulation.keys import SimKeys
from simulation.loop import BEGAN_MS, Process, Scheduler
from simulation.member import Member
from simulation.network import Network
from simulation.redis import Redis, SimMarks, SimPresences, SimRedis
from simulation.tables import Tables
from simulation.wire import UPGRADE, Ear, Wire

from tidings.accounts.model import Principal
from tidings.chats.manage import Manage
from tidings.chats.model import Standing
from tidings.chats.rules import Action, refuse
from tidings.chats.store import DynamoRows
from tidings.delivery.counts import Counts
from tidings.delivery.store import DynamoPending
from tidings.gateway.calls import Calls
from tidings.gateway.dispatch import Dispatch
from tidings.gateway.hub import Hub
from tidings.gateway.limits import Limits
from tidings.gateway.peer import Peer, Shared
from tidings.gateway.ports import UseCases
from tidings.gateway.routed import Routed, RoutedOptions, World
from tidings.gateway.seat import Seat
from tidings.gateway.signs.desk import SignOptions, SignWorld
from tidings.gateway.socket.ports import Socket
from tidings.gateway.timers import Timers
from tidings.gateway.traffic import NoMeasure, Traffic
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import first_epoch
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.append import Appends
from tidings.messages.change import Change, Permits
from tidings.messages.events import Committed
from tidings.messages.history import History
from tidings.messages.lane import World as LogWorld
from tidings.messages.model import Check, Entry
from tidings.messages.send import Send
from tidings.messages.store import DynamoChanges, DynamoLog, DynamoReactions, DynamoReader, KafkaPublishing
from tidings.platform.kafka.lane import Work
from tidings.platform.kafka.records import Batch, Record
from tidings.relay.audit import Audit
from tidings.relay.leasing import Leasing
from tidings.relay.model import ShardId
from tidings.relay.reading import Pace
from tidings.relay.serve import Relay
from tidings.relay.store.leases import DynamoLeases
from tidings.routing.model import GatewayId, RoutesAwayError
from tidings.run.chat_lists import join_chat_lists, join_lists, join_watermarks
from tidings.run.deliveries import Wiring, decode, join_worker
from tidings.run.relaying import BelievedMarks, KafkaOutbox, ReadLog
from tidings.run.signs import Acquaintances
from tidings.signs.watching import Watching
from tidings.signs.whole import Whole

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
    """What outlives every process."""

    scheduler: Scheduler
    network: Network
    tables: Tables
    redis: Redis
    topic: Topic
    feed: SimFeed

    @property
    def clock(self) -> SimClock:
        return SimClock(self.scheduler)


class Names:
    """A credential is the user's name."""

    async def verify(self, bearer: str, /) -> Principal:
        return Principal(tenant=TENANT, user=UserId(bearer))


class NobodyTold:
    async def tell(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> None:
        """Push services are not simulated."""


def may(action: Action) -> Check[Standing]:
    def check(standing: Standing, after: int | None, /) -> Code | None:
        return refuse(action, standing, after)

    return check


PERMITS = Permits(
    edit_own=may(Action.EDIT_OWN),
    redact_own=may(Action.REDACT_OWN),
    redact_others=may(Action.REDACT_OTHERS),
    react=may(Action.REACT),
)


class Gateway:
    """One process: made inside of it, so that everything belongs to its loop."""

    def __init__(self, engines: Engines, process: Process) -> None:
        self.process = process
        self._network = engines.network
        client, clock, keys = SimClient(engines.tables, engines.network), engines.clock, SimKeys()
        reader, rows, changes = DynamoReader(client), DynamoRows(client, clock), DynamoChanges()
        told = KafkaPublishing(SimPublisher(engines.topic))
        appends = Appends(LogWorld(DynamoLog(client, clock), rows, clock, epoch=first_epoch, told=told))
        self.manage = Manage(rows, appends)
        joined = join_chat_lists(client, keys, clock)
        history = self.history = History(reader, joined.directs, keys, clock)
        cases = UseCases(
            credentials=Names(),
            send=Send(appends, changes, keys=keys, may_send=may(Action.SEND), clock=clock),
            change=Change(
                appends, reader, changes, DynamoReactions(client), keys=keys, permits=PERMITS, clock=clock
            ),
            history=history,
            marking=joined.marking,
        )
        connection = SimRedis(engines.redis, engines.network, process)
        traffic = Traffic()
        hub: Hub[Seat] = Hub(_send_all, traffic)
        world = World(
            gateway=GatewayId(process.name),
            routes=connection,
            line=connection,
            ears=connection,
            rows=join_lists(client),
            queue=DynamoPending(client, clock),
            listing=joined.chat_list,
            history=history,
            marking=joined.marking,
            signs=_signs(client, connection, rows, clock),
            options=RoutedOptions(renew_every_s=10.0),
        )
        self.routed = Routed(world, hub, self._report)
        self._timers: Timers[Peer] = Timers(_TURN_S)
        self._shared = Shared(
            dispatch=Dispatch(cases=cases, limits=Limits(), clock=clock),
            hub=hub,
            timers=self._timers,
            calls=Calls(NoMeasure(), self._report, 1_000),
            traffic=traffic,
            now=clock.monotonic,
            routed=self.routed,
        )
        self._ordered: dict[Peer, int] = {}
        self.wires: list[Wire] = []
        self._scheduler = engines.scheduler
        self.routed.start()
        process.begin(self.routed.leases.keep())
        process.begin(self._keep_time())

    def open(self, device: Process, ear: Ear) -> Wire:
        """Called by a device; the gateway hears of it when its first frame comes."""
        wire = Wire(self._network, device, self.process, ear)
        wire.open(self._accept)
        self.wires.append(wire)
        return wire

    def _accept(self, wire: Wire) -> Peer:
        peer = Peer(self._shared, wire, UPGRADE)
        self._ordered[peer] = len(self._ordered)
        return peer

    async def _keep_time(self) -> None:
        """In the order in which they came: a set's own order is not the seed's."""
        while True:
            await asyncio.sleep(_TURN_S)
            for peer in sorted(self._timers.due(self._shared.now()), key=self._ordered.__getitem__):
                peer.tick()

    def _report(self, what: str, error: BaseException) -> None:
        """What fails for want of an engine is foreseen: somebody tries again."""
        if not isinstance(error, TidingsError | RoutesAwayError):
            self._scheduler.faults.append(f"{self.process.name}: {what}: {error!r}")


def _signs(client: SimClient, connection: SimRedis, rows: DynamoRows, clock: Clock) -> SignWorld:
    presences = SimPresences(connection)
    return SignWorld(
        line=connection,
        whole=Whole(rows, join_watermarks(client, clock)),
        presences=presences,
        seeing=Watching(Acquaintances(client, clock), presences),
        options=SignOptions(hold_s=10.0, look_every_s=60.0),
    )


def start_worker(engines: Engines, process: Process) -> None:
    client, connection = (
        SimClient(engines.tables, engines.network),
        SimRedis(engines.redis, engines.network, process),
    )
    worker = join_worker(
        client,
        SimKeys(),
        engines.clock,
        wiring=Wiring(connection, connection, SimMarks(connection)),
        away=NobodyTold(),
        counts=Counts(),
    )

    async def handle(batch: Batch[Committed]) -> None:
        await worker.handle((event.body.key, event.body.entries) for event in batch.events)

    process.begin(Member(engines.topic, process, Work(decode, handle, _never_buried)).run())


async def _never_buried(record: Record, reason: str) -> None:
    raise AssertionError(f"{record.offset} was to be buried: {reason}")


def start_relay(engines: Engines, process: Process) -> None:
    client, clock = SimClient(engines.tables, engines.network), engines.clock
    marks: Any = SimMarks(SimRedis(engines.redis, engines.network, process))
    outbox, telling = KafkaOutbox(SimPublisher(engines.topic)), Telling(engines.scheduler, process)
    audit = Audit(
        marks=BelievedMarks(marks),
        consumers=SimConsumers(engines.topic),
        log=ReadLog(DynamoReader(client)),
        outbox=outbox,
        clock=clock,
        tell=telling,
    )
    relay = Relay(
        feed=engines.feed,
        leasing=Leasing(DynamoLeases(client, clock), process.name, clock, 15.0),
        audit=audit,
        outbox=outbox,
        clock=clock,
        tell=telling,
        pace=Pace(busy_s=0.4, idle_s=1.0),
    )
    process.begin(relay.run())


@dataclass(frozen=True)
class Telling:
    """What the relay could not put right by itself is a fault here: all of these faults end."""

    scheduler: Scheduler
    process: Process

    def trimmed(self, shard: ShardId) -> None:
        self.scheduler.faults.append(f"{self.process.name}: {shard} was trimmed")

    def given_up(self, chat: ChatKey, first: int, last: int) -> None:
        self.scheduler.faults.append(f"{self.process.name}: {chat.chat} given up, {first} to {last}")


def _send_all(sockets: Iterable[Socket], data: bytes) -> None:
    for socket in sockets:
        socket.send(data)
