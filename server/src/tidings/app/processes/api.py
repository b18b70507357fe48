"""The process `api`: the REST API on uvicorn, with the signals and logs of Tidings.

On stop it accepts no new connections, finishes the requests in flight, and closes idle connections at once.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any, NoReturn, override

import uvicorn

from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.model import Revocation
from tidings.accounts.phone_login import PhoneLogin
from tidings.accounts.session_cache import RevocationWatch
from tidings.accounts.store.sessions import DynamoRevocationLog
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import PhoneDirectory
from tidings.api.app import api_operations, make_app
from tidings.api.connection_shares import ConnectionQuota
from tidings.api.http_protocol import HttpBounds, bounded_protocol
from tidings.api.metrics import HttpTelemetry
from tidings.api.services import ApiServices, ApiTelemetry, MediaServices
from tidings.app.processes.http_socket import BACKLOG, open_http_socket
from tidings.app.settings import Settings, production
from tidings.app.wiring import chats, delivery, engine_clients
from tidings.app.wiring.accounts import (
    AccountServices,
    LoginServices,
    accounts_component,
    build_credentials,
    build_phone_login,
    build_process_login,
)
from tidings.app.wiring.api_options import api_options
from tidings.app.wiring.chats import (
    build_chat_lists,
)
from tidings.app.wiring.ephemeral import (
    make_chat_row_notifier,
    make_presence_query,
    make_receipt_publisher,
)
from tidings.app.wiring.erasure import build_erasure_service
from tidings.app.wiring.exports import build_export_service
from tidings.app.wiring.inboxes import InboxServices, build_process_inboxes, notification_services
from tidings.app.wiring.link_previews import api_link_previews
from tidings.app.wiring.media import api_media, s3_component, s3_options, upload_check
from tidings.app.wiring.message_traces import make_traces
from tidings.app.wiring.moderation import build_moderation
from tidings.app.wiring.options import (
    allowed_origins,
    cursor_secrets,
    otlp_headers,
    process_options,
    trusted_proxies,
    validate_settings,
)
from tidings.app.wiring.push import build_push_services
from tidings.app.wiring.push_reads import with_push_reads
from tidings.app.wiring.rate_limits import PhoneLoginLimits, RequestLimits
from tidings.app.wiring.search import search_component, search_engine
from tidings.app.wiring.webhooks import (
    before_send_component,
    make_before_send_service,
    make_webhook_service,
    transport_component,
)
from tidings.audit.log import AuditLog
from tidings.audit.store import DynamoAuditStore
from tidings.chats.member_jobs import MemberJobs
from tidings.chats.queries import ChatQueries
from tidings.ephemeral.receipts import ReceiptPublisher
from tidings.exports.service import ExportService
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.kernel.security import UntrustedProxyDetector
from tidings.limits.limiter import RateLimiter
from tidings.messages.history import VisibleEntry
from tidings.messages.ports import BeforeSend
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Component, TaskSupervisor
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.s3.client import S3Client
from tidings.platform.telemetry import logs
from tidings.search.query import MessageSearch
from tidings.webhooks.store.http import HttpWebhookTransport

log = logs.get_logger(__name__)
_TENANT_SHARE = 2
"""A tenant keeps idle connections up to the bound for all, divided by this."""
_CUT_S = 2.0
"""Before its own deadline, requests that don't end are cancelled, so that the rest is closed in order."""

type Asgi = Callable[..., Any]


class HttpServer(Component):
    """`make_app` is called at the start, when what the app needs has been opened."""

    name = "http"

    def __init__(
        self, settings: Settings, make_app: Callable[[], Asgi], tasks: TaskSupervisor, *, section: str = "api"
    ) -> None:
        self._section = section
        self._settings = settings
        self._make_app = make_app
        self._tasks = tasks
        self.stop_s = settings.process.stop_s
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None

    @override
    async def start(self) -> None:
        server = uvicorn.Server(self._config(self._make_app()))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        listening = open_http_socket(self._settings, self._section)
        await server.startup([listening])
        self._socket, self._server = listening, server
        self._ticking = self._tasks.spawn("http ticks", server.main_loop())
        host, port = listening.getsockname()[:2]
        log.info("listening", host=host, port=port, reuse_port=self._settings.api.reuse_port)

    @override
    async def stop(self) -> None:
        if self._server is None or self._socket is None:
            return
        in_flight = len(self._server.server_state.tasks)
        log.info("no longer accepting", in_flight=in_flight)
        await self._server.shutdown([self._socket])
        await self._tasks.stop(self._ticking)

    def _bounds(self) -> HttpBounds:
        api = self._settings.api
        room = ConnectionQuota(
            max_connections=api.max_connections,
            max_per_address=api.max_connections_per_address,
            max_per_tenant=max(1, api.max_connections // _TENANT_SHARE),
        )
        proxies = tuple(map(ip_network, trusted_proxies(self._settings)))
        unnamed = UntrustedProxyDetector("api.trusted_proxies") if api.trusted_proxies is None else None
        return HttpBounds(
            api.request_timeout_s,
            api.keep_alive_s,
            api.docs_root,
            room,
            proxies=proxies,
            unnamed_proxy=unnamed,
        )

    def _config(self, app: Asgi) -> uvicorn.Config:
        api, proxies = self._settings.api, trusted_proxies(self._settings)
        return uvicorn.Config(
            app,
            http=bounded_protocol(self._bounds()),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            backlog=BACKLOG,
            timeout_keep_alive=api.keep_alive_s,
            timeout_graceful_shutdown=max(1, round(self.stop_s - _CUT_S)),
        )


BUILDS = (
    *engine_clients.BUILDS,
    otlp_headers,
    trusted_proxies,
    cursor_secrets,
    allowed_origins,
    search_engine,
    s3_options,
    *production.API,
)


def run_api(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("api", process_options(settings, "api"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    accounts = accounts_component(settings, host, engines)
    publisher = delivery.publisher_component(settings, host)
    gains = make_receipt_publisher(settings, engines.redis, host)
    http = transport_component(settings)
    before_send = before_send_component(host, engines, accounts, http)
    search = search_component(settings, host, engines, accounts)
    s3 = s3_component(settings)

    def app() -> Asgi:
        requests = HttpTelemetry(host.metrics, host.tracing, settings.api.access_log_ratio)
        requests.declare(api_operations())
        joined = ApiWiring(
            settings, host, engines, accounts.value, publisher.value, gains.value, search.value, s3.value
        )
        return make_app(joined.services(requests, http.value, before_send.value), api_options(settings))

    return [
        *engines.components,
        accounts,
        publisher,
        gains,
        http,
        before_send,
        search,
        s3,
        HttpServer(settings, app, host.tasks),
    ]


@dataclass(frozen=True, slots=True)
class ApiWiring:
    """Everything that was opened, to be joined into the edge's services."""

    settings: Settings
    host: ProcessContext
    engines: engine_clients.EngineComponents
    accounts: AccountServices
    publisher: KafkaPublisher
    gains: ReceiptPublisher
    search: MessageSearch[VisibleEntry]
    s3: S3Client | None

    def services(
        self, requests: ApiTelemetry, http: HttpWebhookTransport, before_send: BeforeSend
    ) -> ApiServices:
        client, redis, epoch = self.engines.dynamo.value, self.engines.redis.value, self.engines.epoch
        keys, user_keys, clock = self.engines.keys.value, self.engines.user_keys.value, self.host.clock
        limiter = engine_clients.build_limiter(self.settings, redis, keys, self.host)
        lists = self._lists()
        cases, inboxes = self._chats(lists, before_send), self._inboxes()
        commands = chats.make_chat_commands(cases.rows, cases.appends, self.accounts.tenants, clock)
        return ApiServices(
            credentials=self._credentials(people := build_process_login(self.settings, self.engines, clock)),
            chats=commands,
            moderation=build_moderation(self.engines, clock, cases, commands, people.users),
            members=MemberJobs(commands, inboxes.job_store, inboxes.jobs, clock),
            queries=ChatQueries(cases.rows, clock),
            sender=cases.sender,
            change=cases.change,
            history=cases.history,
            search=self.search,
            chat_list=lists.chat_list,
            marking=lists.marking,
            statuses=lists.statuses,
            visibility=make_presence_query(client, redis, clock, epoch),
            own_rows=make_chat_row_notifier(redis),
            phone=self._phone(people, limiter),
            sessions=people.sessions,
            users=people.users,
            erasures=build_erasure_service(client, inboxes.jobs, clock, keys),
            phone_directory=PhoneDirectory(DynamoUserStore(client, keys, user_keys), self.accounts.tenants),
            push=build_push_services(self.settings.push, client, user_keys, clock, inboxes, epoch=epoch),
            notifications=notification_services(inboxes, client, user_keys, clock),
            audit=AuditLog(DynamoAuditStore(client), clock),
            webhooks=(webhooks := make_webhook_service(client, keys, clock, http)),
            before_send=make_before_send_service(webhooks, client, keys, clock),
            media=self._media(cases),
            exports=self._exports(inboxes),
            limits=RequestLimits(limiter, self.accounts.tenants),
            telemetry=requests,
        )

    def _lists(self) -> chats.ChatListServices:
        client, user_keys, clock = self.engines.dynamo.value, self.engines.user_keys.value, self.host.clock
        on_advanced = with_push_reads(self.gains.publish_soon, self.publisher, self.host, self.engines)
        on_read, epoch = self.engines.events.value.chat_read, self.engines.epoch
        return build_chat_lists(client, user_keys, clock, on_advanced, on_read=on_read, epoch=epoch)

    def _media(self, cases: chats.ChatServices) -> MediaServices | None:
        if self.s3 is None:
            return None
        publisher = self.publisher
        return MediaServices(
            uploads=api_media(
                self.settings, self.engines, self.host, cases=cases, publisher=publisher, s3=self.s3
            ),
            link_previews=api_link_previews(self.engines, self.host.clock, cases=cases, publisher=publisher),
        )

    def _exports(self, inboxes: InboxServices) -> ExportService | None:
        if self.s3 is None:
            return None
        client, life_s = self.engines.dynamo.value, self.settings.media.url_life_s
        return build_export_service(client, inboxes.jobs, self.s3, self.host.clock, life_s)

    def _chats(self, lists: chats.ChatListServices, before_send: BeforeSend) -> chats.ChatServices:
        traces = make_traces(self.host.tracing)
        return chats.build_chat_services(
            self.engines.dynamo.value,
            self.engines.user_keys.value,
            self.host.clock,
            delivery.make_on_commit(self.publisher, self.host, traces).publish,
            lists.directs.intervals,
            epoch=self.engines.epoch,
            traces=traces,
            before_send=before_send,
            attachments=upload_check(self.settings, self.engines.dynamo.value),
        )

    def _credentials(self, people: LoginServices) -> CredentialVerifierChain:
        credentials = build_credentials(self.accounts, people)

        async def heard(revocations: Sequence[Revocation]) -> None:
            for each in revocations:
                credentials.evict(each)

        watch = RevocationWatch(DynamoRevocationLog(self.engines.dynamo.value).since, self.host.clock, heard)
        _ = self.host.tasks.spawn("revocations", watch.run())
        return credentials

    def _inboxes(self) -> InboxServices:
        chunks, wanted = KafkaChunkPublisher(self.publisher), self.settings.inboxes
        return build_process_inboxes(self.engines, self.host.clock, chunks, settings=wanted)[0]

    def _phone(self, profile_service: LoginServices, limiter: RateLimiter) -> PhoneLogin:
        engines, tenants, keys = self.engines, self.accounts.tenants, self.engines.keys.value
        known = engine_clients.known_addresses(self.settings, engines.redis.value, keys)
        login, outbox = build_phone_login(
            self.settings,
            engines.dynamo.value,
            self.host.clock,
            profile_service,
            keys=keys,
            limits=PhoneLoginLimits(limiter, tenants, known),
            tenants=tenants,
        )
        stats = login.stats
        self.host.metrics.counter_callbacks(
            "phone_codes_total",
            "One-time codes requested and redeemed, and requests or tries refused by a limit. Few redeemed of many "
            "requested codes indicate SMS pumping.",
            "outcome",
            lambda: {"requested": stats.requested, "redeemed": stats.redeemed, "limited": stats.limited},
        )
        # codes that are queued when the process stops are not sent: users request another
        _ = self.host.tasks.spawn("sms outbox", outbox.run())
        return login
