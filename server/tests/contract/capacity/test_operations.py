"""The units of the capacity plan are those that the ledger counts on both engines, by table.

The ledger adds the units of a transaction, so tables of one transaction are compared by their sum.
"""

import pytest
from fixtures.chat_list_env import ChatListEnv
from fixtures.ledger_units import assert_declared, spent, without
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, by

from tidings.app.wiring.chats import build_watermark_store
from tidings.capacity import operations
from tidings.delivery.model import LogPosition, OfflineQueueBatch
from tidings.delivery.store import DynamoOfflineQueue
from tidings.ephemeral.receipts import ReceiptSnapshotReader
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.item_size import encoded_item_bytes
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.patterns import delivery, messages

CLOSE = 0.15
"""Sizes of items depend on the length of ids."""


async def direct(use_cases: UseCaseEnv) -> ChatKey:
    return await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)


async def test_a_send(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await direct(use_cases)
    await use_cases.send(chat, ANNA)
    assert_declared(await spent(use_cases.client, use_cases.send(chat, ANNA, after=2)), operations.SEND)
    found = await spent(use_cases.client, use_cases.send(chat, ANNA, after=None))
    assert_declared(found, operations.SEND_WITHOUT_POSITION)
    await lists.deliver()


@pytest.mark.parametrize("size", [100, 1_500, 3_000])
async def test_a_send_of_a_long_text(use_cases: UseCaseEnv, size: int) -> None:
    chat = await direct(use_cases)
    await use_cases.send(chat, ANNA)
    entry = operations.ENTRY_BYTES + size
    found = await spent(use_cases.client, use_cases.send(chat, ANNA, "x" * size, after=2))
    assert_declared(found, operations.SEND.of_entry(entry))


async def test_the_first_send_of_a_process_reads_the_log_and_the_membership(use_cases: UseCaseEnv) -> None:
    chat = await direct(use_cases)
    await use_cases.send(chat, ANNA)
    use_cases.open_process()
    found = await spent(use_cases.client, use_cases.send(chat, ANNA, after=2))
    assert_declared(found, operations.SEND, operations.OPEN_LOG)


async def test_the_delivery_of_a_direct_message(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await direct(use_cases)
    await lists.deliver()
    await use_cases.send(chat, ANNA, "x" * 100)
    assert_declared(await spent(use_cases.client, lists.deliver()), operations.DELIVER_DIRECT)


@pytest.mark.parametrize("members", [3, 90])
async def test_the_delivery_of_a_message_in_a_group(use_cases: UseCaseEnv, members: int) -> None:
    lists = ChatListEnv(use_cases)
    group = await use_cases.group(*(UserId(f"user-{number}") for number in range(members - 1)))
    await lists.deliver()
    await use_cases.send(group, ANNA)
    found = await spent(use_cases.client, lists.deliver())
    # a worker caches the members
    assert_declared(without(found, "read", "chats", "chat_memberships"), operations.DELIVER_GROUP)


async def test_marks_and_acks(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat, group = await direct(use_cases), await use_cases.group(BEN)
    for each in (chat, group):
        await use_cases.send(each, ANNA)
    await lists.deliver()
    found = await spent(use_cases.client, lists.marking.read(chat, BEN, 2))
    assert_declared(found, operations.MARK_READ)
    found = await spent(use_cases.client, lists.marking.read(group, BEN, 2))
    assert_declared(found, operations.MARK_GROUP_READ)
    await use_cases.send(chat, ANNA, after=2)
    await lists.deliver()
    entry = (await use_cases.entries(chat))[-1]
    written = lists.marking.is_delivered_known(chat, BEN, LogPosition(entry.sequence, entry.ordinal))
    assert_declared(await spent(use_cases.client, written), operations.ACK)


async def test_the_offline_queue(use_cases: UseCaseEnv) -> None:
    queue = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    chat = await direct(use_cases)
    await use_cases.send(chat, ANNA, "x" * 100)
    message = (await use_cases.entries(chat))[-1]

    put = await spent(use_cases.client, queue.put([OfflineQueueBatch(chat, BEN, (message,))]))
    found = await spent(use_cases.client, drained(queue, use_cases))
    assert_declared(
        {**put, **found, ("write", "pending_queue"): 2}, operations.QUEUE, operations.catch_up_queue(1, 400)
    )
    assert put["write", "pending_queue"] == found["write", "pending_queue"] == 1


async def drained(queue: DynamoOfflineQueue, use_cases: UseCaseEnv) -> None:
    page = await queue.drain(use_cases.tenant, BEN)
    await queue.delete(use_cases.tenant, BEN, [each.key for each in page.waiting])


async def test_a_new_direct_chat(use_cases: UseCaseEnv) -> None:
    assert_declared(await spent(use_cases.client, direct(use_cases)), operations.CREATE_DIRECT)


async def test_reads_of_a_user_with_many_chats(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    for number in range(30):
        chat = await use_cases.manage.direct(use_cases.tenant, ANNA, UserId(f"friend-{number}"))
        await use_cases.send(chat, ANNA, "x" * 100)
    for _ in range(5):
        group = await use_cases.manage.group(use_cases.tenant, by(ANNA), "us", [BEN])
        await use_cases.send(group, ANNA, "x" * 100)
    await lists.deliver()
    groups = [row.chat for row in await lists.store.rows(use_cases.tenant, ANNA) if row.chat.startswith("g")]
    found = await spent(
        use_cases.client,
        lists.store.rows(use_cases.tenant, ANNA),
        lists.store.heads(use_cases.tenant, groups),
    )
    assert_declared({**found, ("read", "users"): 1}, operations.connect(35, 5))
    found = await spent(use_cases.client, lists.page(ANNA, limit=20))
    assert_declared(found, operations.read_list(35, 5))
    found = await spent(use_cases.client, lists.list.unread_totals(use_cases.tenant, ANNA))
    assert_declared(found, operations.badge(35, 5))


async def test_a_page_of_history(use_cases: UseCaseEnv) -> None:
    chat = await direct(use_cases)
    for number in range(40):
        await use_cases.send(chat, ANNA, "x" * 100, after=number + 1)
    found = await spent(use_cases.client, use_cases.history.before(chat, BEN, None, 20))
    declared = operations.read_page(20, operations.ENTRY_BYTES + 100)
    assert found["read", "messages"] == declared.reads["messages"]


async def test_showing_a_group_reads_the_watermarks_of_its_members(use_cases: UseCaseEnv) -> None:
    group = await use_cases.group(*(UserId(f"user-{number}") for number in range(19)))
    store = build_watermark_store(use_cases.client, use_cases.clock, lambda: 0)
    reader = ReceiptSnapshotReader(use_cases.rows, store.rows_now)
    found = await spent(use_cases.client, reader.read_snapshot(group))
    assert found["read", "delivery_state"] == operations.subscribe(20).reads["delivery_state"]


async def test_the_sizes_of_a_message_and_of_a_chat_row(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await direct(use_cases)
    await use_cases.send(chat, ANNA, "x" * 100)
    await lists.deliver()
    tenant = use_cases.tenant
    for pattern, condition, key, size in (
        (messages.FOLLOW, "chat_id = :k", f"{tenant}#{chat.chat}", operations.ENTRY_BYTES + 100),
        (delivery.READ_ROWS, "user_id = :k", f"{tenant}#{ANNA}", operations.ROW_BYTES),
    ):
        items = (await use_cases.client.query(pattern, Query(condition=condition, values={":k": key}))).items
        assert encoded_item_bytes(items[-1]) == pytest.approx(size, rel=CLOSE)
