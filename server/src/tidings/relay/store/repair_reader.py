"""Reads of the repair job: the log of a chat, and the chats of a user."""

from collections.abc import Sequence

from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import translate_read_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.patterns import chats as patterns
from tidings.schema.tables.patterns import messages as log_patterns

MAX_ITEMS = 200


class DynamoRepairReader:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def head(self, chat: ChatKey) -> int:
        query = Query(condition="chat_id = :c", values={":c": chat_key(chat)}, limit=1, backward=True)
        items = await self._query(query)
        return int(items[0]["sequence"]) if items else 0

    async def items(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Item]:
        """Read entries as items of the table."""
        query = Query(
            condition="chat_id = :c AND #s BETWEEN :low AND :high",
            names={"#s": "sequence"},
            values={":c": chat_key(chat), ":low": after + 1, ":high": up_to},
            limit=MAX_ITEMS,
        )
        return await self._query(query)

    async def chats_of(self, tenant: TenantId, user: UserId) -> Sequence[ChatKey]:
        """List the chats that the user is or was in, eventually consistent."""
        query = Query(condition="user_id = :u", values={":u": user_key(tenant, user)})
        found: list[ChatKey] = []
        with translate_read_errors:
            async for page in self._client.pages(patterns.LIST_CHATS_OF_USER, query):
                found += [_chat(item) for item in page.items]
        return found

    async def _query(self, query: Query) -> Sequence[Item]:
        with translate_read_errors:
            return (await self._client.query(log_patterns.REPAIR, query)).items


def _chat(item: Item) -> ChatKey:
    tenant, _, chat = str(item["chat_id"]).partition("#")
    return ChatKey(TenantId(tenant), ChatId(chat))
