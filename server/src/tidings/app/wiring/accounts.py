"""What `run api` puts around the REST edge: the HTTP server, and the edge's ports joined to platform and limits."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module

from tidings.accounts import api_keys, phone_login, sessions, verification_keys
from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.credentials import CredentialVerifierChain, TenantSource, TokenPolicy, UserTokenVerifier
from tidings.accounts.jwks_http import NetworkPolicy
from tidings.accounts.model import Principal
from tidings.accounts.phone_login import PhoneLogin, SmsCodeSender, SmsQueue
from tidings.accounts.ports import LoginLimiter, SmsSender, TenantPolicyReader
from tidings.accounts.session_cache import Revocation, SessionCache
from tidings.accounts.session_tokens import AccessTokenService
from tidings.accounts.sessions import SessionService
from tidings.accounts.sms import ConsoleSms
from tidings.accounts.store.keys import DynamoApiKeyStore, DynamoSigningKeyStore
from tidings.accounts.store.sessions import DynamoCodeStore, DynamoSessionStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import ADMISSION_CACHE, UserAdmission, UserService
from tidings.accounts.verification_keys import JwksFetcher, VerificationKeys
from tidings.app.settings import Settings
from tidings.app.settings.accounts import AccountsSettings
from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring.engine_clients import key_policy, make_kms
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants import settings as tenants
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.model import Kms
from tidings.tenants.settings import TenantReader
from tidings.tenants.signing_key_ring import SigningKeyRing, SigningPolicy
from tidings.tenants.store import DynamoKeyStore, DynamoTenantStore


class LazyJwksFetcher:
    def __init__(self, settings: AccountsSettings, open_things: AsyncExitStack) -> None:
        self._settings = settings
        self._open_things = open_things
        self._opening = asyncio.Lock()
        self._fetch: JwksFetcher | None = None

    async def __call__(self, url: str, /) -> bytes:
        async with self._opening:
            fetch = self._fetch = self._fetch or await self._opened()
        return await fetch(url)

    async def _opened(self) -> JwksFetcher:
        library = await asyncio.to_thread(import_module, "tidings.accounts.jwks_http")
        options = library.FetchOptions(
            reach=NetworkPolicy(self._settings.jwks_network),
            timeout_s=self._settings.jwks_timeout_s,
            max_bytes=self._settings.jwks_max_bytes,
        )
        fetch: JwksFetcher = await self._open_things.enter_async_context(library.open_http_jwks(options))
        return fetch


@asynccontextmanager
async def open_jwks_fetcher(settings: AccountsSettings) -> AsyncIterator[LazyJwksFetcher]:
    async with AsyncExitStack() as open_things:
        yield LazyJwksFetcher(settings, open_things)


@dataclass(frozen=True, slots=True)
class AccountServices:
    tenants: TenantReader
    api_keys: ApiKeyService
    users: UserTokenVerifier


@asynccontextmanager
async def open_accounts(
    settings: AccountsSettings, client: DynamoClient, clock: Clock, rows: AuthenticatedRows
) -> AsyncIterator[AccountServices]:
    """`Credentials` is made of these and of the tokens that Tidings issues itself."""
    async with open_jwks_fetcher(settings) as fetch:
        reader = TenantReader(
            DynamoTenantStore(client, rows),
            clock,
            replace(tenants.CACHE_POLICY, fresh_s=settings.tenant_refresh_s),
        )
        keys = VerificationKeys(
            DynamoSigningKeyStore(client, rows),
            fetch,
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


def open_tables(settings: DynamoSettings) -> AbstractAsyncContextManager[DynamoClient]:
    if settings.endpoint is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "dynamo.endpoint is not set, so there are no tables to look at",
            hint='Run `tidings engines start`, or set dynamo.endpoint to "aws" or to the URL of an engine.',
        )
    return open_client(settings.endpoint, settings.region, settings.table_prefix)


_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginServices:
    """`live.validate` after `access.verify`: one tells who, the other whether the session is still on."""

    users: UserService
    sessions: SessionService
    live: SessionCache
    access: AccessTokenService
    admission: UserAdmission


@asynccontextmanager
async def open_login_services(
    settings: Settings, client: DynamoClient, clock: Clock
) -> AsyncIterator[LoginServices]:
    """With a key service of its own, for commands. A process that has one says so to `build_login_services`."""
    async with make_kms(settings) as kms:
        keys = KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))
        yield build_login_services(settings, client, clock, kms, keys)


def build_login_services(
    settings: Settings, client: DynamoClient, clock: Clock, kms: Kms, keys: KeyRing
) -> LoginServices:
    wanted = settings.accounts
    authentic = AuthenticatedRows(keys)
    user_rows, rows = DynamoUserStore(client, authentic), DynamoSessionStore(client, authentic)
    signing = SigningKeyRing(DynamoKeyStore(client), kms, clock, signing_policy(settings))
    access = AccessTokenService(signing, clock, wanted.access_token_ttl_s)
    world = sessions.SessionDeps(rows=rows, users=user_rows, access=access, keys=keys, clock=clock)
    users = UserService(user_rows, clock)
    admission = UserAdmission(users, clock, replace(ADMISSION_CACHE, fresh_s=wanted.user_cache_s))
    return LoginServices(
        users=users,
        sessions=SessionService(
            world,
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
    tenants: TenantPolicyReader,
) -> tuple[PhoneLogin, SmsQueue]:
    """The outbox is to be kept running: `SmsQueue.run`."""
    wanted = settings.accounts
    is_open = wanted.sign_up == "open"
    courier = SmsCodeSender(
        login_services.users, make_sms_sender(settings), text=wanted.sms_text, is_sign_up_open=is_open
    )
    outbox = SmsQueue(courier, clock)
    world = phone_login.PhoneLoginDeps(
        codes=DynamoCodeStore(client, keys),
        users=login_services.users,
        sessions=login_services.sessions,
        outbox=outbox,
        keys=keys,
        limits=limits,
        tenants=tenants,
        clock=clock,
    )
    policy = phone_login.PhoneLoginPolicy(
        code_ttl_s=wanted.code_ttl_s, is_sign_up_open=is_open, sends_codes=wanted.sms != "none"
    )
    return PhoneLogin(world, policy), outbox


def make_sms_sender(settings: Settings) -> SmsSender:
    wanted = settings.accounts
    if wanted.sms != "sns":  # `none`: `PhoneLogin` makes no code, so nothing reaches the sender
        return ConsoleSms()
    endpoint = None if wanted.sms_endpoint == "aws" else wanted.sms_endpoint
    from tidings.accounts.sms import SnsSms, sns_client  # noqa: PLC0415 - it loads botocore

    return SnsSms(sns_client(wanted.sms_region or settings.dynamo.region, endpoint), wanted.sms_sender_id)


def signing_policy(settings: Settings) -> SigningPolicy:
    wanted = settings.encryption
    return SigningPolicy(
        token_life_s=settings.accounts.access_token_ttl_s,
        rotate_after_s=wanted.rotate_after_days * _DAY_S,
        refresh_s=wanted.refresh_s,
    )


class SessionTokenVerifier:
    """Access tokens of sessions that are still on."""

    def __init__(self, access: AccessTokenService, live: SessionCache) -> None:
        self._access = access
        self._live = live

    async def verify(self, token: str) -> Principal:
        principal = await self._access.verify(token)
        await self._live.validate(principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        await self._live.validate(principal)

    def evict(self, revocation: Revocation) -> None:
        if revocation.session is not None:
            self._live.evict(revocation.tenant, revocation.session)


def build_credentials(accounts: AccountServices, login_services: LoginServices) -> CredentialVerifierChain:
    """The door that every edge has: API keys, tokens of sessions that are on, tokens of the tenants' own servers."""
    own = SessionTokenVerifier(login_services.access, login_services.live)
    return CredentialVerifierChain(accounts.api_keys, own, accounts.users, login_services.admission)


class PhoneLoginTenants:
    def __init__(self, tenants: TenantSource) -> None:
        self._tenants = tenants

    async def phone_prefixes(self, tenant: TenantId, /) -> Sequence[str] | None:
        found = await self._tenants.find(tenant)
        if found is None or not found.settings.has_phone_login:
            return None
        return found.settings.phone_prefixes

    async def may_find_by_phone(self, tenant: TenantId, /) -> bool:
        found = await self._tenants.find(tenant)
        return found is not None and found.settings.has_phone_search
