"""Writes rows and heads: in order one write each, late or repeated only what is missing."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from tidings.delivery import rules
from tidings.delivery.model import RowUpdate
from tidings.delivery.store.items import (
    OF_A_CHAT,
    OF_A_ROW,
    HeadNames,
    row_from_item,
    row_key,
    update_from_item,
)
from tidings.delivery.store.settling import EpochReconciler
from tidings.delivery.store.writing import RowWrite, update_all, update_parts
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import raise_write_error
from tidings.platform.dynamo.results import WriteResult
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.tables.items.chat import chat_key
from tidings.tables.patterns import delivery as patterns

_TRIES_TO_SETTLE: Final = 5


class _Target(NamedTuple):
    """A row or a head: how it is written, and how it is settled if it is of another epoch."""

    raising: AccessPattern
    mending: AccessPattern
    key: dict[str, ItemValue]
    names: HeadNames
    settle: Callable[[Item], Awaitable[object]]


class DynamoChatRowWriter:
    """Rows and heads carry the epoch, and those of another epoch are settled before anything is written to them."""

    def __init__(self, client: DynamoClient, settling: EpochReconciler) -> None:
        self._client = client
        self._settling = settling

    async def raise_row(self, chat: ChatKey, user: UserId, update: RowUpdate) -> int:
        return await self._raise(self._row(chat, user), self._now(update))

    async def repair_row(self, chat: ChatKey, user: UserId, update: RowUpdate) -> None:
        await self._repair(self._row(chat, user), self._now(update))

    async def raise_head(self, chat: ChatKey, update: RowUpdate) -> int:
        return await self._raise(self._head(chat), self._now(RowUpdate(head=update.head, shown=update.shown)))

    def _now(self, news: RowUpdate) -> RowUpdate:
        epoch = self._settling.epoch()
        return replace(news, epoch=epoch) if epoch else news

    def _row(self, chat: ChatKey, user: UserId) -> _Target:
        key = row_key(chat, user)

        async def settle(item: Item) -> None:
            await self._settling.row(chat, user, row_from_item(item | key))

        return _Target(patterns.RAISE_ROW, patterns.REPAIR_ROW, key, OF_A_ROW, settle)

    def _head(self, chat: ChatKey) -> _Target:
        key: dict[str, ItemValue] = {"chat_id": chat_key(chat)}

        async def settle(item: Item) -> None:
            await self._settling.head(chat, update_from_item(item, OF_A_CHAT))

        return _Target(patterns.RAISE_HEAD, patterns.REPAIR_HEAD, key, OF_A_CHAT, settle)

    async def _raise(self, target: _Target, update: RowUpdate) -> int:
        """Return how far the target was before.

        If the answer to a first try was lost, the repeat finds that try's own write and returns it. So this row hides
        what it had missed. The rows of other members, the mark and the worker's look back show it all the same.
        """
        done = await self._try(target, target.raising, update_all(update, target.names), update.epoch)
        if isinstance(done, WriteResult):
            return int((done.attributes or {}).get(target.names.sequence, 0))
        # The target is as far or further. What it does not have of these news all the same came late.
        had = done.head.sequence if done.head else 0
        missing = rules.newer_parts(done, update)
        if missing is not None:
            await self._repair(target, replace(missing, epoch=update.epoch))
        return had

    async def _repair(self, target: _Target, update: RowUpdate) -> None:
        """A part that somebody else wrote meanwhile is left out of the next try, so this ends."""
        missing: RowUpdate | None = update
        while missing is not None:
            writing = update_parts(replace(missing, epoch=update.epoch), target.names)
            done = await self._try(target, target.mending, writing, update.epoch)
            missing = None if isinstance(done, WriteResult) else rules.newer_parts(done, update)

    async def _try(
        self, target: _Target, pattern: AccessPattern, writing: RowWrite, epoch: int
    ) -> WriteResult | RowUpdate:
        """Write, after the target was settled. Return what it knows if that is no news to it."""
        try:
            for _ in range(_TRIES_TO_SETTLE):
                try:
                    return await self._write(pattern, target.key, writing)
                except ConditionFailedError as failed:
                    item = failed.item or {}
                    known = update_from_item(item, target.names)
                    if not epoch or known.epoch == epoch:
                        return known
                    await target.settle(item)
        except DynamoError as error:
            raise_write_error(error)
        raise TidingsError(Code.OVERLOADED, "A row changes faster than it can be settled.")

    async def _write(
        self, pattern: AccessPattern, key: dict[str, ItemValue], writing: RowWrite
    ) -> WriteResult:
        return await self._client.update(
            pattern,
            key,
            writing.expression.update,
            condition=writing.expression.condition,
            names=writing.expression.names,
            values=writing.values,
            returns="UPDATED_OLD",
            repeatable=True,
        )
