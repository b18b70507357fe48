"""News as an update: which attributes each part is made of, and the condition under which it may be written.

How an update is spelled depends only on which attributes it has, and there are few such sets: each is spelled once.
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from tidings.delivery import rules
from tidings.delivery.model import LastMessageRef, RowUpdate
from tidings.delivery.store.epoch_reconciler import EpochReconciler
from tidings.delivery.store.items import (
    OF_A_CHAT,
    OF_A_ROW,
    HeadNames,
    row_from_item,
    row_key,
    update_from_item,
)
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, raise_write_error
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.responses import WriteResult
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import delivery as patterns

_HEADS = frozenset({OF_A_ROW.sequence, OF_A_CHAT.sequence})
_FORWARD = _HEADS | {"own_sequence", "joined_sequence", "removed_sequence"}
"""Attributes that only go forward, and the attributes of their part with them."""
_ONCE = frozenset({"large", "other"})
_SHOWN = "preview_sequence"
OF_THIS_EPOCH = "(attribute_not_exists(chat_id) OR #epoch = :epoch)"
"""Of every write that raises a row or a head. One of another epoch may be ahead of its log: it is settled first."""
_SHOWS_MORE = (
    "(attribute_not_exists(#preview_sequence) OR #preview_sequence < :preview_sequence"
    " OR (#preview_sequence = :preview_sequence AND #preview_version < :preview_version))"
)


class UpdateExpression(NamedTuple):
    """An UpdateItem's expressions. Every name is given by `#`: some are words that DynamoDB keeps for itself."""

    update: str
    condition: str
    names: dict[str, str]


class RowWrite(NamedTuple):
    expression: UpdateExpression
    values: dict[str, ItemValue]


def update_all(update: RowUpdate, names: HeadNames) -> RowWrite:
    """Everything, if the head is news and so is what is shown: then all the rest is (see `rules.py`)."""
    return _writing(update, names, is_each_checked=False)


def update_parts(update: RowUpdate, names: HeadNames) -> RowWrite:
    """Everything, if each part is news."""
    return _writing(update, names, is_each_checked=True)


def _writing(update: RowUpdate, names: HeadNames, *, is_each_checked: bool) -> RowWrite:
    sets = _attributes(update, names)
    removes = () if update.shown is None else _absent(update.shown)
    values = {f":{name}": value for name, value in sets.items()}
    return RowWrite(_update_expression(tuple(sets), removes, is_each_checked=is_each_checked), values)


def _attributes(update: RowUpdate, names: HeadNames) -> dict[str, ItemValue]:
    sets: dict[str, ItemValue] = {}
    if update.head is not None:
        sets[names.sequence], sets[names.ordinal] = update.head
    if update.shown is not None:
        sets |= _preview_values(update.shown)
    if update.own is not None:
        sets["own_sequence"], sets["own_ordinal"] = update.own
    if update.joined is not None:
        sets["joined_sequence"], sets["joined_ordinal"], sets["joined_at"] = update.joined
    if update.removed is not None:
        sets["removed_sequence"] = update.removed
    if update.is_large:
        sets["large"] = True
    if update.other is not None:
        sets["other"] = update.other
    if update.epoch:
        sets["epoch"] = update.epoch
    return sets


def _preview_values(shown: LastMessageRef) -> dict[str, ItemValue]:
    sets: dict[str, ItemValue] = {
        "preview_sequence": shown.sequence,
        "preview_version": shown.version,
        "last_at": shown.at_ms,
        "last_sender": shown.sender,
    }
    if shown.preview is not None:
        sets["last_preview"] = shown.preview
    if shown.expires_at_s is not None:
        sets["preview_expires_at"] = shown.expires_at_s
    return sets


def _absent(shown: LastMessageRef) -> tuple[str, ...]:
    """What an earlier message may have left there."""
    held = (("last_preview", shown.preview), ("preview_expires_at", shown.expires_at_s))
    return tuple(name for name, value in held if value is None)


@lru_cache(maxsize=512)
def _update_expression(
    sets: tuple[str, ...], removes: tuple[str, ...], *, is_each_checked: bool
) -> UpdateExpression:
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
    if removes:
        update += " REMOVE " + ", ".join(f"#{name}" for name in removes)
    checked = [name for name in sets if is_each_checked or name in _HEADS or name == _SHOWN]
    conditions = [condition for name in checked if (condition := _condition(name))]
    if "epoch" in sets:
        conditions.append(OF_THIS_EPOCH)
    return UpdateExpression(
        update, " AND ".join(conditions), {f"#{name}": name for name in (*sets, *removes)}
    )


def _condition(name: str) -> str | None:
    if name == _SHOWN:
        return _SHOWS_MORE
    if name in _FORWARD:
        return f"(attribute_not_exists(#{name}) OR #{name} < :{name})"
    return f"attribute_not_exists(#{name})" if name in _ONCE else None


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
