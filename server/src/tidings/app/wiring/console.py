"""Wire the services of the console. They are the use cases of the REST API and of the commands."""

import signal
from dataclasses import dataclass
from itertools import chain

from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.accounts.users import UserService
from tidings.api.console.services import ConsoleModeration, ConsoleServices, SupportServices
from tidings.app.processes.child import child_command
from tidings.app.settings import Settings
from tidings.app.settings.loader import load, rows
from tidings.app.wiring import engine_clients
from tidings.app.wiring.accounts import AccountServices, build_process_login
from tidings.app.wiring.chats import build_chat_lists, build_chat_services
from tidings.app.wiring.dead_letters import build_dead_letters
from tidings.app.wiring.delivery import make_on_commit
from tidings.app.wiring.erasure import build_erasure_service
from tidings.app.wiring.exports import build_export_service
from tidings.app.wiring.inboxes import build_process_inboxes, notification_services
from tidings.app.wiring.moderation import build_reviews
from tidings.app.wiring.search import build_search_switch
from tidings.app.wiring.trace import TraceServices, build_support_lookup
from tidings.app.wiring.webhooks import make_content_rules_service, make_webhook_service
from tidings.audit.log import AuditLog
from tidings.audit.store import DynamoAuditStore
from tidings.chats.commands import ChatCommands
from tidings.chats.moderation import ChatModeration
from tidings.exports.service import ExportService
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.jobs.ports import JobStarter
from tidings.kernel.security import Secret
from tidings.messages.history import History
from tidings.messages.store import DynamoLogReader
from tidings.moderation.store import DynamoReviewStore
from tidings.operators.doctor_runner import DoctorRunner
from tidings.operators.oidc import OidcLogin, OidcOptions, OidcTransport
from tidings.operators.process_monitor import ProcessMonitor
from tidings.operators.sessions import MIN_KEY_CHARS, OperatorSessions
from tidings.operators.store import DynamoOperatorSessionStore
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.s3.client import S3Client
from tidings.tenants.rules import is_tenant_id
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore
from tidings.webhooks.ports import WebhookTransport

CALLBACK = "/admin/v1/login/callback"


def bootstrap_key(settings: Settings) -> Secret | None:
    key = settings.console.bootstrap_key
    if key is not None and len(key.reveal()) < MIN_KEY_CHARS:
        raise ValueError(f"console.bootstrap_key: has at least {MIN_KEY_CHARS} characters")
    return key


def oidc_options(settings: Settings) -> OidcOptions | None:
    wanted = settings.console
    if wanted.oidc_issuer is None:
        return None
    if wanted.oidc_client_id is None:
        raise ValueError(
            "console.oidc_client_id: is missing; register a client for the console with the provider"
        )
    if wanted.public_url is None:
        raise ValueError("console.public_url: is missing; the identity provider redirects browsers to it")
    return OidcOptions(
        issuer=wanted.oidc_issuer,
        client_id=wanted.oidc_client_id,
        client_secret=wanted.oidc_client_secret,
        redirect_uri=wanted.public_url.rstrip("/") + CALLBACK,
        scope=wanted.oidc_scope,
        role_claim=wanted.oidc_role_claim,
        tenants_claim=wanted.oidc_tenants_claim,
    )


def watched_processes(settings: Settings) -> list[str]:
    found = [each.strip() for each in (settings.console.processes or "").split(",") if each.strip()]
    for address in found:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError(f"console.processes: {address!r} is not host:port")
    return found


def _doctor_command(settings: Settings) -> list[str]:
    addresses = [("--admin", address) for address in watched_processes(settings)]
    return [*child_command(signal.SIGKILL), "doctor", "--json", *chain.from_iterable(addresses)]


@dataclass(frozen=True, slots=True)
class ConsoleWiring:
    """Everything that was opened, to be joined into the console's services."""

    settings: Settings
    host: ProcessContext
    engines: engine_clients.EngineComponents
    accounts: AccountServices
    publisher: KafkaPublisher
    provider: OidcTransport
    traces: TraceServices
    monitor: ProcessMonitor
    cookie_secret: Secret
    webhook_http: WebhookTransport
    s3: S3Client | None

    def services(self) -> ConsoleServices:
        settings, clock, engines = self.settings, self.host.clock, self.engines
        client, keys = engines.dynamo.value, engines.keys.value
        protected = AuthenticatedRows(keys)
        people = build_process_login(settings, engines, clock)
        cases, _ = build_process_inboxes(
            engines, clock, KafkaChunkPublisher(self.publisher), settings=settings.inboxes
        )
        wanted = oidc_options(settings)
        tenants = TenantService(DynamoTenantStore(client, protected), clock)
        return ConsoleServices(
            sessions=OperatorSessions(
                DynamoOperatorSessionStore(client, self.cookie_secret),
                clock,
                life_s=settings.console.session_s,
                bootstrap_key=bootstrap_key(settings),
            ),
            login=None if wanted is None else OidcLogin(wanted, self.provider, clock, is_tenant_id),
            audit=AuditLog(DynamoAuditStore(client), clock),
            tenants=self.accounts.tenants,
            tenant_admin=tenants,
            api_keys=self.accounts.api_keys,
            signing_keys=SigningKeyService(DynamoSigningKeyStore(client, protected), clock),
            users=people.users,
            user_sessions=people.sessions,
            notifications=notification_services(cases, client, engines.user_keys.value, clock),
            webhooks=make_webhook_service(client, keys, clock, self.webhook_http),
            erasures=build_erasure_service(client, cases.jobs, clock, keys),
            exports=self._exports(cases.jobs),
            search=build_search_switch(settings, client, tenants, clock),
            monitor=self.monitor,
            doctor=DoctorRunner(_doctor_command(settings), clock),
            dead_letters=build_dead_letters(settings, client, self.publisher, clock),
            settings=list(rows(load())),
            support=self._support(),
            moderation=self._moderation(people.users),
        )

    def _exports(self, jobs: JobStarter) -> ExportService | None:
        if self.s3 is None:
            return None
        life_s = self.settings.media.url_life_s
        return build_export_service(self.engines.dynamo.value, jobs, self.s3, self.host.clock, life_s)

    def _moderation(self, users: UserService) -> ConsoleModeration:
        clock, engines = self.host.clock, self.engines
        client, user_keys = engines.dynamo.value, engines.user_keys.value
        cases = build_chat_services(
            client,
            user_keys,
            clock,
            make_on_commit(self.publisher, self.host).publish,
            build_chat_lists(client, user_keys, clock, epoch=engines.epoch).directs.intervals,
            epoch=engines.epoch,
        )
        chats = ChatModeration(cases.rows, ChatCommands(cases.rows, cases.appends, clock=clock), clock)
        return ConsoleModeration(
            reviews=build_reviews(DynamoReviewStore(client, user_keys), clock, cases.change, chats, users),
            content_rules=make_content_rules_service(client, engines.keys.value, clock),
        )

    def _support(self) -> SupportServices:
        settings, clock, engines = self.settings, self.host.clock, self.engines
        client, user_keys = engines.dynamo.value, engines.user_keys.value
        lists = build_chat_lists(client, user_keys, clock, epoch=engines.epoch)
        lookup = build_support_lookup(settings, client, clock)
        return SupportServices(
            messages=lookup.messages,
            chats=lookup.chats,
            history=History(DynamoLogReader(client), lists.directs.intervals, user_keys, clock),
            chat_list=lists.chat_list,
            presence=lookup.presence,
            devices=self.traces.devices,
            trace=self.traces.trace,
        )
