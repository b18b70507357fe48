"""Build the services of accounts: credentials, sessions and login by phone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tidings.accounts import api_keys, phone_login, sessions, verification_keys
from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.credentials import CredentialVerifierChain, TokenPolicy, UserTokenVerifier
from tidings.accounts.phone_login import ConsoleSms, PhoneLogin, SmsCodeSender, SmsQueue
from tidings.accounts.ports import LoginLimiter, SmsSender
from tidings.accounts.session_cache import SessionCache, SessionTokenVerifier
from tidings.accounts.session_tokens import AccessTokenService
from tidings.accounts.sessions import SessionService
from tidings.accounts.store.keys import DynamoApiKeyStore, DynamoSigningKeyStore
from tidings.accounts.store.sessions import DynamoCodeStore, DynamoSessionStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import ADMISSION_CACHE, UserAdmission, UserService
from tidings.accounts.verification_keys import VerificationKeys
from tidings.app.settings import Settings
from tidings.app.settings.accounts import AccountsSettings
from tidings.app.wiring.engine_clients import EngineComponents, key_policy, make_kms, make_user_key_ring
from tidings.app.wiring.webhook_events import make_event_producer
from tidings.kernel.clock import Clock
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.lifecycle.component import ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.push.registrations import PushRegistrations
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.tenants import settings as tenants
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.ports import Kms
from tidings.tenants.settings import TenantReader
from tidings.tenants.signing_key_ring import SigningKeyRing, SigningPolicy
from tidings.tenants.store import DynamoKeyStore, DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing
from tidings.webhooks.producer import EventProducer


@dataclass(frozen=True, slots=True)
class AccountServices:
    tenants: TenantReader
    api_keys: ApiKeyService
    users: UserTokenVerifier


def accounts_component(
    settings: Settings, host: ProcessContext, engines: EngineComponents
) -> ManagedResource[AccountServices]:
    return ManagedResource(
        "accounts",
        lambda: open_accounts(
            settings.accounts, engines.dynamo.value, host.clock, AuthenticatedRows(engines.keys.value)
        ),
    )


@asynccontextmanager
async def open_accounts(
    settings: AccountsSettings, client: DynamoClient, clock: Clock, rows: AuthenticatedRows
) -> AsyncIterator[AccountServices]:
    """Open the verifiers of API keys and of tokens that the tenants' servers sign."""
    # Here, not at the first fetch: the import would stop the event loop of a process that has connections.
    from tidings.accounts.jwks_http import FetchOptions, open_http_jwks  # noqa: PLC0415 - loads aiohttp

    options = FetchOptions(
        network=NetworkPolicy(settings.jwks_network),
        timeout_s=settings.jwks_timeout_s,
        max_bytes=settings.jwks_max_bytes,
    )
    async with open_http_jwks(options) as jwks:
        reader = TenantReader(
            DynamoTenantStore(client, rows),
            clock,
            replace(tenants.CACHE_POLICY, fresh_s=settings.tenant_refresh_s),
        )
        keys = VerificationKeys(
            DynamoSigningKeyStore(client, rows),
            jwks.fetch,
            clock,
            registered=replace(verification_keys.REGISTERED, refresh_s=settings.signing_key_refresh_s),
            published=replace(
                verification_keys.PUBLISHED,
                refresh_s=settings.jwks_refresh_s,
                unknown_s=settings.jwks_unknown_kid_s,
                outage_s=settings.jwks_stale_s,
            ),
        )
        policy = TokenPolicy(max_lifetime_s=settings.token_max_lifetime_s, cache_s=settings.token_cache_s)
        yield AccountServices(
            reader,
            open_api_keys(settings, client, clock, rows),
            UserTokenVerifier(reader, keys, clock, policy),
        )


def open_api_keys(
    settings: AccountsSettings, client: DynamoClient, clock: Clock, rows: AuthenticatedRows
) -> ApiKeyService:
    keep = replace(api_keys.CACHE_POLICY, fresh_s=settings.api_key_refresh_s)
    return ApiKeyService(DynamoApiKeyStore(client, rows), clock, keep)


_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginServices:
    users: UserService
    sessions: SessionService
    live: SessionCache
    access: AccessTokenService
    admission: UserAdmission


@asynccontextmanager
async def open_login_services(
    settings: Settings, client: DynamoClient, clock: Clock
) -> AsyncIterator[LoginServices]:
    """Open the login services with their own KMS client, for commands."""
    async with make_kms(settings) as kms:
        keys = KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))
        user_keys = make_user_key_ring(settings, client, keys, clock)
        events = make_event_producer(client, keys, clock)
        yield build_login_services(settings, client, clock, kms, user_keys, events=events)


def build_process_login(settings: Settings, engines: EngineComponents, clock: Clock) -> LoginServices:
    """Build the login services on the engines of a process."""
    client, kms, user_keys = engines.dynamo.value, engines.kms.value, engines.user_keys.value
    return build_login_services(settings, client, clock, kms, user_keys, events=engines.events.value)


def build_login_services(
    settings: Settings,
    client: DynamoClient,
    clock: Clock,
    kms: Kms,
    user_keys: UserKeyRing,
    *,
    events: EventProducer,
) -> LoginServices:
    wanted, keys = settings.accounts, user_keys.tenants
    user_rows = DynamoUserStore(client, keys, user_keys)
    rows = DynamoSessionStore(client, AuthenticatedRows(keys))
    signing = SigningKeyRing(DynamoKeyStore(client), kms, clock, signing_policy(settings))
    access = AccessTokenService(signing, clock, wanted.access_token_ttl_s)
    registrations = PushRegistrations(DynamoRegistrationStore(client, keys), clock)
    deps = sessions.SessionDeps(
        rows=rows,
        users=user_rows,
        access=access,
        mac=keys.mac,
        clock=clock,
        on_signed_out=registrations.sign_out,
    )
    users = UserService(user_rows, clock, events.user_changed)
    admission = UserAdmission(users, clock, replace(ADMISSION_CACHE, fresh_s=wanted.user_cache_s))
    return LoginServices(
        users=users,
        sessions=SessionService(
            deps,
            wanted.session_idle_days * _DAY_S,
            wanted.session_max_days * _DAY_S,
            wanted.sessions_per_user,
        ),
        live=SessionCache(rows, admission, clock, kept_s=wanted.session_cache_s),
        access=access,
        admission=admission,
    )


def build_phone_login(
    settings: Settings,
    client: DynamoClient,
    clock: Clock,
    login_services: LoginServices,
    *,
    keys: KeyRing,
    limits: LoginLimiter,
    tenants: TenantReader,
) -> tuple[PhoneLogin, SmsQueue]:
    """Build login by phone and its queue. The caller must run `SmsQueue.run`."""
    wanted = settings.accounts
    is_open = wanted.sign_up == "open"
    code_sender = SmsCodeSender(
        login_services.users, make_sms_sender(settings), text=wanted.sms_text, is_sign_up_open=is_open
    )
    outbox = SmsQueue(code_sender.send, clock)
    deps = phone_login.PhoneLoginDeps(
        codes=DynamoCodeStore(client, keys),
        users=login_services.users,
        sessions=login_services.sessions,
        outbox=outbox,
        mac=keys.mac,
        limits=limits,
        tenants=tenants,
        clock=clock,
    )
    policy = phone_login.PhoneLoginPolicy(
        code_ttl_s=wanted.code_ttl_s, is_sign_up_open=is_open, sends_codes=wanted.sms != "none"
    )
    return PhoneLogin(deps, policy), outbox


def make_sms_sender(settings: Settings) -> SmsSender:
    wanted = settings.accounts
    if wanted.sms != "sns":  # with `none`, `PhoneLogin` refuses every request, so nothing is sent
        return ConsoleSms()
    from tidings.accounts.sns import SnsSms, sns_client  # noqa: PLC0415 - loads botocore, needed for SNS only

    endpoint = None if wanted.sms_endpoint == "aws" else wanted.sms_endpoint
    client = sns_client(wanted.sms_region or settings.dynamo.region, endpoint)
    return SnsSms(client.publish, wanted.sms_sender_id)


def signing_policy(settings: Settings) -> SigningPolicy:
    wanted = settings.encryption
    return SigningPolicy(
        token_life_s=settings.accounts.access_token_ttl_s,
        rotate_after_s=wanted.rotate_after_days * _DAY_S,
        refresh_s=wanted.refresh_s,
    )


def build_credentials(accounts: AccountServices, login_services: LoginServices) -> CredentialVerifierChain:
    """Build the verifier that every edge uses."""
    access = SessionTokenVerifier(login_services.access, login_services.live)
    return CredentialVerifierChain(accounts.api_keys, access, accounts.users, login_services.admission)
