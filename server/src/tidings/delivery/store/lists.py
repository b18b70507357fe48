"""Chat-list rows for reading: all of a user's, and the heads of large chats."""

from collections.abc import Mapping, Sequence

from tidings.delivery.model import ChatRow, RowUpdate
from tidings.delivery.side_by_side import gather_limited
from tidings.delivery.store.items import OF_A_CHAT, row_from_item, row_key, update_from_item
from tidings.delivery.store.listed_rows import ROW_ITEM, row_from_bytes
from tidings.delivery.store.settling import EpochReconciler
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error
from tidings.platform.dynamo.queries import Query
from tidings.tables.items.chat import chat_key, user_key
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import delivery as patterns

_CHATS_OF = KeyTemplate("{tenant}#")


class DynamoChatRowReader:
    """Rows and heads of another epoch are compared with their logs before anybody sees them."""

    def __init__(self, client: DynamoClient, settling: EpochReconciler) -> None:
        self._client = client
        self._settling = settling

    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[ChatRow]:
        """The user's blocks stand beside them, under `block#`; they are not read."""
        query = Query(
            condition="user_id = :u AND begins_with(chat_id, :t)",
            values={":u": user_key(tenant, user), ":t": _CHATS_OF.render(tenant=tenant)},
        )
        found: list[ChatRow] = []
        try:
            async for page in self._client.pages_as(ROW_ITEM, patterns.READ_ROWS, query):
                found += map(row_from_bytes, page.items)
        except DynamoError as error:
            raise_read_error(error)
        return await self._settling.rows_in(tenant, user, found)

    async def row(self, chat: ChatKey, user: UserId) -> ChatRow | None:
        try:
            item = await self._client.get(patterns.READ_ROW, row_key(chat, user))
        except DynamoError as error:
            raise_read_error(error)
        return None if item is None else await self._settling.row(chat, user, row_from_item(item))

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]:
        keys = [{"chat_id": chat_key(ChatKey(tenant, chat))} for chat in chats]
        try:
            found = await self._client.batch_get(patterns.READ_HEADS, keys) if keys else []
        except DynamoError as error:
            raise_read_error(error)
        heads = {
            ChatId(item["chat_id"].partition("#")[2]): update_from_item(item, OF_A_CHAT) for item in found
        }
        settled = [self._settling.head(ChatKey(tenant, chat), head) for chat, head in heads.items()]
        return dict(zip(heads, await gather_limited(settled), strict=True))
