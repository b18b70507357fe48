"""Registered devices, preferences, the badge and results over HTTP, on both engines."""

from typing import Any

import pytest
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from fixtures.web_push_server import WebPushServer

from tidings.accounts.model import Principal, Scope, SessionId
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, DeviceId, UserId
from tidings.push.model import (
    PushAction,
    PushAttempt,
    PushKind,
    PushOutcome,
    PushResult,
    PushTarget,
)
from tidings.push.providers_cache import PushProviderService
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.push.store.results import DynamoResultStore

WEB_PUSH = {
    "endpoint": "https://push.example.com/1",
    "keys": {"p256dh": "B" * 87, "auth": "a" * 22},
    "expirationTime": None,
}
APNS = {"token": "AB" * 32, "topic": "com.example.chat"}
PATH = "/v1/devices/phone/push"


async def registered(api: RestApp, user: UserId) -> list[PushTarget]:
    store = DynamoRegistrationStore(api.use_cases.client, api.use_cases.ring)
    return [each.target for each in await store.list(api.use_cases.tenant, user)]


@pytest.mark.parametrize(
    "body", [{"fcm": {"token": "t"}}, {"apns": APNS}, {"web_push": WEB_PUSH}, {"http": {"token": "t"}}]
)
async def test_a_device_is_registered_and_removed(use_cases: UseCaseEnv, body: Any) -> None:
    api = RestApp(use_cases)
    anna = api.user(ANNA)
    await anna.ok("PUT", PATH, body)
    assert len(await registered(api, ANNA)) == 1
    for _ in range(2):
        await anna.ok("DELETE", PATH)
    assert await registered(api, ANNA) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"fcm": {"token": "t"}, "apns": APNS},
        {"apns": APNS | {"token": "not hexadecimal" * 5}},
        {"web_push": WEB_PUSH | {"endpoint": "ftp://push.example.com"}},
        {"web_push": WEB_PUSH | {"endpoint": "https://[x"}},
        {"fcm": {"token": "t"}, "locale": "not a locale"},
    ],
)
async def test_a_wrong_body_is_refused(use_cases: UseCaseEnv, body: Any) -> None:
    api = RestApp(use_cases)
    assert await api.user(ANNA).code("PUT", PATH, body) is Code.REQUEST_INVALID
    assert await registered(api, ANNA) == []


async def test_a_credential_of_one_device_cannot_register_another(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    api.ring.known["laptop"] = Principal(
        tenant=use_cases.tenant, user=BEN, device=DeviceId("laptop"), session=SessionId("0" * 26)
    )
    ben = api.holder("laptop")
    for method, body in (("PUT", {"fcm": {"token": "t"}}), ("DELETE", None)):
        assert await ben.code(method, PATH, body) is Code.FORBIDDEN
    await ben.ok("PUT", "/v1/devices/laptop/push", {"fcm": {"token": "t"}})
    assert len(await registered(api, BEN)) == 1


async def test_the_badge_is_the_sum_of_chats_and_inboxes(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben = api.user(ANNA), api.user(BEN)
    chats = [
        (await ben.ok("POST", "/v1/chats", {"type": "direct", "user": user}))["id"] for user in (ANNA, "cleo")
    ]
    for number in range(3):
        body = {"text": "hi", "client_message_id": f"m{number}"}
        await ben.ok("POST", f"/v1/chats/{chats[0]}/messages", body)
    await api.settle()
    assert await anna.ok("GET", "/v1/me/badge") == {
        "badge": 3,
        "messages": 3,
        "chats": 1,
        "notifications": 0,
    }
    server = api.server(Scope.NOTIFICATIONS)
    await server.ok("PUT", "/v1/inboxes/default", {"title": "News"})
    sent = {"user_ids": [ANNA], "message": {"title": "hi"}}
    await server.ok("POST", "/v1/inboxes/default/notifications", sent)
    await api.work()
    api = RestApp(use_cases)  # a process whose cache of inboxes is empty
    assert (await api.user(ANNA).ok("GET", "/v1/me/badge"))["badge"] == 4
    await api.user(ANNA).ok("PUT", f"/v1/chats/{chats[0]}/read", {"sequence": 4})
    assert (await api.user(ANNA).ok("GET", "/v1/me/badge"))["badge"] == 1


async def test_preferences_are_read_as_they_were_set(use_cases: UseCaseEnv) -> None:
    anna = RestApp(use_cases).user(ANNA)
    path = "/v1/me/push-preferences"
    assert await anna.ok("GET", path) == {"notify": "all", "time_zone": "UTC"}
    given = {
        "notify": "mentions",
        "time_zone": "Europe/Berlin",
        "quiet_hours": {"start": "22:00", "end": "07:30", "days": [0, 4]},
    }
    await anna.ok("PUT", path, given)
    assert await anna.ok("GET", path) == given
    assert await anna.code("PUT", path, {"time_zone": "Berlin"}) is Code.REQUEST_INVALID
    assert (
        await anna.code("PUT", path, {"quiet_hours": {"start": "25:00", "end": "07:30"}})
        is Code.REQUEST_INVALID
    )
    assert await anna.ok("GET", path) == given


async def test_a_chat_has_its_own_choice(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna = api.user(ANNA)
    chat = (await anna.ok("POST", "/v1/chats", {"type": "direct", "user": BEN}))["id"]
    await anna.ok("POST", f"/v1/chats/{chat}/messages", {"text": "hi", "client_message_id": "m"})
    await api.settle()
    for mode in ("mentions", "none", "all"):
        await anna.ok("PATCH", f"/v1/chats/{chat}/settings", {"notify": mode})
        (listed,) = (await anna.ok("GET", "/v1/chats"))["chats"]
        assert listed["notify"] == mode


async def test_the_key_for_browsers_is_shown_once_it_exists(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    assert await api.user(ANNA).code("GET", "/v1/push/web-push-key") is Code.PUSH_NOT_CONFIGURED
    config = WebPushServer().config()
    store = DynamoProviderStore(use_cases.client, use_cases.ring)
    await PushProviderService(store, use_cases.clock).set(use_cases.tenant, config)
    shown = await RestApp(use_cases).user(ANNA).ok("GET", "/v1/push/web-push-key")
    assert shown == {"public_key": config.keys[0].public_key}


async def test_the_tenants_server_reads_what_happened(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    attempt = PushAttempt(at_ms=1_790_000_000_000, action=PushAction.ALERT, status=410, answer="Unregistered")
    result = PushResult(
        tenant=use_cases.tenant,
        chat=ChatId("c1"),
        sequence=7,
        user=ANNA,
        device=DeviceId("phone"),
        outcome=PushOutcome.GONE,
        decided_ms=1_790_000_000_000,
        provider=PushKind.APNS,
        attempts=(attempt,),
    )
    await DynamoResultStore(use_cases.client).put([result])
    found = await api.server(Scope.USERS).ok("GET", "/v1/messages/c1.7/pushes")
    assert found["results"][0]["attempts"][0]["answer"] == "Unregistered"
    assert await api.user(ANNA).code("GET", "/v1/messages/c1.7/pushes") is Code.FORBIDDEN
    assert await api.server(Scope.USERS).code("GET", "/v1/messages/c1.8/pushes") is Code.MESSAGE_NOT_FOUND
