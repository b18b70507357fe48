"""Chats for those who look at them."""

from collections.abc import Sequence

from tidings.chats.model import Chat, MemberPage, Membership
from tidings.chats.store import items
from tidings.chats.store.rows import DynamoChatStore
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error
from tidings.platform.dynamo.queries import Query, QueryPage
from tidings.platform.dynamo.values import Item
from tidings.tables.items.chat import chat_key, user_key
from tidings.tables.patterns import chats as patterns


class DynamoChatReader:
    def __init__(self, client: DynamoClient, rows: DynamoChatStore) -> None:
        self._client = client
        self._rows = rows

    async def chat(self, chat: ChatKey) -> Chat | None:
        try:
            item = await self._client.get(patterns.READ, {"chat_id": chat_key(chat)})
        except DynamoError as error:
            raise_read_error(error)
        # a copy that lags does not know a chat that was made a moment ago
        return await self._rows.chat(chat) if item is None else items.chat_from_item(item)

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        return await self._rows.membership(chat, user)

    async def members(self, chat: ChatKey, after: UserId | None, limit: int) -> MemberPage[Membership]:
        query = Query(
            condition="chat_id = :chat",
            values={":chat": chat_key(chat)},
            limit=limit,
            start=None if after is None else items.membership_key(chat, after),
        )
        page = await self._page(patterns.LIST_MEMBERS, query)
        rows = tuple(items.membership_from_item(item) for item in page.items)
        return MemberPage(rows, rows[-1].user if rows and page.start is not None else None)

    async def chats_of(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> Sequence[tuple[ChatId, Membership]]:
        """List the chats that the user ever was in, by id, from the index: the last seconds may be missing."""
        own = user_key(tenant, user)
        start = None if after is None else items.membership_key(ChatKey(tenant, after), user)
        query = Query(condition="user_id = :user", values={":user": own}, limit=limit, start=start)
        page = await self._page(patterns.LIST_CHATS_OF_USER, query)
        return [(items.chat_id_from_key(item), items.membership_from_item(item)) for item in page.items]

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]:
        query = Query(
            condition="user_id = :user AND begins_with(chat_id, :block)",
            values={":user": user_key(tenant, user), ":block": items.BLOCKS},
            limit=limit,
            start=None if after is None else items.block_key(tenant, user, after),
        )
        page = await self._page(patterns.LIST_BLOCKS, query)
        others = tuple(map(items.blocked_from_item, page.items))
        return MemberPage(others, others[-1] if others and page.start is not None else None)

    async def _page(self, pattern: AccessPattern, query: Query) -> QueryPage[Item]:
        try:
            return await self._client.query(pattern, query)
        except DynamoError as error:
            raise_read_error(error)
