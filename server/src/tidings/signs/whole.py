"""How far everybody in a chat got, as it is now: what a device gets first when it looks at a chat.

Step 4 of the flow "a receipt". Read after the channel stands, so what was told before is in it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from tidings.chats.model import ChatType, Membership, chat_type
from tidings.delivery.model import ChatRow
from tidings.kernel.ids import ChatKey, UserId
from tidings.signs.model import MemberReceipt
from tidings.signs.ports import ChatReader, WatermarkReader


class ReceiptSnapshot(NamedTuple):
    """Of a chat in which receipts are told. `members`: those who are in it now."""

    members: Sequence[MemberReceipt]
    silenced: frozenset[UserId]

    def seen_by(self, user: UserId) -> Sequence[MemberReceipt] | None:
        """None: he is not a member, or the two of a direct chat have a block between them."""
        is_member = any(got.user == user for got in self.members)
        return self.members if is_member and user not in self.silenced else None


NOBODY: Final = ReceiptSnapshot((), frozenset())
"""Of a large chat, or of none: nobody is told anything."""


@final
class ReceiptSnapshotReader:
    def __init__(self, chats: ChatReader, watermarks: WatermarkReader) -> None:
        self._chats = chats
        self._watermarks = watermarks

    async def of(self, chat: ChatKey) -> ReceiptSnapshot:
        """One read for all who look at the chat."""
        if await self._is_large(chat):
            return NOBODY
        members = [member for member in await self._chats.members(chat) if member.is_member]
        rows = await self._watermarks.rows_now(chat, [member.user for member in members])
        silenced = frozenset(member.user for member in members if _is_silenced(member))
        return ReceiptSnapshot([_got(member, rows.get(member.user)) for member in members], silenced)

    async def may_report(self, chat: ChatKey, user: UserId) -> bool:
        """May the others hear of him? Asked for a sign of somebody who does not look at the chat himself."""
        row = await self._chats.membership(chat, user)
        return row is not None and row.is_member and not _is_silenced(row) and not await self._is_large(chat)

    async def _is_large(self, chat: ChatKey) -> bool:
        if chat_type(chat.chat) is ChatType.DIRECT:
            return False
        row = await self._chats.chat(chat)
        return row is None or row.large_since is not None


def _is_silenced(row: Membership) -> bool:
    return row.blocks_other or row.blocked_by_other


def _got(member: Membership, row: ChatRow | None) -> MemberReceipt:
    since = member.intervals[-1].joined + 1
    if row is None:
        return MemberReceipt(member.user, since=since)
    return MemberReceipt(member.user, row.delivered_up_to, row.read_up_to, since)
