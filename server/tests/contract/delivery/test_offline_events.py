"""Offline events on a real Kafka, decoded by a consumer that has only the published schema."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from contract.kafka.harness import read_log
from fixtures.delivery_env import DeliveryEnv
from fixtures.engines import Namespace
from fixtures.ledger_units import assert_declared, spent, without
from fixtures.topics import make_topics
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, by
from msgspec.structs import replace

from tidings.app.wiring.delivery import build_offline_checker
from tidings.capacity import operations
from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatFlags, OfflineCheck
from tidings.delivery.offline_checker import OfflineChecker, OfflineCheckStats
from tidings.delivery.store.offline_checks import KafkaOfflineChecks, decode_check
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, ClientKey, DeviceId, DeviceKey, UserId, new_ulid
from tidings.messages.sender import Content
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Record
from tidings.schema.topics.model import OFFLINE, OFFLINE_CHECKS, OFFLINE_CHECKS_LATE
from tidings.tenants.model import PushSettings, TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

ROOT = Path(__file__).parents[4]
SCHEMA = jsonschema_rs.validator_for((ROOT / "protocol/offline.schema.json").read_text())


@pytest.fixture
def topics(kafka: str, space: Namespace) -> KafkaConfig:
    return make_topics(kafka, space, (OFFLINE, OFFLINE_CHECKS, OFFLINE_CHECKS_LATE))


@asynccontextmanager
async def opened(
    env: DeliveryEnv, topics: KafkaConfig, *, has_previews: bool = False
) -> AsyncIterator[OfflineChecker]:
    use_cases = env.use_cases
    settings = TenantSettings(name="Acme", push=PushSettings(has_previews=has_previews))
    await TenantService(DynamoTenantStore(use_cases.client, use_cases.authentic), SystemClock()).create(
        use_cases.tenant, settings
    )
    publisher = KafkaPublisher(topics)
    try:
        yield build_offline_checker(
            use_cases.client,
            use_cases.user_keys,
            use_cases.clock,
            status=env.routes,
            checks=KafkaOfflineChecks(publisher, use_cases.clock),
            publisher=publisher,
            stats=OfflineCheckStats(),
        )
    finally:
        await publisher.close()


async def read_events(topics: KafkaConfig) -> list[dict[str, Any]]:
    """Decode an event as a consumer does: JSON, validated against the schema."""
    log = await asyncio.to_thread(read_log, topics, "offline")
    found = [json.loads(value) for values in log.values() for value in values]
    for each in found:
        SCHEMA.validate(each)
    return sorted(found, key=lambda each: each["sequence"])


def check_of(chat: ChatKey) -> OfflineCheck:
    return OfflineCheck(tenant=chat.tenant, users=(BEN,), at_ms=0, chat=chat.chat, first=1, last=9)


async def test_an_offline_event_has_everything_that_a_push_service_needs(
    delivery_env: DeliveryEnv, topics: KafkaConfig
) -> None:
    use_cases = delivery_env.use_cases
    async with opened(delivery_env, topics) as offline_events:
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
        other = await use_cases.group(BEN)
        await use_cases.send(other, ANNA, "elsewhere")
        await use_cases.send(chat, ANNA, "one")
        mention = Content(text="@ben", mentions=(BEN,))
        await use_cases.sender.send(chat, ANNA, ClientKey(new_ulid()), mention, after=2)
        await delivery_env.deliver()
        await offline_events.handle([check_of(chat)])
    first, second = await read_events(topics)
    assert first == {
        "version": 1,
        "tenant": use_cases.tenant,
        "recipient": BEN,
        "chat": chat.chat,
        "message_id": f"{chat.chat}.2",
        "sequence": 2,
        "sender": ANNA,
        "kind": "message",
        "at": first["at"],
        "badge": 3,
        "collapse_key": chat.chat,
        "is_muted": False,
        "is_mentioned": False,
        "preview": None,
    }
    assert (second["sequence"], second["is_mentioned"]) == (3, True)


async def test_offline_events_contain_text_only_if_configured_and_never_ephemeral_text(
    delivery_env: DeliveryEnv, topics: KafkaConfig
) -> None:
    use_cases = delivery_env.use_cases
    async with opened(delivery_env, topics, has_previews=True) as offline_events:
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
        await use_cases.send(chat, ANNA, "é" * 200)
        await use_cases.send(chat, ANNA, "soon gone", ttl_s=60)
        await delivery_env.deliver()
        await delivery_env.lists.list.set_flags(
            chat, BEN, ChatFlags(muted_until_ms=use_cases.clock.now_ms() + 60_000)
        )
        await offline_events.handle([check_of(chat)])
    assert [(each["preview"], each["is_muted"]) for each in await read_events(topics)] == [
        ("é" * 90, True),
        (None, True),
    ]


async def test_the_badge_includes_unread_messages_of_large_chats(
    delivery_env: DeliveryEnv, topics: KafkaConfig
) -> None:
    use_cases = delivery_env.use_cases
    async with opened(delivery_env, topics) as offline_events:
        large = await use_cases.group(BEN, *(UserId(f"u{n}") for n in range(90)))
        await use_cases.manage.add(large, by(ANNA), [UserId(f"u{n}") for n in range(90, 110)])
        await use_cases.send(large, ANNA, "to all", after=2)
        await use_cases.send(large, ANNA, "again", after=3)
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
        await use_cases.send(chat, ANNA, "you")
        await delivery_env.deliver()
        await offline_events.handle([check_of(chat)])
    (event,) = await read_events(topics)
    assert event["badge"] == 3


async def test_what_a_device_acknowledged_has_no_event(
    delivery_env: DeliveryEnv, topics: KafkaConfig
) -> None:
    use_cases = delivery_env.use_cases
    async with opened(delivery_env, topics) as offline_events:
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
        for text in ("one", "two", "three"):
            await use_cases.send(chat, ANNA, text)
        await delivery_env.deliver()
        await delivery_env.lists.marking.delivered(chat, BEN, 3)
        await offline_events.handle([check_of(chat)])
    assert [event["sequence"] for event in await read_events(topics)] == [4]


async def test_a_check_of_a_connected_user_goes_to_the_late_topic(
    delivery_env: DeliveryEnv, topics: KafkaConfig
) -> None:
    use_cases = delivery_env.use_cases
    async with opened(delivery_env, topics) as offline_events:
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
        await use_cases.send(chat, ANNA, "one")
        await delivery_env.deliver()
        await delivery_env.routes.register(
            DeviceKey(use_cases.tenant, BEN, DeviceId("phone")), GatewayId("g")
        )
        await offline_events.handle([check_of(chat)])
    assert await read_events(topics) == []
    log = await asyncio.to_thread(read_log, topics, "offline-checks-late")
    (value,) = [value for values in log.values() for value in values]
    late = decode_check(Record("late", 0, 0, 0, None, value, ()))
    assert (late.chat, late.first, late.last) == (chat.chat, 1, 9)
    assert late.at_ms > 0


def test_the_published_example_is_valid() -> None:
    sample = json.loads((ROOT / "protocol/offline.sample.json").read_text())
    SCHEMA.validate(sample)
    for name in sample:
        with pytest.raises(jsonschema_rs.ValidationError):
            SCHEMA.validate({key: value for key, value in sample.items() if key != name})


async def test_a_check_costs_the_units_of_the_capacity_plan(
    delivery_env: DeliveryEnv, topics: KafkaConfig
) -> None:
    """Of a direct message, then of a group with two absent members; each user has both chats."""
    use_cases = delivery_env.use_cases
    async with opened(delivery_env, topics) as offline_events:
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
        group = await use_cases.group(CLEO, DORA)
        for each in (chat, group):
            await use_cases.send(each, ANNA)
        await delivery_env.deliver()
        # Up to the message, as a worker requests it: a later end costs another read.
        found = await spent(use_cases.client, offline_events.handle([replace(check_of(chat), last=2)]))
        of_badge = operations.badge(1, 0)
        assert_declared(without(found, "read", "tenants"), operations.CHECK_DIRECT, of_badge)
        check = replace(check_of(group), users=(CLEO, DORA), last=2)
        found = await spent(use_cases.client, offline_events.handle([check]))
        members, of_badge = [operations.CHECK_MEMBER] * 2, operations.badge(1, 1)
        assert_declared(found, operations.CHECK_GROUP, *members, of_badge, of_badge)
