"""Limits and legal holds of chats in DynamoDB, and how far each log has expired and is archived."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import ExpiredRange
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    condition_held,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Delete, Put, Query, TransactAction, Update
from tidings.retention.model import ChatRetention
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.items.retention import OWN_LIMITS, UNINDEXED, own_limit_key, unindexed_key
from tidings.schema.tables.patterns import retention as patterns

_CHATS, _ERASURES = "chats", "erasures"
_EXISTS: Final = "attribute_exists(chat_id)"
_RANGE: Final = {"#first": "first", "#last": "last"}


class DynamoRetentionStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, chat: ChatKey, /) -> ChatRetention | None:
        with translate_read_errors:
            item = await self._client.get(patterns.CHECK_RETENTION, _chat(chat))
        return None if item is None else _retention_from_item(item)

    async def read_many(
        self, tenant: TenantId, chats: Collection[ChatId], /
    ) -> Mapping[ChatId, ChatRetention]:
        keys = [_chat(ChatKey(tenant, chat)) for chat in chats]
        with translate_read_errors:
            items = await self._client.batch_get(patterns.COMPARE_RETENTION, keys) if keys else []
        return {ChatId(item["chat_id"].partition("#")[2]): _retention_from_item(item) for item in items}

    async def set_days(self, chat: ChatKey, days: int | None, /) -> bool:
        change = "REMOVE retention_days" if days is None else "SET retention_days = :days"
        values: dict[str, ItemValue] | None = None if days is None else {":days": days}
        row = Update(table=_CHATS, key=_chat(chat), update=change, condition=_EXISTS, values=values)
        key = own_limit_key(chat.tenant, chat.chat)
        listed: TransactAction = (
            Delete(table=_ERASURES, key=key) if days is None else Put(table=_ERASURES, item=key)
        )
        with translate_write_errors:
            return await self._client.try_transact_write(patterns.SET_LIMIT, [row, listed], repeatable=True)

    async def set_hold(self, chat: ChatKey, /, *, is_held: bool) -> bool:
        with translate_write_errors:
            return await condition_held(
                self._client.update(
                    patterns.SET_HOLD,
                    _chat(chat),
                    "SET held = :held" if is_held else "REMOVE held",
                    condition=_EXISTS,
                    values={":held": True} if is_held else None,
                    repeatable=True,
                )
            )

    async def list_limited(self, tenant: TenantId, /) -> Sequence[ChatId]:
        items = await self._list(patterns.LIST_LIMITS, OWN_LIMITS.render(tenant=tenant))
        return [ChatId(item["erasure"]) for item in items]

    async def advance(self, chat: ChatKey, up_to: int, oldest_ms: int | None, /) -> None:
        await self._advance(patterns.ADVANCE_EXPIRY, chat, "expired_up_to", (up_to, "oldest_at", oldest_ms))

    async def advance_archive(self, chat: ChatKey, up_to: int, oldest_ms: int | None, /) -> None:
        await self._advance(
            patterns.ADVANCE_ARCHIVE, chat, "archived_up_to", (up_to, "unarchived_at", oldest_ms)
        )

    async def _advance(
        self, pattern: AccessPattern, chat: ChatKey, position: str, new: tuple[int, str, int | None]
    ) -> None:
        up_to, oldest, oldest_ms = new
        values: dict[str, ItemValue] = {":n": up_to}
        change = f"SET {position} = :n"
        if oldest_ms is None:
            change += f" REMOVE {oldest}"
        else:
            change += f", {oldest} = :oldest"
            values[":oldest"] = oldest_ms
        with translate_write_errors:
            # Race: another process sweeps the same chat and is further. Its position stays.
            await condition_held(
                self._client.update(
                    pattern,
                    _chat(chat),
                    change,
                    condition=f"{_EXISTS} AND (attribute_not_exists({position}) OR {position} <= :n)",
                    values=values,
                    repeatable=True,
                )
            )

    async def note_unindexed(self, chat: ChatKey, first: int, last: int, /) -> None:
        with translate_write_errors:
            # Race: another process sweeps the same chat and is further. Its note stays: it wrote one for this page before
            # that of the next page, so these messages are in the note or removed.
            await condition_held(
                self._client.update(
                    patterns.NOTE_UNINDEXED,
                    unindexed_key(chat.tenant, chat.chat),
                    "SET #first = if_not_exists(#first, :first), #last = :last",
                    condition="attribute_not_exists(#last) OR #last <= :last",
                    names=_RANGE,
                    values={":first": first, ":last": last},
                    repeatable=True,
                )
            )

    async def unindexed(self, tenant: TenantId, /) -> Sequence[ExpiredRange]:
        """Return the expired messages of a tenant that the index may have."""
        items = await self._list(patterns.LIST_UNINDEXED, UNINDEXED.render(tenant=tenant))
        return [
            ExpiredRange(ChatKey(tenant, ChatId(item["erasure"])), int(item["first"]), int(item["last"]))
            for item in items
        ]

    async def delete_unindexed(self, done: ExpiredRange, /) -> None:
        """Delete a note, unless more messages have expired since it was read."""
        with translate_write_errors:
            await condition_held(
                self._client.delete(
                    patterns.DELETE_UNINDEXED,
                    unindexed_key(done.chat.tenant, done.chat.chat),
                    condition="#last = :last",
                    names={"#last": "last"},
                    values={":last": done.last},
                    repeatable=True,
                )
            )

    async def _list(self, pattern: AccessPattern, partition: str) -> list[Item]:
        query = Query(condition="tenant = :t", values={":t": partition})
        with translate_read_errors:
            return [item async for page in self._client.pages(pattern, query) for item in page.items]


def _chat(chat: ChatKey) -> dict[str, ItemValue]:
    return {"chat_id": chat_key(chat)}


def _retention_from_item(item: Item) -> ChatRetention:
    days, oldest, unarchived = (item.get(name) for name in ("retention_days", "oldest_at", "unarchived_at"))
    return ChatRetention(
        days=None if days is None else int(days),
        is_held=item.get("held", False),
        expired_up_to=int(item.get("expired_up_to", 0)),
        oldest_ms=None if oldest is None else int(oldest),
        archived_up_to=int(item.get("archived_up_to", 0)),
        unarchived_ms=None if unarchived is None else int(unarchived),
    )
