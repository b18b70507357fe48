"""Revoking a credential closes its connections on every gateway within 10 s, and no others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fixtures.gateway_process import GatewayProcess, SocketDevice, connected

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
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms
from tidings.tenants.signing_key_ring import SigningKeyRing, SigningPolicy
from tidings.tenants.store import DynamoKeyStore
from tidings_wire.close_codes import CloseCode

WITHIN_S = 10.0
"""The guaranteed time until connections are closed."""


@dataclass
class Office:
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
async def office_of(house: GatewayProcess) -> AsyncIterator[Office]:
    clock = SystemClock()
    async with house.stage() as stage:
        store, kms = DynamoKeyStore(stage.client), FileKms(house.directory / ".tidings" / "tidings.key")
        access = AccessTokenService(
            SigningKeyRing(store, kms, clock, SigningPolicy(token_life_s=600)), clock, 600
        )
        keys = KeyRing(store, kms, clock, KeyPolicy())
        rows = AuthenticatedRows(keys)
        users = DynamoUserStore(stage.client, rows)
        world = sessions.SessionDeps(
            rows=DynamoSessionStore(stage.client, rows),
            users=users,
            access=access,
            mac=keys.mac,
            clock=clock,
        )
        yield Office(
            stage.tenant, stage.client, rows, UserService(users, clock), SessionService(world, 86_400)
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


async def test_revoked_credentials_lose_their_connections_on_every_gateway(house: GatewayProcess) -> None:
    await house.found()
    one, two = house.start().socket_port, house.start().socket_port
    async with office_of(house) as office, connected(house, two, "ben") as bystander:
        await by_session(office, one, two)
        await by_suspension(house, office, one, two)
        await by_sign_out(house, office, one)
        assert await bystander.ask("ping") == {}
        await by_key(house, office, one, bystander)


async def by_session(office: Office, one: int, two: int) -> None:
    token, session = await office.log_in("anna")
    other, _ = await office.log_in("anna", "laptop")
    device, stays = await let_in(one, token), await let_in(two, other)
    await office.sessions.revoke(office.tenant, UserId("anna"), session)
    assert await closed_with(device) == [CloseCode.SESSION_REVOKED]
    assert await refused_with(one, token) == Code.CREDENTIAL_INVALID
    assert await stays.ask("ping") == {}
    await office.sessions.revoke_all(office.tenant, UserId("anna"))
    assert await closed_with(stays) == [CloseCode.SESSION_REVOKED]


async def by_suspension(house: GatewayProcess, office: Office, one: int, two: int) -> None:
    token = house.token("cleo")
    here, there = await let_in(one, house.token("cleo", device="a")), await let_in(two, token)
    await office.users.suspend(office.tenant, UserId("cleo"), is_on=True)
    assert await closed_with(here, there) == [CloseCode.FORBIDDEN] * 2
    assert await refused_with(one, token) == Code.FORBIDDEN
    await office.users.suspend(office.tenant, UserId("cleo"), is_on=False)
    async with asyncio.timeout(WITHIN_S):
        while await refused_or_none(one, token):  # noqa: ASYNC110 - DynamoDB has no event to wait for
            await asyncio.sleep(0.2)


async def refused_or_none(port: int, credential: str) -> bool:
    device = await SocketDevice.open(port)
    said = await device.connect(credential)
    await device.close()
    return "code" in said


async def by_sign_out(house: GatewayProcess, office: Office, one: int) -> None:
    old = house.token("dora", ahead_s=-5)
    device = await let_in(one, old)
    await office.sessions.revoke_all(office.tenant, UserId("dora"))
    assert await closed_with(device) == [CloseCode.SESSION_REVOKED]
    assert await refused_with(one, old) == Code.CREDENTIAL_INVALID
    await (await let_in(one, house.token("dora", ahead_s=5))).close()


async def by_key(house: GatewayProcess, office: Office, one: int, bystander: SocketDevice) -> None:
    device = await let_in(one, house.token("emil"))
    phone, _ = await office.log_in("emil")
    stays = await let_in(one, phone)
    await office.retire(house.private["kid"])
    assert await closed_with(device, bystander) == [CloseCode.CREDENTIAL_INVALID] * 2
    assert await refused_with(one, house.token("emil")) == Code.CREDENTIAL_INVALID
    assert await stays.ask("ping") == {}
    await stays.close()
