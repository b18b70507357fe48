"""The webhook worker and the sweeper of queues, on real tables with scripted endpoints."""

import asyncio
from collections.abc import Callable

from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, by
from fixtures.webhook_receiver import verify
from fixtures.webhooks import OK, Received, WebhookEnv, failing

from tidings.kernel.ids import ChatKey
from tidings.messages.sender import Content
from tidings.webhooks import rules
from tidings.webhooks.model import Attempt, Endpoint, EndpointStatus, EventType

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


async def test_every_entry_is_an_event_with_content_and_a_valid_signature(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint()
    chat = await use_cases.group(BEN)
    first = await use_cases.send(chat, ANNA, "frist")
    await use_cases.change.edit(asked(chat, ANNA, first.sequence), Content(text="first"))
    await use_cases.change.react(asked(chat, BEN, first.sequence), "👍")
    await use_cases.change.redact(asked(chat, ANNA, first.sequence))
    await env.handle()
    events = [verify(endpoint.secrets[0].value.reveal(), each) for each in env.transport.delivered]
    assert [event["type"] for event in events] == [
        "chat.created", "message.created", "message.edited", "reaction.changed", "message.redacted",
    ]  # fmt: skip
    created, edited, reacted, redacted = events[1:]
    assert (created["data"]["chat"], created["data"]["entry"]["sender"]) == (chat.chat, "anna")
    assert edited["data"]["message"]["id"] == created["data"]["entry"]["id"]
    assert reacted["data"]["entry"]["emoji"]
    assert redacted["data"]["message"]["state"] == "redacted"
    assert created["id"] == rules.event_id(chat, first.sequence)
    assert await env.queue.items(endpoint.name, 10) == []


async def test_a_message_has_the_fields_of_the_rest_api(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    await env.endpoint(events=(EventType.MESSAGE_CREATED,))
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "hello")
    await env.handle()
    [received] = env.transport.delivered
    entry = received.body["data"]["entry"]
    assert (entry["text"], entry["kind"], entry["state"]) == ("hello", "message", "active")


async def test_an_endpoint_receives_chosen_types_since_its_creation(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "before")
    await env.endpoint(A, events=(EventType.MEMBER_JOINED,))
    disabled = await env.endpoint(B)
    await env.service.update(disabled.name, status=EndpointStatus.DISABLED)
    await asyncio.sleep(0.002)
    await use_cases.send(chat, ANNA, "after")
    await use_cases.commands.add(chat, by(ANNA), [CLEO])
    await env.handle()
    assert [(each.url, each.body["type"]) for each in env.transport.delivered] == [(A, "member.joined")]


async def test_a_failed_event_stops_its_chat_and_no_other(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint()
    one, two = await use_cases.group(BEN), await use_cases.group(CLEO)
    await sent(env, one, 3)
    await sent(env, two, 3)
    env.transport.answer = lambda each: failing() if (each.chat, each.sequence) == (one.chat, 3) else OK
    await env.handle()
    assert env.transport.sequences(one) == [1, 2]
    assert env.transport.sequences(two) == [1, 2, 3, 4]
    [item] = await env.queue.items(endpoint.name, 10)
    assert (item.first, item.last, item.attempts, item.status) == (3, 4, 1, 503)
    await sent(env, one, 2)
    await sent(env, two, 1)
    await env.handle()
    assert env.transport.sequences(one) == [1, 2], "later events must wait behind the failed one"
    assert env.transport.sequences(two) == [1, 2, 3, 4, 5]
    env.transport.answer = lambda _: OK
    await env.sweep()
    assert env.transport.sequences(one) == [1, 2], "the next attempt is not due yet"
    await env.make_due(endpoint.name)
    await env.sweep()
    assert env.transport.sequences(one) == [1, 2, 3, 4, 5, 6]
    assert await env.queue.items(endpoint.name, 10) == []
    await sent(env, one, 1)
    await env.handle()
    assert env.transport.sequences(one) == [1, 2, 3, 4, 5, 6, 7], "the chat is sent without the queue again"
    assert await env.queue.items(endpoint.name, 10) == []


async def test_a_slow_endpoint_delays_neither_the_worker_nor_other_endpoints(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases, live_s=0.2)
    slow = await env.endpoint(A)
    await env.endpoint(B)
    chats = [await use_cases.group(BEN) for _ in range(12)]
    opened = asyncio.Event()
    env.transport.gate = lambda each: opened if each.url == A else None
    for chat in chats:
        await sent(env, chat, 2)
    started = asyncio.get_running_loop().time()
    await env.handle()
    assert asyncio.get_running_loop().time() - started < 3
    for chat in chats:
        assert env.transport.sequences(chat, B) == [1, 2, 3]
    assert env.transport.most_in_flight <= 8, "four for each endpoint"
    waiting = await env.queue.items(slow.name, 100)
    assert len(waiting) == 12
    assert sum(item.due_ms > use_cases.clock.now_ms() for item in waiting) == 4, (
        "claimed by requests in flight"
    )
    opened.set()
    await env.worker.wait_idle(5)
    assert len(await env.queue.items(slow.name, 100)) == 8
    await env.sweep()
    for chat in chats:
        assert env.transport.sequences(chat, A) == [1, 2, 3]
    assert await env.queue.items(slow.name, 100) == []
    ids = [each.id for each in env.transport.requests if each.url == A]
    assert len(ids) == len(set(ids)) == 36, "no event was sent twice"


async def test_a_repeated_batch_is_not_sent_again_and_after_a_crash_it_has_the_same_ids(
    use_cases: UseCaseEnv,
) -> None:
    env = WebhookEnv(use_cases)
    await env.endpoint()
    chat = await use_cases.group(BEN)
    await sent(env, chat, 2)
    batch = list(use_cases.commits)
    await env.handle(*batch)
    await env.handle(*batch)
    assert len(env.transport.requests) == 3
    env.restart()
    env.checkpoints.found.clear()
    await env.handle(*batch)
    assert [each.id for each in env.transport.requests[:3]] == [
        each.id for each in env.transport.requests[3:]
    ]


async def test_an_entry_that_was_never_published_is_read_from_the_log(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    await env.endpoint()
    chat = await use_cases.group(BEN)
    await sent(env, chat, 1)
    await env.handle()
    await sent(env, chat, 2)
    *_lost, last = use_cases.commits
    use_cases.commits = []
    await env.handle(last)
    assert env.transport.sequences(chat) == [1, 2, 3, 4]
    # A worker that knows nothing about the chat reads its last two minutes.
    await sent(env, chat, 2)
    *_lost, last = use_cases.commits
    env.restart()
    env.checkpoints.found.clear()
    await env.handle(last)
    assert env.transport.sequences(chat) == [1, 2, 3, 4, 5, 6]


async def test_a_worker_that_takes_over_a_partition_does_not_overtake_queued_events(
    use_cases: UseCaseEnv,
) -> None:
    env = WebhookEnv(use_cases)
    endpoint = await env.endpoint()
    chat = await use_cases.group(BEN)
    await sent(env, chat, 2)
    env.transport.answer = refusing(2)
    await env.handle()
    env.transport.answer = lambda _: OK
    env.restart()
    await sent(env, chat, 2)
    await env.handle()
    assert env.transport.sequences(chat) == [1]
    await env.make_due(endpoint.name)
    await env.sweep()
    assert env.transport.sequences(chat) == [1, 2, 3, 4, 5]


async def test_a_partition_that_was_away_is_compared_with_the_queue_again(use_cases: UseCaseEnv) -> None:
    env, other = WebhookEnv(use_cases), WebhookEnv(use_cases)
    other.transport = env.transport
    other.checkpoints = env.checkpoints
    other.restart()
    endpoint = await env.endpoint()
    chat = await use_cases.group(BEN)
    await env.handle()
    await sent(env, chat, 1)
    env.transport.answer = refusing(2)
    await other.handle()
    env.transport.answer = lambda _: OK
    env._offset = 5
    await sent(env, chat, 1)
    await env.handle()
    assert env.transport.sequences(chat) == [1]
    await env.make_due(endpoint.name)
    await env.sweep()
    assert env.transport.sequences(chat) == [1, 2, 3]


async def test_tenants_without_endpoints_cost_one_read_of_the_cache(use_cases: UseCaseEnv) -> None:
    env = WebhookEnv(use_cases)
    chat = await use_cases.group(BEN)
    await sent(env, chat, 3)
    before = {row.pattern: row.calls for row in use_cases.client.ledger.rows()}
    await env.handle()
    after = {row.pattern: row.calls for row in use_cases.client.ledger.rows()}
    assert {name for name, calls in after.items() if calls > before.get(name, 0)} == {"tenants.list_hooks"}
    assert env.checkpoints.found == {}
