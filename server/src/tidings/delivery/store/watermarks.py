"""Watermarks and flags: each update touches its own attributes of a row and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Final

from tidings.delivery.model import ChatFlags, ChatRow, LogPosition, WatermarkUpdate
from tidings.delivery.store.chat_row_writer import OF_THIS_EPOCH
from tidings.delivery.store.epoch_reconciler import EpochReconciler
from tidings.delivery.store.items import row_from_item, row_key
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    raise_read_error,
    raise_write_error,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.responses import WriteResult
from tidings.schema.tables.patterns import delivery as patterns

_TRIES_TO_SETTLE: Final = 5


class DynamoWatermarkStore:
    """Rows of another epoch are settled before they are raised, and before anybody sees them."""

    def __init__(self, client: DynamoClient, clock: Clock, settling: EpochReconciler) -> None:
        self._client = client
        self._clock = clock
        self._settling = settling

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
        """As `rows_of`, each with the time at which a watermark of it last moved."""
        found = await self._items(patterns.READ_WATERMARKS, chat, users)
        rows = await self._settling.rows_of(chat, {user: row_from_item(item) for user, item in found.items()})
        return {user: (rows[user], _moved_ms(item)) for user, item in found.items()}

    async def _rows(
        self, pattern: AccessPattern, chat: ChatKey, users: Sequence[UserId]
    ) -> Mapping[UserId, ChatRow]:
        found = await self._items(pattern, chat, users)
        return await self._settling.rows_of(chat, {user: row_from_item(item) for user, item in found.items()})

    async def _items(
        self, pattern: AccessPattern, chat: ChatKey, users: Sequence[UserId]
    ) -> Mapping[UserId, Item]:
        keys = [row_key(chat, user) for user in users]
        try:
            found = await self._client.batch_get(pattern, keys) if keys else []
        except DynamoError as error:
            raise_read_error(error)
        return {UserId(item["user_id"].partition("#")[2]): item for item in found}

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> ChatRow:
        update, values = _flags(flags)
        try:
            done = await self._client.update(
                patterns.SET_FLAGS,
                row_key(chat, user),
                update,
                values=values or None,
                returns="ALL_NEW",
                repeatable=True,
            )
        except DynamoError as error:
            raise_write_error(error)
        return await self._settling.row(chat, user, row_from_item(done.attributes or {}))

    async def _raise(
        self,
        pattern: AccessPattern,
        chat: ChatKey,
        user: UserId,
        mark: Mapping[str, int],
        *,
        also: str | None = None,
    ) -> WatermarkUpdate:
        """A row that has it, or is further, answers as well as one that was raised."""
        maybe_applied = False
        for _ in range(_TRIES_TO_SETTLE):
            try:
                done = await self._write(pattern, chat, user, mark, also)
                return WatermarkUpdate(row_from_item(done.attributes or {}), has_risen=True)
            except ConditionFailedError as failed:
                # the first try of it may have been applied and not answered: told twice is as good as once
                maybe_applied |= failed.maybe_applied
                row = row_from_item(failed.item or {})
                if self._settling.is_reconciled(row.known):
                    return WatermarkUpdate(row, has_risen=maybe_applied)
                await self._settling.row(chat, user, row)
            except DynamoError as error:
                raise_write_error(error)
        raise TidingsError(Code.OVERLOADED, "A row changes faster than it can be settled.")

    async def _write(
        self,
        pattern: AccessPattern,
        chat: ChatKey,
        user: UserId,
        mark: Mapping[str, int],
        also: str | None,
    ) -> WriteResult:
        sequence, ordinal = mark
        sets = [
            f"{sequence} = :n",
            f"{ordinal} = :o",
            "updated_at = :now",
            *([f"{also} = :now"] if also else ()),
        ]
        condition = f"(attribute_not_exists({sequence}) OR {sequence} < :n)"
        values = {":n": mark[sequence], ":o": mark[ordinal], ":now": self._clock.now_ms()}
        epoch = self._settling.epoch()
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


def _moved_ms(item: Item) -> int | None:
    at = item.get("updated_at")
    return None if at is None else int(at)


def _flags(flags: ChatFlags) -> tuple[str, dict[str, ItemValue]]:
    sets: dict[str, ItemValue] = {}
    if flags.is_pinned is not None:
        sets["pinned"] = flags.is_pinned
    if flags.is_archived is not None:
        sets["archived"] = flags.is_archived
    if flags.muted_until_ms:
        sets["muted_until"] = flags.muted_until_ms
    removes = " REMOVE muted_until" if flags.muted_until_ms == 0 else ""
    update = "SET " + ", ".join(f"{name} = :{name}" for name in sets) if sets else ""
    return (update + removes).strip(), {f":{name}": value for name, value in sets.items()}
