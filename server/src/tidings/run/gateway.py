"""The process `gateway`: engines, use cases, and the socket's edge on a listener."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from msgspec import structs

from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.revocations import OnRevocations, RevocationWatch
from tidings.accounts.store.revocations import DynamoRevocationLog
from tidings.delivery.store import DynamoOfflineQueue
from tidings.gateway.admission import make_admission
from tidings.gateway.dispatch import HandlerDeps
from tidings.gateway.drain import DrainOptions
from tidings.gateway.limits import ConnectionLimits
from tidings.gateway.node_deps import NodeDeps, NodeOptions
from tidings.gateway.ports import GatewayUseCases, InboxUseCases
from tidings.gateway.resume.parts import ResumeOptions
from tidings.gateway.resume.plan import TailLimits
from tidings.gateway.resume.ranges import CatchUpOptions
from tidings.gateway.server import GatewayServer, ServerDeps
from tidings.gateway.socket.choose import load_backend
from tidings.gateway.socket.listener import WebSocketListener
from tidings.gateway.socket.options import ListenOptions
from tidings.gateway.socket.ports import Listener, OnOpen
from tidings.jobs.store import KafkaChunkPublisher
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import new_ulid
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.telemetry import logs
from tidings.routing.model import GatewayId
from tidings.routing.store import RedisBus, RedisConnectionRegistry
from tidings.run import publishing, wiring
from tidings.run.accounts import AccountServices, open_accounts
from tidings.run.chat_lists import ChatListServices, build_chat_lists, build_chat_row_reader
from tidings.run.deliveries import build_offline_events
from tidings.run.edge.doors import build_credentials
from tidings.run.edge.limits import RequestLimits, SocketRequestLimiter
from tidings.run.edge.socket_server import SocketServer
from tidings.run.edge.socket_telemetry import SocketMetrics, export_gateway
from tidings.run.held import ManagedResource
from tidings.run.inboxes import build_serving_inboxes, inbox_use_cases
from tidings.run.options import otlp_headers, process_options, validate_settings
from tidings.run.people import build_login_services
from tidings.run.settings import Settings, production
from tidings.run.signs import make_ephemeral_deps, make_receipt_publisher
from tidings.run.sockets import admission_options, fit_open_file_limit, hub_options, listen_options
from tidings.wire.bounds import MAX_FRAME_BYTES
from tidings.wire.close_codes import CloseCode, close_reason

log = logs.get_logger(__name__)

_GRACE_S = 2.0
"""After its moment to leave, a device may still take so long."""
_SETTLE_S = 2.0
_SLOW_RETRY_MS = 1_000


def make_listen_options(settings: Settings) -> ListenOptions:
    try:
        load_backend(settings.gateway.socket_library, compresses=settings.gateway.compression == "deflate")
        options = listen_options(
            settings.gateway,
            slow_close_code=CloseCode.SLOW_CONSUMER,
            slow_close_reason=close_reason(CloseCode.SLOW_CONSUMER, _SLOW_RETRY_MS),
        )
    except TidingsError as error:
        raise ValueError(error.message) from error
    # the socket's bound is above that of a frame, so that the protocol's own code is told; far above it WebSocket's
    return replace(options, max_message_bytes=2 * options.max_message_bytes)


def make_drain_options(settings: Settings) -> DrainOptions:
    given = settings.gateway
    needs_s = given.drain_spread_s + _GRACE_S + given.linger_s + _SETTLE_S
    if needs_s > settings.process.stop_s:
        raise ValueError(
            f"process.stop_s: devices need {needs_s:g} s to leave (gateway.drain_spread_s, gateway.linger_s and "
            f"{_GRACE_S + _SETTLE_S:g} s), and there are {settings.process.stop_s:g}"
        )
    return DrainOptions(
        spread_s=given.drain_spread_s,
        grace_s=_GRACE_S,
        close_code=CloseCode.DRAINED,
        close_reason=close_reason(CloseCode.DRAINED),
    )


def make_node_options(settings: Settings) -> NodeOptions:
    given = settings.gateway
    if given.renew_every_s > given.lease_s / 2:
        raise ValueError(
            f"gateway.renew_every_s: a lease of {given.lease_s:g} s (gateway.lease_s) is to be renewed at least "
            f"twice in its time, not every {given.renew_every_s:g} s"
        )
    tails = TailLimits(given.tail_chats, given.tail_entries)
    return NodeOptions(
        renew_every_s=given.renew_every_s,
        ack_within_s=given.ack_within_s,
        broadcast_spread_s=settings.notices.broadcast_spread_s,
        resume=ResumeOptions(at_once=given.resumes_at_once, tenant_share=given.tenant_share, tails=tails),
        ranges=CatchUpOptions(tail=given.tail_entries),
    )


BUILDS = (
    *wiring.BUILDS,
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
    engines = wiring.build_engines(settings, host)
    accounts = ManagedResource(
        "accounts",
        lambda: open_accounts(
            settings.accounts, engines.dynamo.value, host.clock, AuthenticatedRows(engines.keys.value)
        ),
    )
    publisher = publishing.publisher_component(settings, host)
    gains = make_receipt_publisher(settings, engines.redis, host)

    def server() -> GatewayServer:
        lists = build_chat_lists(
            engines.dynamo.value, engines.keys.value, host.clock, gains.value, epoch=engines.epoch
        )
        made = GatewayWiring(settings, host, engines, accounts.value, publisher.value, lists).server()
        export_gateway(host.metrics, made)
        return made

    def watch(heard: OnRevocations) -> RevocationWatch:
        return RevocationWatch(DynamoRevocationLog(engines.dynamo.value), host.clock, heard)

    edge = SocketServer(
        server, make_drain_options(settings), host.tasks, watch=watch, stop_s=settings.process.stop_s
    )
    return [*engines.components, accounts, publisher, gains, edge]


def with_fitting_limits(settings: Settings) -> Settings:
    """Lower the gateway's default bounds to the open files that this machine allows, and say so."""
    fitting = fit_open_file_limit(settings.gateway)
    if fitting != settings.gateway:
        log.warning(
            "fewer connections than the default: raise the limit of open files, or set gateway.max_connections",
            max_connections=fitting.max_connections,
            max_handshakes=fitting.max_handshakes,
        )
    return structs.replace(settings, gateway=fitting)


@dataclass(frozen=True, slots=True)
class GatewayWiring:
    """Everything that was opened, to be joined into the edge."""

    settings: Settings
    host: ProcessContext
    engines: wiring.EngineComponents
    accounts: AccountServices
    publisher: KafkaPublisher
    lists: ChatListServices

    def server(self) -> GatewayServer:
        frame_bytes = min(self.settings.gateway.max_frame_bytes, MAX_FRAME_BYTES)
        credentials = self._credentials()
        cases = self._cases(credentials)
        limits = ConnectionLimits(max_frame_bytes=frame_bytes, drain_grace_s=_GRACE_S)
        return GatewayServer(
            ServerDeps(
                dispatch=HandlerDeps(
                    cases=cases, limits=limits, clock=self.host.clock, epoch=self.engines.epoch
                ),
                make_listener=self._listener,
                node=self._node(cases),
                rechecks=credentials,
                hub=hub_options(self.settings.gateway),
                report=_report,
                measure=SocketMetrics(self.host.metrics),
                flush_timeout_s=_SETTLE_S,
            )
        )

    def _credentials(self) -> CredentialVerifierChain:
        client, keys = self.engines.dynamo.value, self.engines.keys.value
        people = build_login_services(self.settings, client, self.host.clock, self.engines.kms.value, keys)
        return build_credentials(self.accounts, people)

    def _cases(self, credentials: CredentialVerifierChain) -> GatewayUseCases:
        client, keys = self.engines.dynamo.value, self.engines.keys.value
        told = publishing.make_on_commit(self.publisher, self.host)
        epoch = self.engines.epoch
        cases = wiring.build_chat_services(
            client, keys, self.host.clock, told, self.lists.directs, epoch=epoch
        )
        limiter = wiring.build_limiter(
            self.settings, self.engines.redis.value, self.engines.keys.value, self.host
        )
        return GatewayUseCases(
            credentials=credentials,
            send=cases.send,
            change=cases.change,
            history=cases.history,
            marking=self.lists.marking,
            inboxes=self._inboxes(),
            rates=SocketRequestLimiter(RequestLimits(limiter, self.accounts.tenants)),
        )

    def _inboxes(self) -> InboxUseCases:
        engines, chunks, wanted = self.engines, KafkaChunkPublisher(self.publisher), self.settings.notices
        client, keys, redis = engines.dynamo.value, engines.keys.value, engines.redis.value
        cases, _ = build_serving_inboxes(client, keys, self.host.clock, chunks, redis, settings=wanted)
        return inbox_use_cases(cases)

    def _node(self, cases: GatewayUseCases) -> NodeDeps:
        client, redis = self.engines.dynamo.value, self.engines.redis.value
        keys, clock = self.engines.keys.value, self.host.clock
        line = RedisBus(redis)
        return NodeDeps(
            gateway=GatewayId(new_ulid()),
            routes=RedisConnectionRegistry(redis, lease_s=self.settings.gateway.lease_s),
            bus=line,
            subscriber=line,
            broadcast_subscriber=line,
            rows=build_chat_row_reader(client, self.engines.epoch),
            queue=DynamoOfflineQueue(client, clock),
            listing=self.lists.chat_list,
            history=cases.history,
            marking=cases.marking,
            ephemeral=make_ephemeral_deps(self.settings, client, redis, clock, self.engines.epoch),
            inboxes=cases.inboxes,
            offline_notifier=build_offline_events(client, keys, clock, self.publisher, self.engines.epoch),
            failpoints=self.host.failpoints,
            clock=clock,
            options=make_node_options(self.settings),
        )

    def _listener(self, on_open: OnOpen) -> Listener:
        given = self.settings.gateway
        return WebSocketListener(
            load_backend(given.socket_library, compresses=given.compression == "deflate"),
            make_listen_options(self.settings),
            on_open,
            on_error=_report,
            admit=make_admission(admission_options(given), self.host.clock.monotonic),
        )


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)
