"""Joins what tells who somebody is: API keys and users' tokens of a tenant."""

from tidings.accounts.api_keys import ApiKeys
from tidings.accounts.credentials import AccessTokens, Credentials
from tidings.accounts.jwks import VerificationKeys
from tidings.accounts.jwks_http import FetchOptions, HttpJwks, open_http_jwks
from tidings.accounts.model import Principal
from tidings.accounts.store import DynamoApiKeyStore, DynamoSigningKeyStore
from tidings.accounts.user_tokens import TokenPolicy, UserTokens
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import Client
from tidings.run.held import Held
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore


def jwks_fetcher() -> Held[HttpJwks]:
    return Held("jwks", lambda: open_http_jwks(FetchOptions()))


def tenant_reader(client: Client, clock: Clock) -> TenantReader:
    return TenantReader(DynamoTenantStore(client), clock)


def credentials(
    client: Client, tenants: TenantReader, jwks: HttpJwks, access: AccessTokens, clock: Clock
) -> Credentials:
    keys = VerificationKeys(DynamoSigningKeyStore(client), jwks, clock)
    users = UserTokens(tenants, keys, clock, TokenPolicy())
    return Credentials(ApiKeys(DynamoApiKeyStore(client), clock), access, users)


class NoAccessTokens:
    """For an installation that issues none."""

    async def verify(self, token: str) -> Principal:
        del token
        raise TidingsError(Code.CREDENTIAL_INVALID, "The credential is not one of ours.")
