"""The queues of endpoints: retries, the delivery log, disabled endpoints and replays."""

from collections.abc import Callable

from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv
from fixtures.webhooks import OK, Received, WebhookEnv, failing
from msgspec.structs import replace

from tidings.kernel.ids import ChatKey
from tidings.webhooks import rules
from tidings.webhooks.model import Attempt, DeliveryOutcome, Endpoint, EndpointStatus, EventType, QueueKind

A, B = "https://app.example/a", "https://app.example/b"


async def sent(env: WebhookEnv, chat: ChatKey, count: int) -> None:
    for number in range(count):
        await env.use_cases.send(chat, ANNA, f"m{number}")


def refusing(*sequences: int) -> Callable[[Received], Attempt]:
    return lambda each: failing() if each.sequence in sequences else OK


async def outcomes(env: WebhookEnv, endpoint: Endpoint) -> list[tuple[int, int, str]]:
    """Return sequence, attempt and outcome of each entry of the delivery log, sorted."""
    await env.recorder.flush()
    page = await env.service.deliveries(endpoint.name, 100)
    return sorted((each.sequence, each.attempt, each.outcome.value) for each in page.deliveries)


async def test_the_delivery_log_explains_attempts(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint(events=(EventType.MESSAGE_CREATED,))
    chat = await use_cases.group(BEN)
    await sent(env, chat, 2)
    env.transport.answer = refusing(2)
    await env.handle()
    await env.make_due(endpoint.name)
    await env.sweep()
    env.transport.answer = lambda _: OK
    await env.make_due(endpoint.name)
    await env.sweep()
    assert await outcomes(env, endpoint) == [
        (2, 1, "retrying"),
        (2, 2, "retrying"),
        (2, 3, "delivered"),
        (3, 1, "delivered"),
    ]


async def test_an_outage_costs_few_chats_an_attempt_and_its_end_is_noticed(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases, max_concurrent=4)
    endpoint = await env.endpoint(events=(EventType.MESSAGE_CREATED,))
    chats = [await use_cases.group(BEN) for _ in range(30)]
    for chat in chats:
        await sent(env, chat, 1)
        await env.queue.add_run(endpoint.name, chat, 2, 2, due_ms=env.clock.now_ms())
    env.transport.answer = lambda _: failing()
    await env.sweep()
    assert 8 <= len(env.transport.requests) <= 8 + 4
    tried = [item for item in await env.queue.items(endpoint.name, 100) if item.attempts]
    assert len(tried) == len(env.transport.requests)
    env.transport.requests.clear()
    await env.sweep()
    assert len(env.transport.requests) == 1, "an endpoint that fails is tried with one event"
    env.transport.answer = lambda _: OK
    await env.sweep()
    assert len(env.transport.delivered) == 30 - len(tried) - 1, "the others have lost no attempt"


async def test_after_the_last_attempt_an_event_is_given_up_and_the_next_ones_follow(
    use_cases: UseCaseEnv,
) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint(events=(EventType.MESSAGE_CREATED,))
    chat = await use_cases.group(BEN)
    await sent(env, chat, 2)
    env.transport.answer = refusing(2)
    await env.handle()
    for _ in range(rules.MAX_ATTEMPTS):
        await env.make_due(endpoint.name)
        await env.sweep()
    assert env.transport.sequences(chat) == [3]
    assert sum(each.sequence == 2 for each in env.transport.requests) == rules.MAX_ATTEMPTS
    await env.recorder.flush()
    page = await env.service.deliveries(endpoint.name, 100)
    assert next(each.outcome for each in page.deliveries if each.sequence == 2) is DeliveryOutcome.FAILED


async def test_an_endpoint_that_fails_for_too_long_is_disabled_and_others_are_told(
    use_cases: UseCaseEnv,
) -> None:
    env = WebhookEnv(use_cases, disable_after_s=100)
    endpoint, other = await env.endpoint(A), await env.endpoint(B)
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda each: failing() if each.url == A else OK
    await env.handle()
    for _ in range(2):
        await env.make_due(endpoint.name)
        await env.sweep()
        use_cases.clock.ahead_ms += 101_000
    found = await env.service.read(endpoint.name)
    assert (found.settings.status, bool(found.settings.disabled_reason)) == (EndpointStatus.DISABLED, True)
    assert endpoint.name in {each.endpoint for each in await env.disabled.list(1_000)}
    assert await env.queue.items(endpoint.name, 10) == []
    [item] = await env.queue.items(other.name, 10)
    assert item.kind is QueueKind.EVENT
    await env.sweep()
    told = env.transport.delivered[-1]
    assert (told.url, told.body["type"]) == (B, "endpoint.disabled")
    assert told.body["data"] == {
        "endpoint": endpoint.name.id,
        "url": A,
        "reason": found.settings.disabled_reason,
    }
    count = len(env.transport.requests)
    await sent(env, chat, 1)
    await env.handle()
    assert [each.url for each in env.transport.requests[count:]] == [B]
    await env.service.update(endpoint.name, status=EndpointStatus.ENABLED)
    assert endpoint.name not in {each.endpoint for each in await env.disabled.list(1_000)}


async def test_one_success_keeps_an_endpoint_enabled(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases, disable_after_s=100)
    endpoint = await env.endpoint(A)
    chat, fine = await use_cases.group(BEN), await use_cases.group(CLEO)
    env.transport.answer = lambda each: failing() if each.chat == chat.chat else OK
    await env.handle()
    for _ in range(3):
        await env.make_due(endpoint.name)
        await env.sweep()
        use_cases.clock.ahead_ms += 101_000
        await sent(env, fine, 1)
        await env.queue.mark_healthy(endpoint.name)
    assert (await env.service.read(endpoint.name)).is_enabled


async def test_an_endpoint_that_is_gone_is_disabled_at_once(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint(A)
    await use_cases.group(BEN)
    env.transport.answer = lambda _: failing(410)
    await env.handle()
    await env.make_due(endpoint.name)
    await env.sweep()
    assert not (await env.service.read(endpoint.name)).is_enabled


async def test_a_retry_request_makes_waiting_events_due(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint(A)
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda _: failing()
    await env.handle()
    env.transport.answer = lambda _: OK
    await env.sweep()
    assert env.transport.sequences(chat) == []
    await env.service.retry(endpoint.name)
    await env.sweep()
    assert env.transport.sequences(chat) == [1]


async def test_a_replay_sends_past_events_again_with_the_same_ids(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint(A)
    chat = await use_cases.group(BEN)
    await sent(env, chat, 3)
    await env.handle()
    env.replays.runs = {chat: (2, 4)}
    await env.service.replay(endpoint.name, use_cases.clock.now_ms() - 1000)
    await env.sweep()
    await env.sweep()
    again = [each.id for each in env.transport.requests[4:]]
    assert again == [rules.event_id(chat, sequence) for sequence in (2, 3, 4)]
    assert await env.queue.items(endpoint.name, 10) == []


async def test_an_endpoint_receives_the_time_that_it_asks_for(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint(A)
    await use_cases.group(BEN)
    env.transport.answer = lambda _: replace(failing(429), retry_after_ms=120_000)
    await env.handle()
    [item] = await env.queue.items(endpoint.name, 10)
    assert item.due_ms >= use_cases.clock.now_ms() + 110_000
