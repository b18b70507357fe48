"""The offline queue on both engines: one key per message, drained in order, deleted by an ack or a withdrawal."""

from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from tidings.delivery.model import OfflineQueueBatch, OfflineQueueMessage
from tidings.delivery.store import DynamoOfflineQueue
from tidings.kernel.ids import UserId
from tidings.messages.model import Entry, EntryKind


async def waiting(
    pending: DynamoOfflineQueue, use_cases: UseCaseEnv, user: UserId
) -> list[OfflineQueueMessage]:
    """Drain the whole queue, two items at a time."""
    found: list[OfflineQueueMessage] = []
    page = await pending.drain(use_cases.tenant, user, limit=2)
    found += page.waiting
    while page.after is not None:
        page = await pending.drain(use_cases.tenant, user, page.after, limit=2)
        found += page.waiting
    return found


async def send_all(use_cases: UseCaseEnv, *texts: str, ttl_s: int | None = None) -> list[Entry]:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for text in texts:
        await use_cases.send(chat, ANNA, text, ttl_s=ttl_s)
    return [entry for entry in await use_cases.reader.between(chat, 0, 99) if entry.kind is EntryKind.MESSAGE]


async def test_a_queue_is_drained_in_order_with_unchanged_entries(
    use_cases: UseCaseEnv,
) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    messages = await send_all(use_cases, "one", "two", "three")
    for message in (*reversed(messages), messages[1]):
        await pending.put([OfflineQueueBatch(chat, BEN, (message,))])
    found = await waiting(pending, use_cases, BEN)
    assert [each.entry for each in found] == messages
    assert {each.chat for each in found} == {chat}
    await pending.delete(use_cases.tenant, BEN, [each.key for each in found[:2]])
    await pending.delete(use_cases.tenant, BEN, [found[0].key])
    assert [each.entry.sequence for each in await waiting(pending, use_cases, BEN)] == [4]


async def test_a_withdrawn_message_is_removed_from_all_queues(use_cases: UseCaseEnv) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    one, two = await send_all(use_cases, "one", "two")
    for user in (BEN, CLEO):
        await pending.put([OfflineQueueBatch(chat, user, (one, two))])
    await pending.withdraw(chat, [ANNA, BEN, CLEO], one)
    for user in (BEN, CLEO):
        assert [each.entry for each in await waiting(pending, use_cases, user)] == [two]


async def test_every_offline_user_has_every_message_in_their_queue(use_cases: UseCaseEnv) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    messages = tuple(await send_all(use_cases, "one", "two", "three"))
    users = [UserId(f"user-{n}") for n in range(30)]
    await pending.put([OfflineQueueBatch(chat, user, messages) for user in users])
    for user in users:
        assert [each.entry for each in await waiting(pending, use_cases, user)] == list(messages)


async def test_ephemeral_messages_are_queued_without_content_until_they_expire(
    use_cases: UseCaseEnv,
) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    (message,) = await send_all(use_cases, "soon gone", ttl_s=60)
    await pending.put([OfflineQueueBatch(chat, BEN, (message,))])
    (kept,) = await waiting(pending, use_cases, BEN)
    assert kept.entry == message
    assert kept.entry.content is None
    use_cases.clock.ahead_ms = 62_000
    assert await waiting(pending, use_cases, BEN) == []


async def test_items_older_than_thirty_days_are_ignored_even_if_not_deleted_yet(
    use_cases: UseCaseEnv,
) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    (message,) = await send_all(use_cases, "old")
    await pending.put([OfflineQueueBatch(chat, BEN, (message,))])
    use_cases.clock.ahead_ms = 30 * 24 * 3600 * 1000 + 2_000
    assert await waiting(pending, use_cases, BEN) == []


async def test_putting_and_deleting_an_item_costs_two_write_units(use_cases: UseCaseEnv) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    (message,) = await send_all(use_cases, "x" * 300)
    await pending.put([OfflineQueueBatch(chat, BEN, (message,))])
    (kept,) = await waiting(pending, use_cases, BEN)
    await pending.delete(use_cases.tenant, BEN, [kept.key])
    ledger = use_cases.client.ledger
    assert ledger["pending.put"].write_units == 1
    assert ledger["pending.delete"].write_units == 1


async def test_items_cost_one_unit_each_and_one_call_for_every_twenty_five(use_cases: UseCaseEnv) -> None:
    pending = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    messages = tuple(await send_all(use_cases, "one", "two", "three"))
    await pending.put([OfflineQueueBatch(chat, UserId(f"user-{n}"), messages) for n in range(30)])
    put = use_cases.client.ledger["pending.put"]
    assert put.write_units == 90
    assert put.calls == 4
