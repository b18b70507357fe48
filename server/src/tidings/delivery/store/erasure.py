"""Remove an erased user, or expired messages, from heads, chat rows and the offline queue. Every call can be repeated."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tidings.delivery.store.items import row_key
from tidings.kernel.ids import ChatKey, ErasedUser, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.patterns import delivery as patterns

_HIDE: Final = "SET last_sender = :pseudonym REMOVE last_preview"
_EXPIRE: Final = "SET preview_expires_at = :at REMOVE last_preview"
_SHOWS_EXPIRED: Final = "attribute_exists(last_preview) AND preview_sequence <= :n"
_SHOWS_USER: Final = "last_sender = :user"


class _OwnItems(NamedTuple):
    """How to list and delete the items of a user in one table."""

    listing: AccessPattern
    deletion: AccessPattern
    sort: str
    projection: str


_ROWS: Final = _OwnItems(patterns.LIST_OWN_ROWS, patterns.DELETE_OWN_ROWS, "chat_id", "user_id, chat_id")
_QUEUE: Final = _OwnItems(
    patterns.DRAIN_PENDING,
    patterns.WITHDRAW_PENDING,
    "message_key",
    "user_id, message_key, chat_id, sender_id",
)


class DynamoDeliveryEraser:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def delivered_up_to(self, chat: ChatKey, other: UserId | None, /) -> int:
        with translate_read_errors:
            if other is None:
                head = await self._client.get(patterns.CHECK_HEAD, {"chat_id": chat_key(chat)})
                return 0 if head is None else int(head.get("sequence_counter", 0))
            row = await self._client.get(patterns.READ_ROW, row_key(chat, other))
        return 0 if row is None else int(row.get("last_sequence", 0))

    async def replace(self, chat: ChatKey, other: UserId | None, erased: ErasedUser, /) -> None:
        if other is None:
            await self._change(patterns.ERASE_HEAD, {"chat_id": chat_key(chat)}, _HIDE, _SHOWS_USER, erased)
            return
        # Two updates: the other user may have sent the last message.
        key = row_key(chat, other)
        await self._change(patterns.ERASE_SHOWN, key, _HIDE, _SHOWS_USER, erased)
        await self._change(patterns.ERASE_ROW, key, "SET #o = :pseudonym", "#o = :user", erased)

    async def withdraw(self, chat: ChatKey, other: UserId, user: UserId, /) -> int:
        def is_meant(item: Item) -> bool:
            return bool(item["chat_id"] == chat_key(chat) and item["sender_id"] == user)

        return await self._delete(_QUEUE, chat.tenant, other, is_meant)

    async def delete_own(self, tenant: TenantId, user: UserId, /) -> int:
        rows = await self._delete(_ROWS, tenant, user)
        return rows + await self._delete(_QUEUE, tenant, user)

    async def expire(self, chat: ChatKey, users: Sequence[UserId], up_to: int, at_ms: int, /) -> None:
        values: dict[str, ItemValue] = {":n": up_to, ":at": at_ms // 1000}
        targets: list[tuple[AccessPattern, dict[str, ItemValue]]] = [
            (patterns.EXPIRE_SHOWN, row_key(chat, user)) for user in users
        ]
        for pattern, key in targets or [(patterns.EXPIRE_HEAD, {"chat_id": chat_key(chat)})]:
            with translate_write_errors:
                await condition_held(
                    self._client.update(
                        pattern, key, _EXPIRE, condition=_SHOWS_EXPIRED, values=values, repeatable=True
                    )
                )

    async def _change(
        self,
        pattern: AccessPattern,
        key: dict[str, ItemValue],
        update: str,
        condition: str,
        erased: ErasedUser,
    ) -> None:
        """Update an item that names the user. One that does not, or does not exist, stays as it is."""
        values: dict[str, ItemValue] = {":user": erased.user, ":pseudonym": erased.pseudonym}
        names = {"#o": "other"} if "#o" in update else None
        with translate_write_errors:
            await condition_held(
                self._client.update(
                    pattern, key, update, condition=condition, names=names, values=values, repeatable=True
                )
            )

    async def _delete(
        self, table: _OwnItems, tenant: TenantId, user: UserId, is_meant: Callable[[Item], bool] | None = None
    ) -> int:
        """Delete items of a user page by page. Return their number."""
        query = Query(
            condition="user_id = :u", values={":u": user_key(tenant, user)}, projection=table.projection
        )
        count = 0
        with translate_write_errors:
            async for page in self._client.pages(table.listing, query):
                meant = [item for item in page.items if is_meant is None or is_meant(item)]
                keys = [{"user_id": item["user_id"], table.sort: item[table.sort]} for item in meant]
                if keys:
                    await self._client.batch_write(table.deletion, deletes=keys, repeatable=True)
                count += len(keys)
        return count
