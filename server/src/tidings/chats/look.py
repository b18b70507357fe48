"""Looking at chats: what one is, who is in it, whom a user blocks. For members only."""

from typing import NamedTuple

from tidings.chats.model import NO_SUCH_CHAT, Chat, MemberPage, Membership, require_membership
from tidings.chats.ports import ChatReader
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId

MAX_LIMIT = 200


class ChatView(NamedTuple):
    """A chat, and what the one who asks is in it."""

    chat: Chat
    own: Membership


class ChatQueries:
    def __init__(self, reader: ChatReader) -> None:
        self._shelf = reader

    async def chat(self, chat: ChatKey, user: UserId) -> ChatView:
        own = await self._own(chat, user)
        found = await self._shelf.chat(chat)
        if found is None:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        return ChatView(found, own)

    async def members(
        self, chat: ChatKey, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[Membership]:
        """By user id. Rows of those who left stand between: the list is read on until enough are found."""
        await self._own(chat, user)
        wanted, found, last = min(max(limit, 1), MAX_LIMIT), list[Membership](), after
        while True:
            part = await self._shelf.members(chat, last, wanted - len(found))
            found += [row for row in part.items if row.is_member]
            last = part.last
            if last is None or len(found) >= wanted:
                return MemberPage(tuple(found), last)

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]:
        return await self._shelf.blocks(tenant, user, after, min(max(limit, 1), MAX_LIMIT))

    async def _own(self, chat: ChatKey, user: UserId) -> Membership:
        """First of all: a stranger learns nothing, not even whether there is such a chat."""
        return require_membership(await self._shelf.membership(chat, user))
