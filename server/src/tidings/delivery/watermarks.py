"""How far a user got in a chat: `read` is his, `delivered` that of his furthest device. Both only go forward."""

from typing import NamedTuple

from tidings.chats.model import may_see, require_membership
from tidings.delivery import rules
from tidings.delivery.model import ChatRow, LogPosition, WatermarkAdvanced, WatermarkUpdate
from tidings.delivery.ports import ChatReader, ChatRowReader, LogReader, OnWatermarkAdvanced, WatermarkStore
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId


class WatermarkResult(NamedTuple):
    """Where the watermark is now (it may have been further already), and what is unread."""

    sequence: int
    unread: int


class WatermarkService:
    """`told` hears of every gain, after its write."""

    def __init__(
        self,
        watermarks: WatermarkStore,
        rows: ChatRowReader,
        chats: ChatReader,
        log: LogReader,
        on_advanced: OnWatermarkAdvanced,
    ) -> None:
        self._watermarks = watermarks
        self._row_reader = rows
        self._chats = chats
        self._log = log
        self._on_advanced = on_advanced

    async def read(self, chat: ChatKey, user: UserId, sequence: int) -> WatermarkResult:
        mark = await self._mark(chat, user, sequence)
        row = self._notify(chat, user, await self._watermarks.raise_read(chat, user, mark), is_read=True)
        return WatermarkResult(row.read.sequence if row.read else 0, await self._unread(chat, row))

    async def delivered(self, chat: ChatKey, user: UserId, sequence: int) -> WatermarkResult:
        mark = await self._mark(chat, user, sequence)
        row = self._notify(chat, user, await self._watermarks.raise_delivered(chat, user, mark))
        return WatermarkResult(row.delivered.sequence if row.delivered else 0, await self._unread(chat, row))

    async def is_delivered_known(self, chat: ChatKey, user: UserId, position: LogPosition) -> None:
        """`delivered`, told by who has shown the user this very entry: one write, nothing need be asked."""
        self._notify(chat, user, await self._watermarks.raise_delivered(chat, user, position))

    def _notify(
        self, chat: ChatKey, user: UserId, update: WatermarkUpdate, *, is_read: bool = False
    ) -> ChatRow:
        row = update.row
        if update.has_risen:
            self._on_advanced(
                WatermarkAdvanced(
                    chat, user, row.delivered_up_to, row.read_up_to, is_read, row.known.is_large
                )
            )
        return row

    async def _mark(self, chat: ChatKey, user: UserId, sequence: int) -> LogPosition:
        """The entry itself gives its ordinal, and shows that the log has come that far: it is dense."""
        row = require_membership(await self._chats.membership(chat, user))
        if not may_see(row.intervals, sequence):
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such entry for this user.")
        entry = await self._log.one(chat, sequence)
        if entry is None:
            raise TidingsError(Code.POSITION_AHEAD, "The chat has not come that far.")
        return LogPosition(sequence, entry.ordinal)

    async def _unread(self, chat: ChatKey, row: ChatRow) -> int:
        if not row.known.is_large:
            return rules.unread_count(row)
        heads = await self._row_reader.heads(chat.tenant, [chat.chat])
        return rules.unread_count(rules.with_head(row, heads.get(chat.chat)))
