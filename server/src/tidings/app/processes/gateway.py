"""The gateway's server as a component: listens, keeps its timers, and on stop lets the devices leave in order."""

import asyncio
from asyncio import Task
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn, override

from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.session_cache import OnRevocations, RevocationWatch
from tidings.accounts.store.sessions import DynamoRevocationLog
from tidings.app.settings import Settings, production
from tidings.app.wiring import chats, delivery, engine_clients, push_reads
from tidings.app.wiring.accounts import (
    AccountServices,
    accounts_component,
    build_credentials,
    build_process_login,
)
from tidings.app.wiring.chats import (
    ChatListServices,
    build_chat_lists,
    build_chat_row_reader,
    build_chat_row_writer,
)
from tidings.app.wiring.delivery import make_offline_checks
from tidings.app.wiring.ephemeral import (
    make_ephemeral_deps,
    make_receipt_publisher,
)
from tidings.app.wiring.inboxes import InboxServices, build_process_inboxes, inbox_use_cases
from tidings.app.wiring.listener_options import (
    DRAIN_GRACE_S,
    SETTLE_S,
    admission_options,
    hub_options,
    listen_options,
    make_drain_options,
    make_node_options,
    with_fitting_limits,
)
from tidings.app.wiring.media import upload_check
from tidings.app.wiring.message_traces import MessageTraces, make_traces
from tidings.app.wiring.options import otlp_headers, process_options, validate_settings
from tidings.app.wiring.push import build_push_cases
from tidings.app.wiring.rate_limits import RequestLimits, SocketRequestLimiter
from tidings.app.wiring.webhooks import before_send_component, transport_component
from tidings.bus.store import RedisBus
from tidings.connections.model import GatewayId
from tidings.connections.store import RedisConnectionRegistry
from tidings.delivery.store import DynamoOfflineQueue
from tidings.gateway.admission import UpgradeLimiter
from tidings.gateway.handlers import HandlerDeps
from tidings.gateway.metrics import SocketMetrics, export_gateway
from tidings.gateway.ports import GatewayUseCases, NodeDeps
from tidings.gateway.protocol_state import ConnectionLimits
from tidings.gateway.revocations import RevocationEnforcer
from tidings.gateway.server import DrainOptions, GatewayServer, ServerDeps
from tidings.gateway.transport.listener import TransportBackend, WebSocketListener
from tidings.gateway.transport.ports import ListenOptions, OnOpen
from tidings.gateway.transport.websockets_transport import load_backend
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import new_ulid
from tidings.messages.ports import BeforeSend
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Component, TaskSupervisor
from tidings.platform.lifecycle.process import MallocTrimmer
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.telemetry import logs
from tidings_wire.close_codes import CloseCode, close_reason
from tidings_wire.fields import MAX_FRAME_BYTES

_CHECK_EVERY_S = 5.0


class SocketServer(Component):
    """`make` is called at the start, when what the server needs has been opened."""

    name = "sockets"

    def __init__(
        self,
        make: Callable[[], GatewayServer],
        leaving: DrainOptions,
        tasks: TaskSupervisor,
        *,
        watch: Callable[[OnRevocations], RevocationWatch],
        stop_s: float,
    ) -> None:
        self._make = make
        self._watch = watch
        self._leaving = leaving
        self._tasks = tasks
        self.stop_s = stop_s
        self._server: GatewayServer | None = None

    @override
    async def start(self) -> None:
        server = self._make()
        server.start()
        await server.listener.start()
        self._server = server
        self._running = (
            self._tasks.spawn("gateway timers", server.run_timers()),
            self._tasks.spawn("gateway routes", server.run_lease_renewal()),
            self._tasks.spawn("gateway memory", _give_back(server)),
            *self._sweep_tasks(server.revocations),
        )
        log.info("listening", port=server.listener.port)

    def _sweep_tasks(self, revocations: RevocationEnforcer) -> Iterator[Task[None]]:
        yield self._tasks.spawn("gateway revocations", self._watch(revocations.on_revocations).run())
        yield self._tasks.spawn("gateway signing keys", _sweep(revocations))

    @override
    async def stop(self) -> None:
        if self._server is None:
            return
        log.info("no longer accepting", connections=len(self._server.listener.sockets))
        drained = await self._server.drain(self._leaving)
        await self._tasks.stop(*self._running)
        counts = {"notified": drained.notified, "left": drained.disconnected, "closed": drained.closed}
        log.info("devices have left", **counts)


async def _sweep(revocations: RevocationEnforcer) -> None:
    while True:
        await asyncio.sleep(_CHECK_EVERY_S)
        await revocations.sweep()


async def _give_back(server: GatewayServer) -> None:
    """After a storm: what its connections took is the machine's again."""
    memory = MallocTrimmer()
    while True:
        await asyncio.sleep(_CHECK_EVERY_S)
        memory.trim_if_idle(len(server.listener.sockets))


log = logs.get_logger(__name__)

_SLOW_RETRY_MS = 1_000


def make_listen_options(settings: Settings) -> ListenOptions:
    try:
        _load_library(settings)
        options = listen_options(
            settings.gateway,
            slow_close_code=CloseCode.SLOW_CONSUMER,
            slow_close_reason=close_reason(CloseCode.SLOW_CONSUMER, _SLOW_RETRY_MS),
        )
    except TidingsError as error:
        raise ValueError(error.message) from error
    # the socket's limit is above that of a frame, so that the close code is the protocol's own; far above it WebSocket's
    return replace(options, max_message_bytes=2 * options.max_message_bytes)


BUILDS = (
    *engine_clients.BUILDS,
    otlp_headers,
    make_listen_options,
    make_drain_options,
    make_node_options,
    *production.GATEWAY,
)


def run_gateway(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("gateway", process_options(settings, "gateway"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    settings = with_fitting_limits(settings)
    engines = engine_clients.build_engines(settings, host)
    accounts = accounts_component(settings, host, engines)
    publisher = delivery.publisher_component(settings, host)
    gains = make_receipt_publisher(settings, engines.redis, host)
    http = transport_component(settings)
    before_send = before_send_component(host, engines, accounts, http)

    def server() -> GatewayServer:
        client, keys = engines.dynamo.value, engines.user_keys.value
        heard = push_reads.with_push_reads(gains.value.publish_soon, publisher.value, host, engines)
        lists = build_chat_lists(
            client, keys, host.clock, heard, on_read=engines.events.value.chat_read, epoch=engines.epoch
        )
        traces = make_traces(host.tracing)
        wiring = GatewayWiring(settings, host, engines, accounts.value, publisher.value, lists, traces)
        made = wiring.server(before_send.value)
        export_gateway(host.metrics, made)
        return made

    def watch(heard: OnRevocations) -> RevocationWatch:
        return RevocationWatch(DynamoRevocationLog(engines.dynamo.value).since, host.clock, heard)

    edge = SocketServer(
        server, make_drain_options(settings), host.tasks, watch=watch, stop_s=settings.process.stop_s
    )
    return [*engines.components, accounts, publisher, gains, http, before_send, edge]


@dataclass(frozen=True, slots=True)
class GatewayWiring:
    """Everything that was opened, to be joined into the edge."""

    settings: Settings
    host: ProcessContext
    engines: engine_clients.EngineComponents
    accounts: AccountServices
    publisher: KafkaPublisher
    lists: ChatListServices
    traces: MessageTraces | None

    def server(self, before_send: BeforeSend) -> GatewayServer:
        frame_bytes = min(self.settings.gateway.max_frame_bytes, MAX_FRAME_BYTES)
        credentials = self._credentials()
        cases = self._cases(credentials, before_send)
        limits = ConnectionLimits(max_frame_bytes=frame_bytes, drain_grace_s=DRAIN_GRACE_S)
        library = _load_library(self.settings)
        return GatewayServer(
            ServerDeps(
                handlers=HandlerDeps(
                    cases=cases, limits=limits, clock=self.host.clock, epoch=self.engines.epoch
                ),
                make_listener=partial(self._listener, library),
                send_all=library.send_all,
                node=self._node(cases),
                credentials=credentials,
                hub=hub_options(self.settings.gateway),
                report=_report,
                on_answered=SocketMetrics(self.host.metrics).on_answered,
                flush_timeout_s=SETTLE_S,
            )
        )

    def _credentials(self) -> CredentialVerifierChain:
        people = build_process_login(self.settings, self.engines, self.host.clock)
        return build_credentials(self.accounts, people)

    def _cases(self, credentials: CredentialVerifierChain, before_send: BeforeSend) -> GatewayUseCases:
        engines = self.engines
        client, keys, redis = engines.dynamo.value, engines.user_keys.value, engines.redis.value
        commit = delivery.make_on_commit(self.publisher, self.host, self.traces).publish
        intervals, epoch = self.lists.directs.intervals, self.engines.epoch
        cases = chats.build_chat_services(
            client,
            keys,
            self.host.clock,
            commit,
            intervals,
            epoch=epoch,
            traces=self.traces,
            before_send=before_send,
            attachments=upload_check(self.settings, client),
        )
        limiter = engine_clients.build_limiter(self.settings, redis, self.engines.keys.value, self.host)
        inboxes = self._inboxes()
        return GatewayUseCases(
            credentials=credentials,
            limiter=SocketRequestLimiter(RequestLimits(limiter, self.accounts.tenants)),
            sender=cases.sender,
            edits=cases.change,
            history=cases.history,
            watermarks=self.lists.marking,
            inboxes=inbox_use_cases(inboxes),
            push=build_push_cases(self.settings.push, client, keys, self.host.clock, inboxes, epoch=epoch),
        )

    def _inboxes(self) -> InboxServices:
        chunks, wanted = KafkaChunkPublisher(self.publisher), self.settings.inboxes
        return build_process_inboxes(self.engines, self.host.clock, chunks, settings=wanted)[0]

    def _node(self, cases: GatewayUseCases) -> NodeDeps:
        client, redis = self.engines.dynamo.value, self.engines.redis.value
        clock, given = self.host.clock, self.settings.gateway
        line = RedisBus(redis)
        return NodeDeps(
            gateway=GatewayId(new_ulid()),
            routes=RedisConnectionRegistry(redis, lease_s=given.lease_s, renew_every_s=given.renew_every_s),
            bus=line,
            subscriber=line,
            rows=build_chat_row_reader(client, self.engines.epoch),
            head_copier=build_chat_row_writer(client, self.engines.epoch),
            queue=DynamoOfflineQueue(client, clock),
            chat_list=self.lists.chat_list,
            history=cases.history,
            watermarks=cases.watermarks,
            ephemeral=make_ephemeral_deps(self.settings, self.engines, clock),
            inboxes=cases.inboxes,
            offline_checks=make_offline_checks(self.publisher, self.host),
            trace_push=None if self.traces is None else self.traces.push,
            failpoints=self.host.failpoints,
            clock=clock,
            options=make_node_options(self.settings),
        )

    def _listener(self, library: TransportBackend, on_open: OnOpen) -> WebSocketListener:
        return WebSocketListener(
            library,
            make_listen_options(self.settings),
            on_open,
            on_error=_report,
            admit=UpgradeLimiter(admission_options(self.settings.gateway), self.host.clock.monotonic).admit,
        )


def _load_library(settings: Settings) -> TransportBackend:
    return load_backend(settings.gateway.socket_library, compresses=settings.gateway.compression == "deflate")


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)
