"""The process `gateway`: engines, use cases, and the socket's edge on a listener."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from msgspec import structs

from tidings.accounts.credentials import Credentials
from tidings.accounts.revocations import Heard, RevocationWatch
from tidings.accounts.store.revocations import DynamoRevocations
from tidings.delivery.store import DynamoPending
from tidings.gateway.admission import admission
from tidings.gateway.dispatch import Dispatch
from tidings.gateway.drain import DrainOptions
from tidings.gateway.limits import Limits
from tidings.gateway.ports import InboxCases, UseCases
from tidings.gateway.resume.parts import ResumeOptions
from tidings.gateway.resume.plan import Tails
from tidings.gateway.resume.ranges import RangeOptions
from tidings.gateway.routed import RoutedOptions, World
from tidings.gateway.server import Server, Serving
from tidings.gateway.socket.choose import library
from tidings.gateway.socket.listener import SocketListener
from tidings.gateway.socket.options import ListenOptions
from tidings.gateway.socket.ports import Listener, OnOpen
from tidings.jobs.store import KafkaChunks
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import new_ulid
from tidings.platform.dynamo.authentic import AuthenticRows
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import Host, run
from tidings.platform.telemetry import logs
from tidings.routing.model import GatewayId
from tidings.routing.store import RedisLine, RedisRoutes
from tidings.run import publishing, wiring
from tidings.run.accounts import Accounts, open_accounts
from tidings.run.chat_lists import ChatLists, join_chat_lists, join_lists
from tidings.run.deliveries import join_unreached
from tidings.run.edge.doors import credentials_of
from tidings.run.edge.limits import EdgeLimits, SocketRates
from tidings.run.edge.socket_server import SocketServer
from tidings.run.edge.socket_telemetry import SocketCalls, export
from tidings.run.held import Held
from tidings.run.inboxes import inbox_cases, join_serving
from tidings.run.options import otlp_headers, process_options, refuse_faulty
from tidings.run.people import people_of
from tidings.run.settings import Settings, production
from tidings.run.signs import sign_world, telling
from tidings.run.sockets import admission_options, fit_to_open_files, hub_options, listen_options
from tidings.wire.bounds import MAX_FRAME_BYTES
from tidings.wire.close_codes import CloseCode, reason

log = logs.get(__name__)

_GRACE_S = 2.0
"""After its moment to leave, a device may still take so long."""
_SETTLE_S = 2.0
_SLOW_RETRY_MS = 1_000


def sockets(settings: Settings) -> ListenOptions:
    try:
        library(settings.gateway.socket_library, compresses=settings.gateway.compression == "deflate")
        options = listen_options(
            settings.gateway,
            slow_close_code=CloseCode.SLOW_CONSUMER,
            slow_close_reason=reason(CloseCode.SLOW_CONSUMER, _SLOW_RETRY_MS),
        )
    except TidingsError as error:
        raise ValueError(error.message) from error
    # the socket's bound is above that of a frame, so that the protocol's own code is told; far above it WebSocket's
    return replace(options, max_message_bytes=2 * options.max_message_bytes)


def leaving(settings: Settings) -> DrainOptions:
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
        close_reason=reason(CloseCode.DRAINED),
    )


def routing(settings: Settings) -> RoutedOptions:
    given = settings.gateway
    if given.renew_every_s > given.lease_s / 2:
        raise ValueError(
            f"gateway.renew_every_s: a lease of {given.lease_s:g} s (gateway.lease_s) is to be renewed at least "
            f"twice in its time, not every {given.renew_every_s:g} s"
        )
    tails = Tails(given.tail_chats, given.tail_entries)
    return RoutedOptions(
        renew_every_s=given.renew_every_s,
        ack_within_s=given.ack_within_s,
        broadcast_spread_s=settings.notices.broadcast_spread_s,
        resume=ResumeOptions(at_once=given.resumes_at_once, tenant_share=given.tenant_share, tails=tails),
        ranges=RangeOptions(tail=given.tail_entries),
    )


BUILDS = (*wiring.BUILDS, otlp_headers, sockets, leaving, routing, *production.GATEWAY)


def run_gateway(settings: Settings) -> NoReturn:
    refuse_faulty(settings, BUILDS)
    run("gateway", process_options(settings, "gateway"), lambda host: compose(settings, host))


def compose(settings: Settings, host: Host) -> Sequence[Component]:
    settings = with_fitting_bounds(settings)
    engines = wiring.engines(settings, host)
    accounts = Held(
        "accounts",
        lambda: open_accounts(
            settings.accounts, engines.dynamo.it, host.clock, AuthenticRows(engines.keys.it)
        ),
    )
    publisher = publishing.publisher(settings, host)
    gains = telling(settings, engines.redis, host)

    def server() -> Server:
        lists = join_chat_lists(engines.dynamo.it, engines.keys.it, host.clock, gains.it, epoch=engines.epoch)
        made = Joined(settings, host, engines, accounts.it, publisher.it, lists).server()
        export(host.metrics, made)
        return made

    def watch(heard: Heard) -> RevocationWatch:
        return RevocationWatch(DynamoRevocations(engines.dynamo.it), host.clock, heard)

    edge = SocketServer(server, leaving(settings), host.tasks, watch=watch, stop_s=settings.process.stop_s)
    return [*engines.components, accounts, publisher, gains, edge]


def with_fitting_bounds(settings: Settings) -> Settings:
    """Lower the gateway's default bounds to the open files that this machine allows, and say so."""
    fitting = fit_to_open_files(settings.gateway)
    if fitting != settings.gateway:
        log.warning(
            "fewer connections than the default: raise the limit of open files, or set gateway.max_connections",
            max_connections=fitting.max_connections,
            max_handshakes=fitting.max_handshakes,
        )
    return structs.replace(settings, gateway=fitting)


@dataclass(frozen=True, slots=True)
class Joined:
    """Everything that was opened, to be joined into the edge."""

    settings: Settings
    host: Host
    engines: wiring.Engines
    accounts: Accounts
    publisher: Publisher
    lists: ChatLists

    def server(self) -> Server:
        frame_bytes = min(self.settings.gateway.max_frame_bytes, MAX_FRAME_BYTES)
        credentials = self._credentials()
        cases = self._cases(credentials)
        limits = Limits(max_frame_bytes=frame_bytes, drain_grace_s=_GRACE_S)
        return Server(
            Serving(
                dispatch=Dispatch(
                    cases=cases, limits=limits, clock=self.host.clock, epoch=self.engines.epoch
                ),
                make_listener=self._listener,
                routed=self._routed(cases),
                rechecks=credentials,
                hub=hub_options(self.settings.gateway),
                report=_report,
                measure=SocketCalls(self.host.metrics),
                settle_s=_SETTLE_S,
            )
        )

    def _credentials(self) -> Credentials:
        client, keys = self.engines.dynamo.it, self.engines.keys.it
        people = people_of(self.settings, client, self.host.clock, self.engines.kms.it, keys)
        return credentials_of(self.accounts, people)

    def _cases(self, credentials: Credentials) -> UseCases:
        client, keys = self.engines.dynamo.it, self.engines.keys.it
        told = publishing.told(self.publisher, self.host)
        epoch = self.engines.epoch
        cases = wiring.use_cases(client, keys, self.host.clock, told, self.lists.directs, epoch=epoch)
        limiter = wiring.limiter(self.settings, self.engines.redis.it, self.engines.keys.it, self.host)
        return UseCases(
            credentials=credentials,
            send=cases.send,
            change=cases.change,
            history=cases.history,
            marking=self.lists.marking,
            inboxes=self._inboxes(),
            rates=SocketRates(EdgeLimits(limiter, self.accounts.tenants)),
        )

    def _inboxes(self) -> InboxCases:
        engines, chunks, wanted = self.engines, KafkaChunks(self.publisher), self.settings.notices
        client, keys, redis = engines.dynamo.it, engines.keys.it, engines.redis.it
        cases, _ = join_serving(client, keys, self.host.clock, chunks, redis, settings=wanted)
        return inbox_cases(cases)

    def _routed(self, cases: UseCases) -> World:
        client, redis = self.engines.dynamo.it, self.engines.redis.it
        keys, clock = self.engines.keys.it, self.host.clock
        line = RedisLine(redis)
        return World(
            gateway=GatewayId(new_ulid()),
            routes=RedisRoutes(redis, lease_s=self.settings.gateway.lease_s),
            line=line,
            ears=line,
            log_ears=line,
            rows=join_lists(client, self.engines.epoch),
            queue=DynamoPending(client, clock),
            listing=self.lists.chat_list,
            history=cases.history,
            marking=cases.marking,
            signs=sign_world(self.settings, client, redis, clock, self.engines.epoch),
            inboxes=cases.inboxes,
            unreached=join_unreached(client, keys, clock, self.publisher, self.engines.epoch),
            pauses=self.host.pauses,
            clock=clock,
            options=routing(self.settings),
        )

    def _listener(self, on_open: OnOpen) -> Listener:
        given = self.settings.gateway
        return SocketListener(
            library(given.socket_library, compresses=given.compression == "deflate"),
            sockets(self.settings),
            on_open,
            report=_report,
            admit=admission(admission_options(given), self.host.clock.monotonic),
        )


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)
