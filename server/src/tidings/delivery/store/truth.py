"""Writes rows and heads: in order one write each, late or repeated only what is missing."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from tidings.delivery import rules
from tidings.delivery.model import News
from tidings.delivery.store.items import (
    OF_A_CHAT,
    OF_A_ROW,
    HeadNames,
    news_in,
    row_key,
    row_of,
)
from tidings.delivery.store.settling import Settling
from tidings.delivery.store.writing import Writing, all_at_once, part_by_part
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import unwritten
from tidings.platform.dynamo.results import Written
from tidings.platform.dynamo.values import Item, Value
from tidings.tables.items.chat import chat_key
from tidings.tables.patterns import delivery as patterns

_TRIES_TO_SETTLE: Final = 5


class _Target(NamedTuple):
    """A row or a head: how it is written, and how it is settled if it is of another epoch."""

    raising: AccessPattern
    mending: AccessPattern
    key: dict[str, Value]
    names: HeadNames
    settle: Callable[[Item], Awaitable[object]]


class DynamoTruth:
    """Rows and heads carry the epoch, and those of another epoch are settled before anything is written to them."""

    def __init__(self, client: Client, settling: Settling) -> None:
        self._client = client
        self._settling = settling

    async def raise_row(self, chat: ChatKey, user: UserId, news: News) -> int:
        return await self._raise(self._row(chat, user), self._now(news))

    async def mend_row(self, chat: ChatKey, user: UserId, news: News) -> None:
        await self._mend(self._row(chat, user), self._now(news))

    async def raise_head(self, chat: ChatKey, news: News) -> int:
        return await self._raise(self._head(chat), self._now(News(head=news.head, shown=news.shown)))

    def _now(self, news: News) -> News:
        epoch = self._settling.epoch()
        return replace(news, epoch=epoch) if epoch else news

    def _row(self, chat: ChatKey, user: UserId) -> _Target:
        key = row_key(chat, user)

        async def settle(item: Item) -> None:
            await self._settling.row(chat, user, row_of(item | key))

        return _Target(patterns.RAISE_ROW, patterns.MEND_ROW, key, OF_A_ROW, settle)

    def _head(self, chat: ChatKey) -> _Target:
        key: dict[str, Value] = {"chat_id": chat_key(chat)}

        async def settle(item: Item) -> None:
            await self._settling.head(chat, news_in(item, OF_A_CHAT))

        return _Target(patterns.RAISE_HEAD, patterns.MEND_HEAD, key, OF_A_CHAT, settle)

    async def _raise(self, target: _Target, news: News) -> int:
        """Return how far the target was before.

        If the answer to a first try was lost, the repeat finds that try's own write and returns it. So this row hides
        what it had missed. The rows of other members, the mark and the worker's look back show it all the same.
        """
        done = await self._try(target, target.raising, all_at_once(news, target.names), news.epoch)
        if isinstance(done, Written):
            return int((done.attributes or {}).get(target.names.sequence, 0))
        # The target is as far or further. What it does not have of these news all the same came late.
        had = done.head.sequence if done.head else 0
        missing = rules.ahead_of(done, news)
        if missing is not None:
            await self._mend(target, replace(missing, epoch=news.epoch))
        return had

    async def _mend(self, target: _Target, news: News) -> None:
        """A part that somebody else wrote meanwhile is left out of the next try, so this ends."""
        missing: News | None = news
        while missing is not None:
            writing = part_by_part(replace(missing, epoch=news.epoch), target.names)
            done = await self._try(target, target.mending, writing, news.epoch)
            missing = None if isinstance(done, Written) else rules.ahead_of(done, news)

    async def _try(
        self, target: _Target, pattern: AccessPattern, writing: Writing, epoch: int
    ) -> Written | News:
        """Write, after the target was settled. Return what it knows if that is no news to it."""
        try:
            for _ in range(_TRIES_TO_SETTLE):
                try:
                    return await self._write(pattern, target.key, writing)
                except ConditionFailedError as failed:
                    item = failed.item or {}
                    known = news_in(item, target.names)
                    if not epoch or known.epoch == epoch:
                        return known
                    await target.settle(item)
        except DynamoError as error:
            unwritten(error)
        raise TidingsError(Code.OVERLOADED, "A row changes faster than it can be settled.")

    async def _write(self, pattern: AccessPattern, key: dict[str, Value], writing: Writing) -> Written:
        return await self._client.update(
            pattern,
            key,
            writing.spelled.update,
            condition=writing.spelled.condition,
            names=writing.spelled.names,
            values=writing.values,
            returns="UPDATED_OLD",
            repeatable=True,
        )
