"""The reactions to a message, as items of their own in `messages`."""

from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.store.items import reaction_key, reaction_partition
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error, raise_write_error
from tidings.platform.dynamo.queries import Query
from tidings.tables.patterns import messages as patterns


class DynamoReactionWriter:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def has(self, chat: ChatKey, sequence: int, user: UserId, emoji: str) -> bool:
        try:
            item = await self._client.get(patterns.READ_REACTION, reaction_key(chat, sequence, user, emoji))
        except DynamoError as error:
            raise_read_error(error)
        return item is not None

    async def clear(self, chat: ChatKey, sequence: int) -> None:
        """Delete all reactions to a message. Idempotent.

        Nothing is left if the message was redacted before: a reaction commits only on a row that is not redacted.
        """
        query = Query(
            condition="chat_id = :c",
            values={":c": reaction_partition(chat, sequence)},
            names={"#s": "sequence"},
            projection="chat_id, #s",
        )
        try:
            async for page in self._client.pages(patterns.LIST_REACTIONS, query):
                if page.items:
                    await self._client.batch_write(
                        patterns.CLEAR_REACTIONS, deletes=page.items, repeatable=True
                    )
        except DynamoError as error:
            raise_write_error(error)
