"""Writes rows and heads: in order one write each, late or repeated only what is missing."""

from collections.abc import Awaitable, Callable
from typing import Final

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


class DynamoTruth:
    """Rows and heads carry the epoch, and those of another epoch are settled before they are raised."""

    def __init__(self, client: Client, settling: Settling) -> None:
        self._client = client
        self._settling = settling

    async def raise_row(self, chat: ChatKey, user: UserId, news: News) -> int:
        key = row_key(chat, user)

        async def settle(item: Item) -> None:
            await self._settling.row(chat, user, row_of(item | key))

        return await self._raise(patterns.RAISE_ROW, patterns.MEND_ROW, key, news, OF_A_ROW, settle=settle)

    async def mend_row(self, chat: ChatKey, user: UserId, news: News) -> None:
        try:
            await self._mend(patterns.MEND_ROW, row_key(chat, user), news, OF_A_ROW)
        except DynamoError as error:
            unwritten(error)

    async def raise_head(self, chat: ChatKey, news: News) -> int:
        key: dict[str, Value] = {"chat_id": chat_key(chat)}
        news = News(head=news.head, shown=news.shown)

        async def settle(item: Item) -> None:
            await self._settling.head(chat, news_in(item, OF_A_CHAT))

        return await self._raise(patterns.RAISE_HEAD, patterns.MEND_HEAD, key, news, OF_A_CHAT, settle=settle)

    async def _raise(
        self,
        pattern: AccessPattern,
        mending: AccessPattern,
        key: dict[str, Value],
        news: News,
        names: HeadNames,
        *,
        settle: Callable[[Item], Awaitable[None]],
    ) -> int:
        if epoch := self._settling.epoch():
            news = replace(news, epoch=epoch)
        for _ in range(_TRIES_TO_SETTLE):
            try:
                done = await self._write(pattern, key, all_at_once(news, names))
                return int((done.attributes or {}).get(names.sequence, 0))
            except ConditionFailedError as failed:
                if not epoch or news_in(failed.item or {}, names).epoch == epoch:
                    return await self._raise_late(failed, mending, key, news, names)
                await settle(failed.item or {})
            except DynamoError as error:
                unwritten(error)
        raise TidingsError(Code.OVERLOADED, "A row changes faster than it can be settled.")

    async def _raise_late(
        self,
        failed: ConditionFailedError,
        mending: AccessPattern,
        key: dict[str, Value],
        news: News,
        names: HeadNames,
    ) -> int:
        """The row is as far or further. What it does not have of these news all the same came late."""
        item = failed.item or {}
        had = int(item.get(names.sequence, 0))
        missing = rules.ahead_of(news_in(item, names), news)
        try:
            if missing is not None:
                await self._mend(mending, key, missing, names)
        except DynamoError as error:
            unwritten(error)
        return had

    async def _mend(
        self, pattern: AccessPattern, key: dict[str, Value], news: News, names: HeadNames
    ) -> None:
        """A part that somebody else wrote meanwhile is left out of the next try, so this ends."""
        missing: News | None = news
        while missing is not None:
            try:
                await self._write(pattern, key, part_by_part(missing, names))
                missing = None
            except ConditionFailedError as failed:
                missing = rules.ahead_of(news_in(failed.item or {}, names), news)

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
