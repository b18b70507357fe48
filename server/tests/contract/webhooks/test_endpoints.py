"""Endpoints and their secrets on both engines."""

import pytest
from fixtures.use_cases import UseCaseEnv, code_of
from fixtures.webhook_receiver import verify
from fixtures.webhooks import OK, WebhookEnv, failing
from msgspec.structs import replace

from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId
from tidings.schema.tables.patterns import webhooks as patterns
from tidings.webhooks import rules
from tidings.webhooks.model import (
    DEFAULT_TYPES,
    MAX_ENDPOINTS,
    DeliveryOutcome,
    EndpointName,
    EndpointStatus,
    EventType,
    QueueKind,
)


async def test_an_endpoint_is_read_back_and_belongs_to_its_tenant(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made = await env.endpoint(events=(EventType.MESSAGE_CREATED,), description="ours")
    assert await env.service.read(made.name) == made
    assert await env.service.list(use_cases.tenant) == [made]
    stranger = EndpointName(TenantId(f"{use_cases.tenant}x"), made.name.id)
    assert await code_of(env.service.read(stranger)) is Code.WEBHOOK_NOT_FOUND
    assert await code_of(env.service.delete(stranger)) is Code.WEBHOOK_NOT_FOUND


async def test_a_secret_is_stored_encrypted_and_an_altered_row_is_not_used(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made = await env.endpoint()
    key = {"tenant": use_cases.tenant, "item": f"hook#{made.name.id}"}
    item = await use_cases.client.get(patterns.READ_ENDPOINT, key)
    assert item is not None
    secret = made.secrets[0].value.reveal()
    assert secret.encode() not in b"".join(item["secrets"])
    forged = dict(item) | {"settings": item["settings"].replace(b"app.example", b"bad.example")}
    await use_cases.client.put(patterns.PUT_ENDPOINT, forged)
    assert await env.store.read(made.name) is None
    assert await env.store.list(use_cases.tenant) == []


@pytest.mark.parametrize(
    "url", ["http://app.example/", "ftp://app.example", "https://", "https://a:b@app.example", "https://x/#y"]
)
async def test_a_url_that_no_event_may_be_sent_to_is_refused(use_cases: UseCaseEnv, url: str) -> None:
    env = WebhookEnv(use_cases)
    assert await code_of(env.endpoint(url)) is Code.REQUEST_INVALID
    made = await env.endpoint()
    assert await code_of(env.service.update(made.name, url=url)) is Code.REQUEST_INVALID


async def test_a_change_keeps_what_is_not_given(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made = await env.endpoint(description="ours")
    changed = await env.service.update(made.name, status=EndpointStatus.DISABLED)
    assert (changed.settings.description, changed.settings.events) == ("ours", DEFAULT_TYPES)
    assert changed.settings.disabled_at_ms is not None
    enabled = await env.service.update(made.name, status=EndpointStatus.ENABLED, url="https://app.example/b")
    assert (enabled.settings.url, enabled.is_enabled) == ("https://app.example/b", True)
    assert enabled.settings.disabled_at_ms is None
    assert not await env.store.put(replace(made, version=2)), "a stale change must not be stored"


async def test_a_tenant_has_a_bounded_number_of_endpoints(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    for _ in range(MAX_ENDPOINTS):
        await env.endpoint()
    assert await code_of(env.endpoint()) is Code.REQUEST_INVALID


async def test_both_secrets_sign_until_the_former_one_expires(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made = await env.endpoint()
    rotated = await env.service.rotate(made.name, overlap_s=60)
    old, new = made.secrets[0].value.reveal(), rotated.secrets[0].value.reveal()
    assert old != new
    await env.service.test(made.name)
    for secret in (old, new):
        assert verify(secret, env.transport.requests[-1])["type"] == "test"
    use_cases.clock.ahead_ms = 61_000
    assert [each.value.reveal() for each in rules.valid_secrets(rotated, use_cases.clock.now_ms())] == [new]
    await env.service.rotate(made.name, overlap_s=0)
    assert len((await env.service.read(made.name)).secrets) == 1


async def test_a_test_is_sent_once_and_is_in_the_delivery_log(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made = await env.endpoint()
    env.transport.answer = lambda _: failing(500)
    event, attempt = await env.service.test(made.name)
    assert attempt.status == 500
    env.transport.answer = lambda _: OK
    await env.service.test(made.name)
    page = await env.service.deliveries(made.name, 1)
    assert page.next is not None
    rest = await env.service.deliveries(made.name, 10, page.next)
    outcomes = [each.outcome for each in (*page.deliveries, *rest.deliveries)]
    assert outcomes == [DeliveryOutcome.DELIVERED, DeliveryOutcome.FAILED]
    assert rest.deliveries[0].event == event.id
    assert rest.next is None


async def test_a_deleted_endpoint_leaves_nothing_in_the_queue(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made = await env.endpoint()
    await env.service.replay(made.name, use_cases.clock.now_ms() - 1000)
    assert [item.kind for item in await env.service.waiting(made.name)] == [QueueKind.REPLAY]
    await env.service.delete(made.name)
    assert await env.queue.items(made.name, 10) == []


async def test_a_replay_starts_within_the_retention(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    made, now_ms = await env.endpoint(), use_cases.clock.now_ms()
    assert await code_of(env.service.replay(made.name, now_ms - 49 * 3_600_000)) is Code.REQUEST_INVALID
    assert await code_of(env.service.replay(made.name, now_ms + 60_000)) is Code.REQUEST_INVALID
    await env.service.update(made.name, status=EndpointStatus.DISABLED)
    assert await code_of(env.service.replay(made.name, now_ms - 1000)) is Code.REQUEST_INVALID
