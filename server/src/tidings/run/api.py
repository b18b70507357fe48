"""The process `api`: engines, use cases, and the REST edge on an HTTP server."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn

from tidings.accounts.credentials import Credentials
from tidings.accounts.find import FindByPhone
from tidings.accounts.phone import PhoneLogin
from tidings.accounts.revocations import Revocation, RevocationWatch
from tidings.accounts.store.revocations import DynamoRevocations
from tidings.accounts.store.users import DynamoUsers
from tidings.api.app import ROUTERS, make_app
from tidings.api.options import Options
from tidings.api.ports import Telemetry
from tidings.api.services import NoticeServices, Services
from tidings.chats.look import Look
from tidings.chats.store import DynamoShelf
from tidings.jobs.store import KafkaChunks
from tidings.kernel.secrets import Secret
from tidings.limits.limit import Limiter
from tidings.platform.dynamo.authentic import AuthenticRows
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.run import Host, run
from tidings.platform.telemetry import logs
from tidings.run import publishing, wiring
from tidings.run.accounts import Accounts, open_accounts
from tidings.run.chat_lists import join_chat_lists
from tidings.run.edge.doors import PhoneTenants, credentials_of
from tidings.run.edge.limits import EdgeLimits
from tidings.run.edge.phone_limits import PhoneLimits
from tidings.run.edge.server import Asgi, HttpServer
from tidings.run.edge.telemetry import Requests
from tidings.run.held import Held
from tidings.run.inboxes import join_serving, notice_services
from tidings.run.options import (
    allowed_origins,
    cursor_secrets,
    otlp_headers,
    process_options,
    refuse_faulty,
    trusted_proxies,
)
from tidings.run.people import People, people_of, phone_login
from tidings.run.settings import Settings, production
from tidings.run.signs import own_rows, telling, visibility
from tidings.signs.telling import Telling

log = logs.get(__name__)

BUILDS = (*wiring.BUILDS, otlp_headers, trusted_proxies, cursor_secrets, allowed_origins, *production.API)


def run_api(settings: Settings) -> NoReturn:
    refuse_faulty(settings, BUILDS)
    run("api", process_options(settings, "api"), lambda host: compose(settings, host))


def compose(settings: Settings, host: Host) -> Sequence[Component]:
    engines = wiring.engines(settings, host)
    accounts = Held(
        "accounts",
        lambda: open_accounts(
            settings.accounts, engines.dynamo.it, host.clock, AuthenticRows(engines.keys.it)
        ),
    )
    publisher = publishing.publisher(settings, host)
    gains = telling(settings, engines.redis, host)

    def app() -> Asgi:
        requests = Requests(host.metrics, host.tracing, settings.api.access_log_ratio)
        requests.declare(operations())
        joined = Joined(settings, host, engines, accounts.it, publisher.it, gains.it)
        return make_app(joined.services(requests), _options(settings))

    return [*engines.components, accounts, publisher, gains, HttpServer(settings, app, host.tasks)]


@dataclass(frozen=True, slots=True)
class Joined:
    """Everything that was opened, to be joined into the edge's services."""

    settings: Settings
    host: Host
    engines: wiring.Engines
    accounts: Accounts
    publisher: Publisher
    gains: Telling

    def services(self, requests: Telemetry) -> Services:
        client, keys = self.engines.dynamo.it, self.engines.keys.it
        limiter = wiring.limiter(self.settings, self.engines.redis.it, self.engines.keys.it, self.host)
        told = publishing.told(self.publisher, self.host)
        lists = join_chat_lists(client, keys, self.host.clock, self.gains, epoch=self.engines.epoch)
        epoch = self.engines.epoch
        cases = wiring.use_cases(client, keys, self.host.clock, told, lists.directs, epoch=epoch)
        people = people_of(self.settings, client, self.host.clock, self.engines.kms.it, keys)
        credentials = credentials_of(self.accounts, people)
        self._watch(credentials)
        return Services(
            credentials=credentials,
            chats=cases.manage,
            look=Look(DynamoShelf(client, cases.rows)),
            send=cases.send,
            change=cases.change,
            history=cases.history,
            chat_list=lists.chat_list,
            marking=lists.marking,
            statuses=lists.statuses,
            visibility=visibility(client, self.engines.redis.it, self.host.clock, self.engines.epoch),
            own_rows=own_rows(self.engines.redis.it),
            phone=self._phone(people, limiter),
            sessions=people.sessions,
            users=people.users,
            find_by_phone=FindByPhone(
                DynamoUsers(client, AuthenticRows(keys)), PhoneTenants(self.accounts.tenants)
            ),
            notices=self._notices(),
            limits=EdgeLimits(limiter, self.accounts.tenants),
            telemetry=requests,
        )

    def _watch(self, credentials: Credentials) -> None:
        async def heard(revocations: Sequence[Revocation]) -> None:
            for each in revocations:
                credentials.forget(each)

        watch = RevocationWatch(DynamoRevocations(self.engines.dynamo.it), self.host.clock, heard)
        _ = self.host.tasks.spawn("revocations", watch.keep())

    def _notices(self) -> NoticeServices:
        engines, chunks, wanted = self.engines, KafkaChunks(self.publisher), self.settings.notices
        client, keys, redis = engines.dynamo.it, engines.keys.it, engines.redis.it
        cases, _ = join_serving(client, keys, self.host.clock, chunks, redis, settings=wanted)
        return notice_services(cases)

    def _phone(self, people: People, limiter: Limiter) -> PhoneLogin:
        login, outbox = phone_login(
            self.settings,
            self.engines.dynamo.it,
            self.host.clock,
            people,
            keys=self.engines.keys.it,
            limits=PhoneLimits(
                limiter,
                self.accounts.tenants,
                wiring.known_places(self.settings, self.engines.redis.it, self.engines.keys.it),
            ),
            tenants=PhoneTenants(self.accounts.tenants),
        )
        stats = login.stats
        self.host.metrics.tallies(
            "phone_codes_total",
            "One-time codes requested and redeemed, and requests or tries refused by a limit. Few redeemed of many "
            "requested is the sign of SMS pumping.",
            "outcome",
            lambda: {"requested": stats.requested, "redeemed": stats.redeemed, "limited": stats.limited},
        )
        # what still waits when the process stops is not sent: people ask again
        _ = self.host.tasks.spawn("sms outbox", outbox.run())
        return login


def _options(settings: Settings) -> Options:
    api = settings.api
    return Options(
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


def operations() -> Iterator[str]:
    """`GET /v1/chats/{chat_id}` …: what requests are counted by."""
    for route in chain.from_iterable(router.routes for router in ROUTERS):
        for method in sorted(getattr(route, "methods", None) or ()):
            yield f"{method} {getattr(route, 'path', '')}"
