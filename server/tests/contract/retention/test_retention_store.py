"""Notes about expired messages that the search index may have, on both engines."""

from fixtures.use_cases import UseCaseEnv

from tidings.kernel.ids import ChatId, ChatKey
from tidings.messages.model import ExpiredRange
from tidings.retention.store import DynamoRetentionStore


async def test_a_process_that_is_behind_does_not_shorten_the_note_of_another(use_cases: UseCaseEnv) -> None:
    store, chat = DynamoRetentionStore(use_cases.client), ChatKey(use_cases.tenant, ChatId("g1"))
    await store.note_unindexed(chat, 1, 200)
    await store.note_unindexed(chat, 201, 400)
    await store.note_unindexed(chat, 1, 200)
    (noted,) = await store.unindexed(use_cases.tenant)
    assert noted == ExpiredRange(chat, 1, 400)
    await store.note_unindexed(chat, 401, 600)
    await store.delete_unindexed(noted)
    (noted,) = await store.unindexed(use_cases.tenant)
    assert noted == ExpiredRange(chat, 1, 600), "more messages have expired since the note was read"
    await store.delete_unindexed(noted)
    assert await store.unindexed(use_cases.tenant) == []
