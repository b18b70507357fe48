"""Write chat rows and heads by conditional updates: each part is written only if it is newer.

An update expression depends only on the set of attributes. There are few such sets, so expressions are cached.
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from tidings.chats.model import ChatType, chat_type
from tidings.delivery import rules
from tidings.delivery.model import LastMessageRef, LogPosition, RowUpdate
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
from tidings.platform.dynamo.errors import ConditionFailedError, translate_write_errors
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.responses import WriteResult
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import delivery as patterns

_HEADS = frozenset({OF_A_ROW.sequence, OF_A_CHAT.sequence})
_FORWARD = _HEADS | {"own_sequence", "joined_sequence", "removed_sequence"}
"""Attributes that only move forward, each together with the other attributes of its part."""
_ONCE = frozenset({"large", "other"})
_SHOWN = "preview_sequence"
_QUIET = "quiet_at"
_SAME = "#n = :n"
_NOT_FURTHER = "#n <= :n AND (attribute_not_exists(removed_sequence) OR removed_sequence < joined_sequence)"
OF_THIS_EPOCH = "(attribute_not_exists(chat_id) OR #epoch = :epoch)"
"""Condition of every write. A row or head of another epoch may be ahead of its log: reconcile it first."""
# Race: a worker writes the preview after an edit or redaction, and the previous worker of the partition still writes
# the original message. Both have the sequence of the message, so the version decides, and removed text does not return.
_SHOWS_MORE = (
    "(attribute_not_exists(#preview_sequence) OR #preview_sequence < :preview_sequence"
    " OR (#preview_sequence = :preview_sequence AND #preview_version < :preview_version))"
)


class UpdateExpression(NamedTuple):
    """The expressions of an UpdateItem. All names are `#` placeholders, because some are reserved words."""

    update: str
    condition: str
    names: dict[str, str]


class RowWrite(NamedTuple):
    expression: UpdateExpression
    values: dict[str, ItemValue]


def update_all(update: RowUpdate, names: HeadNames, *, ends_quiet: bool = False) -> RowWrite:
    """Write everything if head and shown message are newer: then all other parts are, too (see `rules.py`)."""
    return _row_write(update, names, is_each_checked=False, ends_quiet=ends_quiet)


def update_adjoining(
    update: RowUpdate, names: HeadNames, first: int, *, ends_quiet: bool = False
) -> RowWrite:
    """Write everything if the head is at `first - 1` or inside the run: then there is no gap before the run."""
    write = update_all(update, names, ends_quiet=ends_quiet)
    if first == 1:
        return write
    condition = f"#{names.sequence} >= :before AND {write.expression.condition}"
    return RowWrite(write.expression._replace(condition=condition), write.values | {":before": first - 1})


def update_parts(update: RowUpdate, names: HeadNames, *, ends_quiet: bool = False) -> RowWrite:
    """Write everything if each part is newer."""
    return _row_write(update, names, is_each_checked=True, ends_quiet=ends_quiet)


def _row_write(update: RowUpdate, names: HeadNames, *, is_each_checked: bool, ends_quiet: bool) -> RowWrite:
    sets = _attributes(update, names)
    removes = () if update.shown is None else _absent(update.shown)
    if ends_quiet and update.head is not None:
        removes = (*removes, _QUIET)
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
    if update.entry_at_ms is not None:
        sets["entry_at"] = update.entry_at_ms
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
    """Return the attributes to remove, which an earlier message may have set."""
    optional = (("last_preview", shown.preview), ("preview_expires_at", shown.expires_at_s))
    return tuple(name for name, value in optional if value is None)


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
    names = {f"#{name}": name for name in (*sets, *removes)}
    if OF_A_CHAT.sequence in sets and _QUIET not in removes:
        conditions.append(f"attribute_not_exists(#{_QUIET})")
        names[f"#{_QUIET}"] = _QUIET
    return UpdateExpression(update, " AND ".join(conditions), names)


def _condition(name: str) -> str | None:
    if name == _SHOWN:
        return _SHOWS_MORE
    if name in _FORWARD:
        return f"(attribute_not_exists(#{name}) OR #{name} < :{name})"
    return f"attribute_not_exists(#{name})" if name in _ONCE else None


_RECONCILE_ATTEMPTS: Final = 5


class _Target(NamedTuple):
    """A row or a head: how it is written, and how it is reconciled if it is of another epoch."""

    raise_pattern: AccessPattern
    repair_pattern: AccessPattern
    key: dict[str, ItemValue]
    names: HeadNames
    reconcile: Callable[[Item], Awaitable[object]]
    ends_quiet: bool


class _QuietHeadError(Exception):
    """The head is marked, so the rows of members may be copies of it."""


class DynamoChatRowWriter:
    """Rows and heads of another epoch are reconciled with their log before they are written."""

    def __init__(self, client: DynamoClient, reconciler: EpochReconciler) -> None:
        self._client = client
        self._reconciler = reconciler

    async def raise_row(self, chat: ChatKey, user: UserId, first: int, update: RowUpdate) -> int:
        return await self._raise(self._row(chat, user), first, self._with_epoch(update))

    async def raise_head(
        self, chat: ChatKey, first: int, update: RowUpdate, *, ends_quiet: bool = False
    ) -> int | None:
        target = self._head(chat, ends_quiet=ends_quiet)
        try:
            return await self._raise(target, first, self._with_epoch(update))
        except _QuietHeadError:
            return None

    async def copy_head(self, chat: ChatKey, user: UserId, head: RowUpdate) -> bool:
        # Race: a worker raises the head at any time during this call. If it does so before the mark, the mark's condition
        # fails. Later it finds the mark, and raises the rows of all members to its entry first: it removes the copy, or
        # the copy's condition fails.
        if head.head is None:
            return False
        at_ms = head.shown.at_ms if head.shown else 0
        try:
            if head.quiet_at_ms is None:
                await self._mark(patterns.MARK_QUIET, self._head(chat), head.head, at_ms, _SAME)
            # Race: the user leaves after the row was read. The row of a former member ends with the leave.
            await self._mark(patterns.COPY_HEAD, self._row(chat, user), head.head, at_ms, _NOT_FURTHER)
        except ConditionFailedError:
            return False
        return True

    async def _mark(
        self, pattern: AccessPattern, target: _Target, position: LogPosition, at_ms: int, condition: str, /
    ) -> None:
        """Mark a row or head as quiet at this position."""
        sequence, ordinal = target.names
        values: dict[str, ItemValue] = {":n": position.sequence, ":o": position.ordinal, ":at": at_ms}
        names = {"#n": sequence, "#o": ordinal, "#quiet": _QUIET}
        if epoch := self._reconciler.epoch():
            condition += " AND #epoch = :epoch"
            names["#epoch"], values[":epoch"] = "epoch", epoch
        with translate_write_errors:
            await self._client.update(
                pattern,
                target.key,
                "SET #n = :n, #o = :o, #quiet = :at",
                condition=condition,
                names=names,
                values=values,
                repeatable=True,
            )

    def _with_epoch(self, update: RowUpdate) -> RowUpdate:
        epoch = self._reconciler.epoch()
        return replace(update, epoch=epoch) if epoch else update

    def _row(self, chat: ChatKey, user: UserId) -> _Target:
        key = row_key(chat, user)

        async def reconcile(item: Item) -> None:
            await self._reconciler.row(chat, user, row_from_item(item | key))

        is_group = chat_type(chat.chat) is ChatType.GROUP
        return _Target(patterns.RAISE_ROW, patterns.REPAIR_ROW, key, OF_A_ROW, reconcile, is_group)

    def _head(self, chat: ChatKey, *, ends_quiet: bool = False) -> _Target:
        key: dict[str, ItemValue] = {"chat_id": chat_key(chat)}

        async def reconcile(item: Item) -> None:
            await self._reconciler.head(chat, update_from_item(item, OF_A_CHAT))

        return _Target(patterns.RAISE_HEAD, patterns.REPAIR_HEAD, key, OF_A_CHAT, reconcile, ends_quiet)

    async def _raise(self, target: _Target, first: int, update: RowUpdate) -> int:
        """Write an update unless there is a gap before it. Return the sequence before: `first - 1` if it was written."""
        writing = update_adjoining(update, target.names, first, ends_quiet=target.ends_quiet)
        done = await self._try(target, target.raise_pattern, writing, update.epoch)
        if isinstance(done, WriteResult):
            return first - 1
        before = done.head.sequence if done.head else 0
        if before >= first - 1:
            # Race: another worker, or an earlier attempt without an answer, wrote the same or a later sequence first. A
            # head only moves forward, so it still adjoins the run, and the parts that are newer may be written.
            await self._write_missing(target, done, update)
        return before

    async def _write_missing(self, target: _Target, known: RowUpdate, update: RowUpdate) -> None:
        """Write the parts that are newer."""
        # Race: another worker writes one of the parts between our attempts. The next attempt omits it, so this ends.
        while (missing := rules.newer_parts(known, update)) is not None:
            if missing.head is not None and known.quiet_at_ms is not None and not target.ends_quiet:
                raise _QuietHeadError
            parts = replace(missing, epoch=update.epoch)
            writing = update_parts(parts, target.names, ends_quiet=target.ends_quiet)
            done = await self._try(target, target.repair_pattern, writing, update.epoch)
            if isinstance(done, WriteResult):
                return
            known = done

    async def _try(
        self, target: _Target, pattern: AccessPattern, writing: RowWrite, epoch: int
    ) -> WriteResult | RowUpdate:
        """Write, reconciling the target first if needed. Return its present state if the condition failed."""
        with translate_write_errors:
            for _ in range(_RECONCILE_ATTEMPTS):
                try:
                    return await self._write(pattern, target.key, writing)
                except ConditionFailedError as failed:
                    item = failed.item or {}
                    known = update_from_item(item, target.names)
                    if not epoch or not item or known.epoch == epoch:
                        return known
                    # Race: a reader reconciles the same row. The write of the slower one fails its condition and
                    # changes nothing, and the next attempt finds the row as the faster one wrote it.
                    await target.reconcile(item)
        raise TidingsError(Code.OVERLOADED, "A chat row changes faster than it can be reconciled. Retry.")

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
            repeatable=True,
        )
