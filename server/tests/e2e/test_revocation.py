"""Revoking a credential closes its connections on every gateway within 10 s, and no others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fixtures.gateway_process import GatewayProcess, SocketDevice, connected
from fixtures.use_cases import user_key_ring

from tidings.accounts import sessions
from tidings.accounts.model import Device as Installation
from tidings.accounts.model import SessionId
from tidings.accounts.session_tokens import AccessTokenService
from tidings.accounts.sessions import SessionService
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.accounts.store.sessions import DynamoSessionStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.push.registrations import PushRegistrations
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms
from tidings.tenants.signing_key_ring import SigningKeyRing, SigningPolicy
from tidings.tenants.store import DynamoKeyStore
from tidings_wire.close_codes import CloseCode

WITHIN_S = 10.0
"""The guaranteed time until connections are closed."""


@dataclass
class AdminEnv:
    """The operations of the tenant's server and of operators, run outside of the gateways."""

    tenant: TenantId
    client: DynamoClient
    rows: AuthenticatedRows
    users: UserService
    sessions: SessionService

    async def log_in(self, user: str, device: str = "phone") -> tuple[str, SessionId]:
        found = await self.users.admitted(self.tenant, UserId(user))
        grant = await self.sessions.begin(found, Installation(id=DeviceId(f"{user}-{device}")))
        return grant.access_token.reveal(), grant.session.session

    async def retire(self, kid: str) -> None:
        clock = SystemClock()
        await SigningKeyService(DynamoSigningKeyStore(self.client, self.rows), clock).retire(
            self.tenant, kid, clock.now_ms()
        )


@asynccontextmanager
async def admin_env(env: GatewayProcess) -> AsyncIterator[AdminEnv]:
    clock = SystemClock()
    async with env.use_cases() as use_cases:
        store, kms = DynamoKeyStore(use_cases.client), FileKms(env.directory / ".tidings" / "tidings.key")
        access = AccessTokenService(
            SigningKeyRing(store, kms, clock, SigningPolicy(token_life_s=600)), clock, 600
        )
        keys = KeyRing(store, kms, clock, KeyPolicy())
        rows = AuthenticatedRows(keys)
        users = DynamoUserStore(use_cases.client, keys, user_key_ring(use_cases.client, keys))
        deps = sessions.SessionDeps(
            rows=DynamoSessionStore(use_cases.client, rows),
            users=users,
            access=access,
            mac=keys.mac,
            clock=clock,
            on_signed_out=PushRegistrations(DynamoRegistrationStore(use_cases.client, keys), clock).sign_out,
        )
        yield AdminEnv(
            use_cases.tenant,
            use_cases.client,
            rows,
            UserService(users, clock),
            SessionService(deps, 86_400),
        )


async def let_in(port: int, credential: str) -> SocketDevice:
    device = await SocketDevice.open(port)
    assert "user" in await device.connect(credential)
    assert "resumed" in await device.push()
    return device


async def refused_with(port: int, credential: str) -> str:
    device = await SocketDevice.open(port)
    code: str = (await device.connect(credential))["code"]
    await device.close()
    return code


async def closed_with(*devices: SocketDevice) -> list[int | None]:
    async with asyncio.timeout(WITHIN_S):
        return [code for code, _ in await asyncio.gather(*(device.end() for device in devices))]


async def test_revoked_credentials_lose_their_connections_on_every_gateway(env: GatewayProcess) -> None:
    await env.create_tenant()
    one, two = env.start().socket_port, env.start().socket_port
    async with admin_env(env) as admin, connected(env, two, "ben") as bystander:
        await by_session(admin, one, two)
        await by_suspension(env, admin, one, two)
        await by_sign_out(env, admin, one)
        assert await bystander.ask("ping") == {}
        await by_key(env, admin, one, bystander)


async def by_session(admin: AdminEnv, one: int, two: int) -> None:
    token, session = await admin.log_in("anna")
    other, _ = await admin.log_in("anna", "laptop")
    device, stays = await let_in(one, token), await let_in(two, other)
    await admin.sessions.revoke(admin.tenant, UserId("anna"), session)
    assert await closed_with(device) == [CloseCode.SESSION_REVOKED]
    assert await refused_with(one, token) == Code.CREDENTIAL_INVALID
    assert await stays.ask("ping") == {}
    await admin.sessions.revoke_all(admin.tenant, UserId("anna"))
    assert await closed_with(stays) == [CloseCode.SESSION_REVOKED]


async def by_suspension(env: GatewayProcess, admin: AdminEnv, one: int, two: int) -> None:
    token = env.token("cleo")
    here, on_second = await let_in(one, env.token("cleo", device="a")), await let_in(two, token)
    await admin.users.suspend(admin.tenant, UserId("cleo"), is_on=True)
    assert await closed_with(here, on_second) == [CloseCode.FORBIDDEN] * 2
    assert await refused_with(one, token) == Code.FORBIDDEN
    await admin.users.suspend(admin.tenant, UserId("cleo"), is_on=False)
    async with asyncio.timeout(WITHIN_S):
        while await refused_or_none(one, token):  # noqa: ASYNC110 - DynamoDB has no event to wait for
            await asyncio.sleep(0.2)


async def refused_or_none(port: int, credential: str) -> bool:
    device = await SocketDevice.open(port)
    answer = await device.connect(credential)
    await device.close()
    return "code" in answer


async def by_sign_out(env: GatewayProcess, admin: AdminEnv, one: int) -> None:
    old = env.token("dora", ahead_s=-5)
    device = await let_in(one, old)
    await admin.sessions.revoke_all(admin.tenant, UserId("dora"))
    assert await closed_with(device) == [CloseCode.SESSION_REVOKED]
    assert await refused_with(one, old) == Code.CREDENTIAL_INVALID
    await (await let_in(one, env.token("dora", ahead_s=5))).close()


async def by_key(env: GatewayProcess, admin: AdminEnv, one: int, bystander: SocketDevice) -> None:
    device = await let_in(one, env.token("emil"))
    phone, _ = await admin.log_in("emil")
    stays = await let_in(one, phone)
    await admin.retire(env.private["kid"])
    assert await closed_with(device, bystander) == [CloseCode.CREDENTIAL_INVALID] * 2
    assert await refused_with(one, env.token("emil")) == Code.CREDENTIAL_INVALID
    assert await stays.ask("ping") == {}
    await stays.close()
