"""Read chat rows and heads; raise watermarks and set flags, each by an update of its own attributes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tidings.chats.model import Chat
from tidings.delivery.model import ChatFlags, ChatRow, LogPosition, RowUpdate, WatermarkUpdate
from tidings.delivery.store.chat_row_writer import OF_THIS_EPOCH
from tidings.delivery.store.epoch_reconciler import EpochReconciler
from tidings.delivery.store.items import (
    OF_A_CHAT,
    ROW_ITEM,
    row_from_bytes,
    row_from_item,
    row_key,
    update_from_item,
)
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Query
from tidings.platform.dynamo.responses import WriteResult
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import delivery as patterns

_RECONCILE_ATTEMPTS: Final = 5
_CHATS_OF = KeyTemplate("{tenant}#")


class DynamoChatRowReader:
    """Rows and heads of another epoch are compared with their logs before they are returned."""

    def __init__(
        self, client: DynamoClient, reconciler: EpochReconciler, chat_from_item: Callable[[Item], Chat]
    ) -> None:
        self._client = client
        self._reconciler = reconciler
        self._chat_from_item = chat_from_item

    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[ChatRow]:
        # The prefix excludes the user's blocks, which have the sort key `*block#…` in the same partition.
        query = Query(
            condition="user_id = :u AND begins_with(chat_id, :t)",
            values={":u": user_key(tenant, user), ":t": _CHATS_OF.render(tenant=tenant)},
        )
        # Race: the worker writes the row of a new chat whose key is before the next page, and this read misses it. A
        # gateway registers the route before it reads, and the worker looks up routes after the write, so it pushes.
        found: list[ChatRow] = []
        with translate_read_errors:
            async for page in self._client.pages_as(ROW_ITEM, patterns.READ_ROWS, query):
                found += map(row_from_bytes, page.items)
        return await self._reconciler.rows_in(tenant, user, found)

    async def rows_in(
        self, tenant: TenantId, user: UserId, chats: Sequence[ChatId]
    ) -> Mapping[ChatId, ChatRow]:
        keys = [row_key(ChatKey(tenant, chat), user) for chat in chats]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_ROWS_AGAIN, keys) if keys else []
        rows = await self._reconciler.rows_in(tenant, user, [row_from_item(item) for item in found])
        return {row.chat: row for row in rows}

    async def row(self, chat: ChatKey, user: UserId) -> ChatRow | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_ROW, row_key(chat, user))
        return None if item is None else await self._reconciler.row(chat, user, row_from_item(item))

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]:
        if not chats:
            return {}
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_HEADS, _keys_of(tenant, chats))
        return await self._heads(tenant, found)

    async def heads_and_chats(
        self, tenant: TenantId, chats: Sequence[ChatId]
    ) -> tuple[Mapping[ChatId, RowUpdate], Mapping[ChatId, Chat]]:
        keys = _keys_of(tenant, chats)
        with translate_read_errors:
            found = await self._client.batch_get_tables(
                patterns.READ_GROUPS, dict.fromkeys(patterns.READ_GROUPS.tables, keys)
            )
        of_heads, of_chats = (found[table] for table in patterns.READ_GROUPS.tables)
        groups = map(self._chat_from_item, of_chats)
        return await self._heads(tenant, of_heads), {group.key.chat: group for group in groups}

    async def _heads(self, tenant: TenantId, found: Sequence[Item]) -> Mapping[ChatId, RowUpdate]:
        heads = {
            ChatId(item["chat_id"].partition("#")[2]): update_from_item(item, OF_A_CHAT) for item in found
        }
        reconciled = [self._reconciler.head(ChatKey(tenant, chat), head) for chat, head in heads.items()]
        return dict(zip(heads, await gather_limited(reconciled), strict=True))


def _keys_of(tenant: TenantId, chats: Sequence[ChatId]) -> list[dict[str, str]]:
    return [{"chat_id": chat_key(ChatKey(tenant, chat))} for chat in chats]


class DynamoWatermarkStore:
    """Rows of another epoch are reconciled before they are changed or returned."""

    def __init__(self, client: DynamoClient, clock: Clock, reconciler: EpochReconciler) -> None:
        self._client = client
        self._clock = clock
        self._reconciler = reconciler

    async def raise_read(self, chat: ChatKey, user: UserId, position: LogPosition) -> WatermarkUpdate:
        names = ("last_read_sequence", "read_ordinal")
        return await self._raise(
            patterns.RAISE_READ, chat, user, dict(zip(names, position, strict=True)), also="read_at"
        )

    async def raise_delivered(self, chat: ChatKey, user: UserId, position: LogPosition) -> WatermarkUpdate:
        names = ("last_acked_sequence", "last_acked_ordinal")
        return await self._raise(
            patterns.RAISE_DELIVERED, chat, user, dict(zip(names, position, strict=True))
        )

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        return await self._rows(patterns.READ_WATERMARKS, chat, users)

    async def rows_now(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        return await self._rows(patterns.READ_RECEIPTS, chat, users)

    async def rows_and_times(
        self, chat: ChatKey, users: Sequence[UserId]
    ) -> Mapping[UserId, tuple[ChatRow, int | None]]:
        """Return rows as `rows_of`, each with the time of the last watermark change."""
        found = await self._items(patterns.READ_WATERMARKS, chat, users)
        rows = await self._reconciler.rows_of(
            chat, {user: row_from_item(item) for user, item in found.items()}
        )
        return {user: (rows[user], _changed_ms(item)) for user, item in found.items()}

    async def _rows(
        self, pattern: AccessPattern, chat: ChatKey, users: Sequence[UserId]
    ) -> Mapping[UserId, ChatRow]:
        found = await self._items(pattern, chat, users)
        return await self._reconciler.rows_of(
            chat, {user: row_from_item(item) for user, item in found.items()}
        )

    async def _items(
        self, pattern: AccessPattern, chat: ChatKey, users: Sequence[UserId]
    ) -> Mapping[UserId, Item]:
        keys = [row_key(chat, user) for user in users]
        with translate_read_errors:
            found = await self._client.batch_get(pattern, keys) if keys else []
        return {UserId(item["user_id"].partition("#")[2]): item for item in found}

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> ChatRow:
        # Race: a member sets a flag before the worker has written the row for their join. The update creates a row that
        # has only flags. Readers skip rows without a join, and the worker adds the other parts.
        update, values = _flags(flags)
        with translate_write_errors:
            done = await self._client.update(
                patterns.SET_FLAGS,
                row_key(chat, user),
                update,
                values=values or None,
                returns="ALL_NEW",
                repeatable=True,
            )
        return await self._reconciler.row(chat, user, row_from_item(done.attributes or {}))

    async def _raise(
        self,
        pattern: AccessPattern,
        chat: ChatKey,
        user: UserId,
        position: Mapping[str, int],
        *,
        also: str | None = None,
    ) -> WatermarkUpdate:
        """Raise a watermark. A row that is already further is returned as it is."""
        maybe_applied = False
        for _ in range(_RECONCILE_ATTEMPTS):
            try:
                done = await self._write(pattern, chat, user, position, also)
                return WatermarkUpdate(row_from_item(done.attributes or {}), has_risen=True)
            except ConditionFailedError as failed:
                # Race: another device raised the watermark further, or our own first attempt was applied and its
                # response lost. The second case must notify; a duplicate notification is harmless.
                maybe_applied |= failed.maybe_applied
                row = row_from_item(failed.item or {})
                if self._reconciler.is_reconciled(row.known):
                    return WatermarkUpdate(row, has_risen=maybe_applied)
                await self._reconciler.row(chat, user, row)
            except DynamoError as error:
                raise_write_error(error)
        raise TidingsError(Code.OVERLOADED, "A chat row changes faster than it can be reconciled. Retry.")

    async def _write(
        self,
        pattern: AccessPattern,
        chat: ChatKey,
        user: UserId,
        position: Mapping[str, int],
        also: str | None,
    ) -> WriteResult:
        sequence, ordinal = position
        sets = [
            f"{sequence} = :n",
            f"{ordinal} = :o",
            "updated_at = :now",
            *([f"{also} = :now"] if also else ()),
        ]
        condition = f"(attribute_not_exists({sequence}) OR {sequence} < :n)"
        values = {":n": position[sequence], ":o": position[ordinal], ":now": self._clock.now_ms()}
        epoch = self._reconciler.epoch()
        if epoch:
            sets.append("#epoch = :epoch")
            condition += f" AND {OF_THIS_EPOCH}"
            values[":epoch"] = epoch
        return await self._client.update(
            pattern,
            row_key(chat, user),
            "SET " + ", ".join(sets),
            condition=condition,
            names={"#epoch": "epoch"} if epoch else None,
            values=values,
            returns="ALL_NEW",
            repeatable=True,
        )


def _changed_ms(item: Item) -> int | None:
    at = item.get("updated_at")
    return None if at is None else int(at)


def _flags(flags: ChatFlags) -> tuple[str, dict[str, ItemValue]]:
    sets: dict[str, ItemValue] = {}
    if flags.is_pinned is not None:
        sets["pinned"] = flags.is_pinned
    if flags.is_archived is not None:
        sets["archived"] = flags.is_archived
    if flags.notify is not None:
        sets["notify"] = flags.notify[0]  # One letter, so that the largest row is one write unit.
    if flags.muted_until_ms:
        sets["muted_until"] = flags.muted_until_ms
    removes = " REMOVE muted_until" if flags.muted_until_ms == 0 else ""
    update = "SET " + ", ".join(f"{name} = :{name}" for name in sets) if sets else ""
    return (update + removes).strip(), {f":{name}": value for name, value in sets.items()}
