"""Registrations of devices on both engines: one owner per token, takeover, removal at sign-out."""

import asyncio

import pytest
from fixtures.accounts_env import LAPTOP, AccountsEnv, OpenAccountsEnv
from msgspec.structs import replace

from tidings.accounts.model import Device
from tidings.kernel.ids import DeviceId, UserId
from tidings.platform.dynamo.requests import Query
from tidings.push.model import ApnsTarget, FcmTarget, PushRegistration, PushTarget, WebPushTarget
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.schema.tables.items.push import MAX_DEVICES
from tidings.schema.tables.patterns import push as patterns

ANNA, BEN, PHONE = UserId("anna"), UserId("ben"), DeviceId("phone")
FCM = FcmTarget(token="t1")
APNS = ApnsTarget(token="ab" * 32, topic="com.example.chat")
WEB = WebPushTarget(endpoint="https://push.example.com/1", p256dh="B" * 87, auth="a" * 22)


def registration(
    accounts: AccountsEnv, user: UserId = ANNA, device: DeviceId = PHONE, target: PushTarget = FCM
) -> PushRegistration:
    return PushRegistration(
        tenant=accounts.tenant, user=user, device=device, target=target, locale="de", registered_ms=0
    )


async def targets(accounts: AccountsEnv, user: UserId) -> dict[str, PushTarget]:
    store = DynamoRegistrationStore(accounts.client, accounts.keys)
    return {each.device: each.target for each in await store.list(accounts.tenant, user)}


@pytest.mark.parametrize("target", [FCM, APNS, WEB], ids=["fcm", "apns", "web_push"])
async def test_a_registration_is_stored_as_given(open_accounts: OpenAccountsEnv, target: PushTarget) -> None:
    async with open_accounts() as accounts:
        given = registration(accounts, target=target)
        for _ in range(2):
            await accounts.registrations.register(given)
        store = DynamoRegistrationStore(accounts.client, accounts.keys)
        (found,) = await store.list(accounts.tenant, ANNA)
        assert found == replace(given, registered_ms=accounts.clock.now_ms())


async def test_the_table_contains_no_token_in_clear(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.registrations.register(registration(accounts, target=APNS))
        query = Query(
            condition="user_id = :u AND begins_with(#i, :p)",
            values={":u": f"{accounts.tenant}#anna", ":p": "d#"},
            names={"#i": "item"},
        )
        (item,) = (await accounts.client.query(patterns.LIST_REGISTRATIONS, query)).items
        assert APNS.token not in str(item)
        assert APNS.token.encode() not in item["target"]


async def test_another_user_takes_the_token_over(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.registrations.register(registration(accounts, ANNA))
        await accounts.registrations.register(registration(accounts, BEN))
        assert await targets(accounts, ANNA) == {}
        assert await targets(accounts, BEN) == {PHONE: FCM}


async def test_of_many_concurrent_registrations_of_a_token_one_stays(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        users = [UserId(f"u{n}") for n in range(6)]
        await asyncio.gather(*(accounts.registrations.register(registration(accounts, u)) for u in users))
        owners = [user for user in users if await targets(accounts, user)]
        assert len(owners) == 1


async def test_a_new_token_releases_the_old_one(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.registrations.register(registration(accounts, ANNA))
        await accounts.registrations.register(registration(accounts, ANNA, target=FcmTarget(token="t2")))
        await accounts.registrations.register(registration(accounts, BEN))
        assert await targets(accounts, ANNA) == {PHONE: FcmTarget(token="t2")}
        assert await targets(accounts, BEN) == {PHONE: FCM}


async def test_a_removal_for_an_old_token_keeps_the_new_one(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        store = DynamoRegistrationStore(accounts.client, accounts.keys)
        await accounts.registrations.register(registration(accounts))
        await accounts.registrations.register(registration(accounts, target=APNS))
        assert not await store.remove(registration(accounts))
        assert await targets(accounts, ANNA) == {PHONE: APNS}
        assert await store.remove(registration(accounts, target=APNS))
        assert not await store.remove(registration(accounts, target=APNS))


async def test_a_further_device_replaces_the_oldest(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        for n in range(MAX_DEVICES + 1):
            accounts.clock.now_s += 1
            given = registration(accounts, device=DeviceId(f"d{n}"), target=FcmTarget(token=f"t{n}"))
            await accounts.registrations.register(given)
        assert set(await targets(accounts, ANNA)) == {f"d{n}" for n in range(1, MAX_DEVICES + 1)}


async def test_the_end_of_a_session_removes_the_registration_of_its_device(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()
        user, session = login.user.user, login.grant.session.session
        for device, target in ((LAPTOP.id, WEB), (PHONE, FCM)):
            await accounts.registrations.register(registration(accounts, user, device, target))
        await accounts.sessions.revoke(accounts.tenant, user, session)
        assert await targets(accounts, user) == {PHONE: FCM}
        await accounts.sessions.revoke_all(accounts.tenant, user)
        assert await targets(accounts, user) == {}


async def test_a_device_that_logs_in_again_keeps_its_registration(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()
        user = login.user
        for device, target in ((LAPTOP.id, WEB), (PHONE, FCM)):
            await accounts.registrations.register(registration(accounts, user.user, device, target))
        await accounts.sessions.begin(user, LAPTOP)
        await accounts.sessions.begin(user, Device(id=PHONE))
        assert await targets(accounts, user.user) == {LAPTOP.id: WEB, PHONE: FCM}
