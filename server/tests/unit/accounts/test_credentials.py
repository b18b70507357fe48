"""The chain sends each kind of credential to its own verifier, and none is accepted by another."""

import json
from dataclasses import dataclass, field

import pytest
from fixtures.memory_accounts import MemoryApiKeyStore, claims_of, mint, pair
from joserfc import jwt
from joserfc.jwk import OctKey
from unit.accounts.accounts_env import AccountsUnitEnv

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.model import Principal, Revocation, Scope
from tidings.accounts.rules import CredentialRejectedError, to_public_error
from tidings.accounts.session_tokens import ACCESS_JWT_TYPE, ISSUER
from tidings.accounts.users import UserAdmission
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

OWN_SECRET = OctKey.import_key({"kty": "oct", "k": "b3VyIG93biBzZWNyZXQsIGFzIGxvbmcgYXMgaXQgbXVzdA"})


@dataclass
class OwnTokens:
    """Access tokens as Tidings signs them: HS256 with a secret of the installation."""

    asked: list[str] = field(default_factory=list)

    async def verify(self, token: str) -> Principal:
        self.asked.append(token)
        try:
            claims = jwt.decode(token, OWN_SECRET, algorithms=["HS256"]).claims
        except Exception as error:
            raise to_public_error(CredentialRejectedError("not ours")) from error
        return Principal(tenant=TenantId(claims["tenant"]), user=UserId(claims["sub"]))

    async def recheck(self, principal: Principal) -> None:
        """Accept every principal."""

    def evict(self, revocation: Revocation) -> None:
        """Do nothing: there is no cache."""

    def mint(self, **header: object) -> str:
        claims = claims_of(iss=ISSUER, sub="phone-user")
        return jwt.encode({"alg": "HS256", "typ": ACCESS_JWT_TYPE, "kid": "k1", **header}, claims, OWN_SECRET)


class RecordedAdmission(UserAdmission):
    """Admits every user and records them."""

    def __init__(self) -> None:
        self.seen: list[UserId | None] = []

    async def check(self, principal: Principal) -> None:
        self.seen.append(principal.user)

    def evict(self, tenant: TenantId, user: UserId) -> None:
        """Do nothing: there is no cache."""


@dataclass
class CredentialsEnv:
    accounts: AccountsUnitEnv = field(default_factory=AccountsUnitEnv)
    own: OwnTokens = field(default_factory=OwnTokens)
    admitted: RecordedAdmission = field(default_factory=RecordedAdmission)

    def __post_init__(self) -> None:
        self.api_keys = ApiKeyService(MemoryApiKeyStore(), self.accounts.clock)
        self.credentials = CredentialVerifierChain(
            self.api_keys, self.own, self.accounts.users, self.admitted
        )

    async def code(self, bearer: str) -> Code:
        with pytest.raises(TidingsError) as caught:
            await self.credentials.verify(bearer)
        return caught.value.code


@pytest.fixture
def env() -> CredentialsEnv:
    return CredentialsEnv()


async def test_each_kind_of_credential_has_its_own_verifier(env: CredentialsEnv) -> None:
    issued = await env.api_keys.issue(TenantId("acme"), "backend", [Scope.USERS])
    server = await env.credentials.verify(issued.text.reveal())
    assert (server.user, server.scopes) == (None, frozenset({Scope.USERS}))
    assert (await env.credentials.verify(env.own.mint())).user == "phone-user"
    assert len(env.own.asked) == 1
    assert (await env.credentials.verify(env.accounts.token())).user == "anna"
    assert len(env.own.asked) == 1


async def test_a_tenants_key_signs_no_token_of_ours(env: CredentialsEnv) -> None:
    forged = env.accounts.token(header={"typ": ACCESS_JWT_TYPE}, iss=ISSUER)
    assert await env.code(forged) is Code.CREDENTIAL_INVALID
    assert env.own.asked == [forged]


async def test_an_access_token_without_its_type_or_issuer_is_not_verified_as_one(env: CredentialsEnv) -> None:
    for token in (env.own.mint(typ="JWT"), env.own.mint(typ="AT+JWT")):
        assert await env.code(token) is Code.CREDENTIAL_INVALID
    assert env.own.asked == []


async def test_the_public_key_of_a_tenant_does_not_verify_as_an_hmac_secret(env: CredentialsEnv) -> None:
    public = {name: env.accounts.key[name] for name in ("kty", "crv", "x")}
    for secret in (env.accounts.key["x"], json.dumps(public)):
        key = OctKey.import_key(secret.encode())
        for header in ({"typ": ACCESS_JWT_TYPE}, {"typ": "JWT"}):
            claims = claims_of(env.accounts.clock.now_s, iss=ISSUER)
            token = jwt.encode({"alg": "HS256", "kid": "k1", **header}, claims, key)
            assert await env.code(token) is Code.CREDENTIAL_INVALID


async def test_a_user_token_with_the_type_of_access_tokens_is_accepted(env: CredentialsEnv) -> None:
    token = env.accounts.token(header={"typ": ACCESS_JWT_TYPE}, iss="https://id.acme.example")
    assert (await env.credentials.verify(token)).user == "anna"


async def test_a_credential_with_the_prefix_of_api_keys_is_verified_only_as_one(env: CredentialsEnv) -> None:
    assert await env.code("tidings_sk." + env.accounts.token()) is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "bearer", ["", "Bearer x", "a.b.c", "x" * 10_000_000, "tidings_sk", "\x00", "e30.e30.e30"]
)
async def test_invalid_credentials_are_refused(env: CredentialsEnv, bearer: str) -> None:
    assert await env.code(bearer) is Code.CREDENTIAL_INVALID


async def test_a_duplicate_issuer_claim_is_refused(env: CredentialsEnv) -> None:
    claims = json.dumps(claims_of(env.accounts.clock.now_s, iss="x"))[:-1] + f', "iss": "{ISSUER}"}}'
    token = mint(env.accounts.key, claims, typ=ACCESS_JWT_TYPE)
    assert await env.code(token) is Code.CREDENTIAL_INVALID
    assert env.own.asked == []


async def test_an_unavailable_key_store_is_distinguished_from_an_invalid_credential(
    env: CredentialsEnv,
) -> None:
    env.accounts.registered.is_down = True
    assert await env.code(env.accounts.token(pair("k1"))) is Code.KEYS_UNAVAILABLE


async def test_all_credentials_of_a_deleted_tenant_are_refused_at_once(env: CredentialsEnv) -> None:
    issued = await env.api_keys.issue(TenantId("acme"), "backend", [Scope.USERS])
    bearers = [issued.text.reveal(), env.own.mint(), env.accounts.token()]
    principals = [await env.credentials.verify(bearer) for bearer in bearers]
    env.credentials.evict(Revocation(tenant=TenantId("other"), from_ms=0))
    env.credentials.evict(Revocation(tenant=TenantId("acme"), user=UserId("anna"), from_ms=0))
    assert [await env.credentials.verify(bearer) for bearer in bearers] == principals
    env.credentials.evict(Revocation(tenant=TenantId("acme"), from_ms=0))
    assert [await env.code(bearer) for bearer in bearers] == [Code.CREDENTIAL_INVALID] * 3
    for principal in principals[1:]:
        with pytest.raises(TidingsError):
            await env.credentials.recheck(principal)
