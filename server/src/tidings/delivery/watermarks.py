"""How far a user got in a chat: `read` is his, `delivered` that of his furthest device. Both only go forward."""

from typing import NamedTuple

from tidings.chats.model import may_see, own_row
from tidings.delivery import rules
from tidings.delivery.model import Gain, Mark, Raised, Row
from tidings.delivery.ports import Chats, Lists, Log, TellGain, Watermarks
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId


class Reached(NamedTuple):
    """Where the watermark is now (it may have been further already), and what is unread."""

    sequence: int
    unread: int


class Marking:
    """`told` hears of every gain, after its write."""

    def __init__(self, watermarks: Watermarks, lists: Lists, chats: Chats, log: Log, told: TellGain) -> None:
        self._watermarks = watermarks
        self._lists = lists
        self._chats = chats
        self._log = log
        self._told = told

    async def read(self, chat: ChatKey, user: UserId, sequence: int) -> Reached:
        mark = await self._mark(chat, user, sequence)
        row = self._tell(chat, user, await self._watermarks.raise_read(chat, user, mark), is_read=True)
        return Reached(row.read.sequence if row.read else 0, await self._unread(chat, row))

    async def delivered(self, chat: ChatKey, user: UserId, sequence: int) -> Reached:
        mark = await self._mark(chat, user, sequence)
        row = self._tell(chat, user, await self._watermarks.raise_delivered(chat, user, mark))
        return Reached(row.delivered.sequence if row.delivered else 0, await self._unread(chat, row))

    async def holds(self, chat: ChatKey, user: UserId, mark: Mark) -> None:
        """`delivered`, told by who has shown the user this very entry: one write, nothing need be asked."""
        self._tell(chat, user, await self._watermarks.raise_delivered(chat, user, mark))

    def _tell(self, chat: ChatKey, user: UserId, raised: Raised, *, is_read: bool = False) -> Row:
        row = raised.row
        if raised.has_risen:
            self._told(Gain(chat, user, row.delivered_up_to, row.read_up_to, is_read, row.known.is_large))
        return row

    async def _mark(self, chat: ChatKey, user: UserId, sequence: int) -> Mark:
        """The entry itself gives its ordinal, and shows that the log has come that far: it is dense."""
        row = own_row(await self._chats.membership(chat, user))
        if not may_see(row.intervals, sequence):
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such entry for this user.")
        entry = await self._log.one(chat, sequence)
        if entry is None:
            raise TidingsError(Code.AFTER_ABOVE_HEAD, "The chat has not come that far.")
        return Mark(sequence, entry.ordinal)

    async def _unread(self, chat: ChatKey, row: Row) -> int:
        if not row.known.is_large:
            return rules.unread(row)
        heads = await self._lists.heads(chat.tenant, [chat.chat])
        return rules.unread(rules.with_head(row, heads.get(chat.chat)))
