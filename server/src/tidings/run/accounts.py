"""Opens what lets people in, as the settings say: tenants' settings, API keys, users' tokens."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace

from tidings.accounts import api_keys, jwks
from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.jwks import VerificationKeys
from tidings.accounts.store.api_keys import DynamoApiKeyStore
from tidings.accounts.store.signing_keys import DynamoSigningKeyStore
from tidings.accounts.user_tokens import TokenPolicy, UserTokenVerifier
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.opening import open_client
from tidings.run.fetching import open_jwks_fetcher
from tidings.run.settings.accounts import AccountsSettings
from tidings.run.settings.model import DynamoSettings
from tidings.tenants import settings as tenants
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore


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
            registered=replace(jwks.REGISTERED, refresh_s=settings.signing_key_refresh_s),
            published=replace(
                jwks.PUBLISHED,
                refresh_s=settings.jwks_refresh_s,
                unknown_s=settings.jwks_unknown_kid_s,
                outage_s=settings.jwks_outage_s,
            ),
        )
        policy = TokenPolicy(max_lifetime_s=settings.token_max_lifetime_s, cache_s=settings.token_kept_s)
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
