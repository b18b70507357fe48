"""Remove an erased user from heads, chat rows and the offline queue, on both engines."""

from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, by

from tidings.delivery.model import LastMessageState, OfflineQueueBatch
from tidings.delivery.store import DynamoDeliveryEraser, DynamoOfflineQueue
from tidings.kernel.ids import ChatKey, ErasedUser, UserId
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.patterns import delivery as patterns

GONE = ErasedUser(ANNA, UserId("erased-abcdefghijklmnopqrstuvwxyz"))


async def last(lists: ChatListEnv, chat: ChatKey, user: UserId) -> tuple[UserId, LastMessageState, int]:
    listed = await lists.listed(chat, user)
    assert listed.last is not None
    return listed.last.sender, listed.last.state, listed.unread


async def own_rows(env: UseCaseEnv, user: UserId) -> list[str]:
    query = Query(condition="user_id = :u", values={":u": f"{env.tenant}#{user}"})
    return [
        item["chat_id"]
        async for page in env.client.pages(patterns.LIST_OWN_ROWS, query)
        for item in page.items
    ]


async def test_a_group_shows_the_pseudonym_without_a_preview_and_the_same_unread_count(
    use_cases: UseCaseEnv,
) -> None:
    lists, eraser = ChatListEnv(use_cases), DynamoDeliveryEraser(use_cases.client)
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "secret")
    assert await eraser.delivered_up_to(chat, None) == 0
    await lists.deliver()
    assert await eraser.delivered_up_to(chat, None) == 2
    for _ in range(2):
        await eraser.replace(chat, None, GONE)
    assert await last(lists, chat, BEN) == (GONE.pseudonym, LastMessageState.ERASED, 1)


async def test_a_head_that_shows_another_sender_is_not_changed(use_cases: UseCaseEnv) -> None:
    lists, eraser = ChatListEnv(use_cases), DynamoDeliveryEraser(use_cases.client)
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "secret")
    await use_cases.send(chat, CLEO, "stays")
    await lists.deliver()
    await eraser.replace(chat, None, GONE)
    assert await lists.text(chat, BEN) == "stays"


async def test_the_other_user_of_a_direct_chat_sees_the_pseudonym(use_cases: UseCaseEnv) -> None:
    lists, eraser = ChatListEnv(use_cases), DynamoDeliveryEraser(use_cases.client)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA, "secret")
    await lists.deliver()
    assert await eraser.delivered_up_to(chat, BEN) == 2
    for _ in range(2):
        await eraser.replace(chat, BEN, GONE)
    assert await last(lists, chat, BEN) == (GONE.pseudonym, LastMessageState.ERASED, 1)
    assert (await lists.row(chat, BEN)).known.other == GONE.pseudonym


async def test_an_event_that_is_processed_again_does_not_bring_the_user_back(use_cases: UseCaseEnv) -> None:
    lists, eraser = ChatListEnv(use_cases), DynamoDeliveryEraser(use_cases.client)
    group = await use_cases.group(BEN)
    direct = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    for chat in (group, direct):
        await use_cases.send(chat, ANNA, "secret")
    commits = list(use_cases.commits)
    await lists.deliver()
    await eraser.replace(group, None, GONE)
    await eraser.replace(direct, BEN, GONE)
    for chat, entries in commits:
        await lists.process(chat, entries)
    for chat in (group, direct):
        assert await last(lists, chat, BEN) == (GONE.pseudonym, LastMessageState.ERASED, 1)
    assert (await lists.row(direct, BEN)).known.other == GONE.pseudonym


async def test_queued_messages_of_the_user_are_withdrawn_and_others_stay(use_cases: UseCaseEnv) -> None:
    queue, eraser = (
        DynamoOfflineQueue(use_cases.client, use_cases.clock),
        DynamoDeliveryEraser(use_cases.client),
    )
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    other = await use_cases.manage.direct(use_cases.tenant, CLEO, BEN)
    await use_cases.send(chat, ANNA, "secret")
    await use_cases.send(other, CLEO, "stays")
    for each in (chat, other):
        messages = tuple(entry for entry in await use_cases.entries(each) if entry.sequence == 2)
        await queue.put([OfflineQueueBatch(each, BEN, messages)])
    assert await eraser.withdraw(chat, BEN, ANNA) == 1
    assert await eraser.withdraw(chat, BEN, ANNA) == 0
    kept = await queue.drain(use_cases.tenant, BEN)
    assert [message.chat for message in kept.waiting] == [other]


async def test_own_rows_blocks_and_queued_messages_are_deleted(use_cases: UseCaseEnv) -> None:
    lists, eraser = ChatListEnv(use_cases), DynamoDeliveryEraser(use_cases.client)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, BEN, "to anna")
    await use_cases.manage.block(use_cases.tenant, by(ANNA), CLEO)
    await lists.deliver()
    messages = tuple(entry for entry in await use_cases.entries(chat) if entry.sequence == 2)
    queue = DynamoOfflineQueue(use_cases.client, use_cases.clock)
    await queue.put([OfflineQueueBatch(chat, ANNA, messages)])
    kept = await own_rows(use_cases, BEN)
    assert await eraser.delete_own(use_cases.tenant, ANNA) == 3
    assert await eraser.delete_own(use_cases.tenant, ANNA) == 0
    assert await own_rows(use_cases, ANNA) == []
    assert await own_rows(use_cases, BEN) == kept
