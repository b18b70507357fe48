"""Who gets a chat's entries, read anew each time. What keeps it, for a worker that sees many entries, comes with it."""

from collections.abc import Sequence

from tidings.chats.model import ChatType, Membership, type_of
from tidings.delivery.ports import Crowd, Members
from tidings.kernel.ids import ChatKey


class ReadAudience:
    """Strong reads after the commit: what they show is as of the entry, or later."""

    def __init__(self, chats: Members) -> None:
        self._chats = chats

    async def of(self, chat: ChatKey, as_of: int) -> Crowd:
        del as_of
        row = None if type_of(chat.chat) is ChatType.DIRECT else await self._chats.chat(chat)
        if row is not None and row.large_since is not None:
            return Crowd((), row.large_since)
        return Crowd(await self._chats.members(chat))

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        return await self._chats.members(chat)
