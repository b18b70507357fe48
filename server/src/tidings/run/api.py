"""The process `api`: engines, use cases, and the REST edge on an HTTP server."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn

from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.find import FindUserByPhone
from tidings.accounts.phone import PhoneLogin
from tidings.accounts.revocations import Revocation, RevocationWatch
from tidings.accounts.store.revocations import DynamoRevocationLog
from tidings.accounts.store.users import DynamoUserStore
from tidings.api.app import ROUTERS, make_app
from tidings.api.options import ApiOptions
from tidings.api.ports import ApiTelemetry
from tidings.api.services import ApiServices, NotificationServices
from tidings.chats.look import ChatQueries
from tidings.chats.store import DynamoChatReader
from tidings.jobs.store import KafkaChunkPublisher
from tidings.kernel.secrets import Secret
from tidings.limits.limit import RateLimiter
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.telemetry import logs
from tidings.run import publishing, wiring
from tidings.run.accounts import AccountServices, open_accounts
from tidings.run.chat_lists import build_chat_lists
from tidings.run.edge.doors import PhoneLoginTenants, build_credentials
from tidings.run.edge.limits import RequestLimits
from tidings.run.edge.phone_limits import PhoneLoginLimits
from tidings.run.edge.server import Asgi, HttpServer
from tidings.run.edge.telemetry import HttpTelemetry
from tidings.run.held import ManagedResource
from tidings.run.inboxes import build_serving_inboxes, notification_services
from tidings.run.options import (
    allowed_origins,
    cursor_secrets,
    otlp_headers,
    process_options,
    trusted_proxies,
    validate_settings,
)
from tidings.run.people import LoginServices, build_login_services, build_phone_login
from tidings.run.settings import Settings, production
from tidings.run.signs import make_chat_row_notifier, make_presence_query, make_receipt_publisher
from tidings.signs.telling import ReceiptPublisher

log = logs.get_logger(__name__)

BUILDS = (*wiring.BUILDS, otlp_headers, trusted_proxies, cursor_secrets, allowed_origins, *production.API)


def run_api(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    run_process("api", process_options(settings, "api"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = wiring.build_engines(settings, host)
    accounts = ManagedResource(
        "accounts",
        lambda: open_accounts(
            settings.accounts, engines.dynamo.value, host.clock, AuthenticatedRows(engines.keys.value)
        ),
    )
    publisher = publishing.publisher_component(settings, host)
    gains = make_receipt_publisher(settings, engines.redis, host)

    def app() -> Asgi:
        requests = HttpTelemetry(host.metrics, host.tracing, settings.api.access_log_ratio)
        requests.declare(api_operations_of())
        joined = ApiWiring(settings, host, engines, accounts.value, publisher.value, gains.value)
        return make_app(joined.services(requests), _options(settings))

    return [*engines.components, accounts, publisher, gains, HttpServer(settings, app, host.tasks)]


@dataclass(frozen=True, slots=True)
class ApiWiring:
    """Everything that was opened, to be joined into the edge's services."""

    settings: Settings
    host: ProcessContext
    engines: wiring.EngineComponents
    accounts: AccountServices
    publisher: KafkaPublisher
    gains: ReceiptPublisher

    def services(self, requests: ApiTelemetry) -> ApiServices:
        client, keys = self.engines.dynamo.value, self.engines.keys.value
        limiter = wiring.build_limiter(
            self.settings, self.engines.redis.value, self.engines.keys.value, self.host
        )
        told = publishing.make_on_commit(self.publisher, self.host)
        lists = build_chat_lists(client, keys, self.host.clock, self.gains, epoch=self.engines.epoch)
        epoch = self.engines.epoch
        cases = wiring.build_chat_services(client, keys, self.host.clock, told, lists.directs, epoch=epoch)
        people = build_login_services(self.settings, client, self.host.clock, self.engines.kms.value, keys)
        credentials = build_credentials(self.accounts, people)
        self._watch(credentials)
        return ApiServices(
            credentials=credentials,
            chats=cases.manage,
            queries=ChatQueries(DynamoChatReader(client, cases.rows)),
            send=cases.send,
            change=cases.change,
            history=cases.history,
            chat_list=lists.chat_list,
            marking=lists.marking,
            statuses=lists.statuses,
            visibility=make_presence_query(
                client, self.engines.redis.value, self.host.clock, self.engines.epoch
            ),
            own_rows=make_chat_row_notifier(self.engines.redis.value),
            phone=self._phone(people, limiter),
            sessions=people.sessions,
            users=people.users,
            find_by_phone=FindUserByPhone(
                DynamoUserStore(client, AuthenticatedRows(keys)), PhoneLoginTenants(self.accounts.tenants)
            ),
            notifications=self._notifications(),
            limits=RequestLimits(limiter, self.accounts.tenants),
            telemetry=requests,
        )

    def _watch(self, credentials: CredentialVerifierChain) -> None:
        async def heard(revocations: Sequence[Revocation]) -> None:
            for each in revocations:
                credentials.evict(each)

        watch = RevocationWatch(DynamoRevocationLog(self.engines.dynamo.value), self.host.clock, heard)
        _ = self.host.tasks.spawn("revocations", watch.run())

    def _notifications(self) -> NotificationServices:
        engines, chunks, wanted = self.engines, KafkaChunkPublisher(self.publisher), self.settings.notices
        client, keys, redis = engines.dynamo.value, engines.keys.value, engines.redis.value
        cases, _ = build_serving_inboxes(client, keys, self.host.clock, chunks, redis, settings=wanted)
        return notification_services(cases)

    def _phone(self, profile_service: LoginServices, limiter: RateLimiter) -> PhoneLogin:
        login, outbox = build_phone_login(
            self.settings,
            self.engines.dynamo.value,
            self.host.clock,
            profile_service,
            keys=self.engines.keys.value,
            limits=PhoneLoginLimits(
                limiter,
                self.accounts.tenants,
                wiring.known_addresses(self.settings, self.engines.redis.value, self.engines.keys.value),
            ),
            tenants=PhoneLoginTenants(self.accounts.tenants),
        )
        stats = login.stats
        self.host.metrics.counter_callbacks(
            "phone_codes_total",
            "One-time codes requested and redeemed, and requests or tries refused by a limit. Few redeemed of many "
            "requested is the sign of SMS pumping.",
            "outcome",
            lambda: {"requested": stats.requested, "redeemed": stats.redeemed, "limited": stats.limited},
        )
        # what still waits when the process stops is not sent: people ask again
        _ = self.host.tasks.spawn("sms outbox", outbox.run())
        return login


def _options(settings: Settings) -> ApiOptions:
    api = settings.api
    return ApiOptions(
        cursor_secrets=_signing_secrets(settings),
        max_body_bytes=api.max_body_bytes,
        max_body_depth=api.max_body_depth,
        max_body_values=api.max_body_values,
        docs_root=api.docs_root,
        trusts_trace=api.trusts_trace,
        allowed_origins=allowed_origins(settings),
        serves_docs=api.serves_docs,
    )


def _signing_secrets(settings: Settings) -> tuple[Secret, ...]:
    """Without one that is set, cursors end with the process: fine on a laptop, not behind a load balancer."""
    if given := cursor_secrets(settings):
        return given
    log.warning("api.cursor_secret is not set: a page can't be continued after a restart or elsewhere")
    return (Secret(secrets.token_urlsafe(32)),)


def api_operations_of() -> Iterator[str]:
    """`GET /v1/chats/{chat_id}` …: what requests are counted by."""
    for route in chain.from_iterable(router.routes for router in ROUTERS):
        for method in sorted(getattr(route, "methods", None) or ()):
            yield f"{method} {getattr(route, 'path', '')}"
