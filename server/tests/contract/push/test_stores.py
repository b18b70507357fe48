"""Alerts, preferences, results and providers on both engines."""

import asyncio

from fixtures.apns_server import ApnsServer
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from fixtures.web_push_server import WebPushServer
from msgspec.structs import replace

from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, DeviceId
from tidings.platform.dynamo.requests import Query
from tidings.push.model import (
    PushAction,
    PushAttempt,
    PushKind,
    PushOutcome,
    PushPreferences,
    PushResult,
    QuietHours,
    ShownAlert,
)
from tidings.push.provider_config import ApnsConfig
from tidings.push.providers_cache import PushProviders, PushProviderService
from tidings.push.store.alerts import DynamoAlertStore
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.results import DynamoResultStore
from tidings.schema.tables.patterns import push as patterns

CHAT = ChatId("c1")


async def test_an_alert_is_never_replaced_by_an_older_one(use_cases: UseCaseEnv) -> None:
    store, chat = DynamoAlertStore(use_cases.client), ChatKey(use_cases.tenant, CHAT)
    assert await store.read(chat, ANNA) == (None, PushPreferences())
    newest = ShownAlert(sequence=7, alerted_sequence=6, alerted_ms=1_000)
    for _ in range(2):
        await store.raise_alert(chat, ANNA, newest)
    await store.raise_alert(chat, ANNA, ShownAlert(sequence=5, alerted_sequence=5, alerted_ms=2_000))
    assert (await store.read(chat, ANNA)).alert == newest
    assert (await store.read(chat, BEN)).alert is None


async def test_preferences_are_stored_as_given(use_cases: UseCaseEnv) -> None:
    store, chat = DynamoAlertStore(use_cases.client), ChatKey(use_cases.tenant, CHAT)
    given = PushPreferences(
        notify="mentions",
        time_zone="Asia/Kathmandu",
        quiet_hours=QuietHours(start=1_320, end=420, days=(0, 6)),
    )
    await store.put_preferences(use_cases.tenant, ANNA, given, 1_000)
    assert (await store.read(chat, ANNA)).preferences == given
    assert await store.preferences(use_cases.tenant, ANNA) == given


async def test_results_are_read_by_recipient_and_by_message(use_cases: UseCaseEnv) -> None:
    store, chat = DynamoResultStore(use_cases.client), ChatKey(use_cases.tenant, CHAT)
    attempt = PushAttempt(at_ms=5, action=PushAction.ALERT, status=503, answer="busy")
    sent = PushResult(
        tenant=use_cases.tenant,
        chat=CHAT,
        sequence=7,
        user=ANNA,
        device=DeviceId("phone"),
        outcome=PushOutcome.RETRYING,
        decided_ms=9_000_000_000_000,
        provider=PushKind.APNS,
        collapse_id="c1",
        attempts=(attempt,),
    )
    skipped = replace(
        sent, user=BEN, device=None, outcome=PushOutcome.SKIPPED, reason="read: x", provider=None, attempts=()
    )
    await store.put([sent, skipped, replace(sent, sequence=8)])
    assert list(await store.of_recipient(chat, 7, ANNA)) == [sent]
    assert {each.user for each in await store.of_message(chat, 7)} == {ANNA, BEN}
    again = replace(sent, outcome=PushOutcome.SENT, attempts=(attempt, replace(attempt, status=200)))
    await store.put([again])
    assert list(await store.of_recipient(chat, 7, ANNA)) == [again]


async def test_of_many_attempts_the_newest_are_kept(use_cases: UseCaseEnv) -> None:
    store, chat = DynamoResultStore(use_cases.client), ChatKey(use_cases.tenant, CHAT)
    attempts = tuple(PushAttempt(at_ms=n, action=PushAction.ALERT, status=503) for n in range(50))
    await store.put(
        [
            PushResult(
                tenant=use_cases.tenant,
                chat=CHAT,
                sequence=1,
                user=ANNA,
                device=DeviceId("phone"),
                outcome=PushOutcome.RETRYING,
                decided_ms=9_000_000_000_000,
                attempts=attempts,
            )
        ]
    )
    (found,) = await store.of_recipient(chat, 1, ANNA)
    assert found.attempts == attempts[-20:]


async def test_credentials_are_encrypted_and_rotate_without_a_gap(use_cases: UseCaseEnv) -> None:
    store = DynamoProviderStore(use_cases.client, use_cases.ring)
    service = PushProviderService(store, SystemClock())
    apns = ApnsServer()
    for number in range(1, 5):
        await service.set(use_cases.tenant, apns.config(f"KEY000000{number}"))
    found = (await service.read(use_cases.tenant))[PushKind.APNS]
    assert isinstance(found.config, ApnsConfig)
    assert [key.key_id for key in found.config.keys] == ["KEY0000004", "KEY0000003", "KEY0000002"]
    assert found.version == 4
    query = Query(condition="tenant = :t", values={":t": use_cases.tenant})
    (item,) = [
        each
        for each in (await use_cases.client.query(patterns.LIST_PROVIDERS, query)).items
        if each["item"].startswith("push#")
    ]
    assert b"PRIVATE KEY" not in item["config"]
    await service.set(use_cases.tenant, apns.config("KEY0000009"), keeps_former=False)
    only = (await service.read(use_cases.tenant))[PushKind.APNS].config
    assert isinstance(only, ApnsConfig)
    assert len(only.keys) == 1


async def test_concurrent_changes_of_a_provider_lose_none(use_cases: UseCaseEnv) -> None:
    service = PushProviderService(DynamoProviderStore(use_cases.client, use_cases.ring), SystemClock())
    apns, browsers = ApnsServer(), WebPushServer()
    await asyncio.gather(
        *(service.set(use_cases.tenant, apns.config(f"KEY000000{n}")) for n in range(1, 4)),
        service.set(use_cases.tenant, browsers.config()),
    )
    found = await PushProviders(DynamoProviderStore(use_cases.client, use_cases.ring), SystemClock()).of(
        use_cases.tenant
    )
    assert set(found) == {PushKind.APNS, PushKind.WEB_PUSH}
    config = found[PushKind.APNS].config
    assert isinstance(config, ApnsConfig)
    assert {key.key_id for key in config.keys} == {"KEY0000001", "KEY0000002", "KEY0000003"}
