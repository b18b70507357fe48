"""Take a user who is being erased out of their chats."""

from collections.abc import Sequence

from tidings.chats.commands import ChangeContext, ChatCommands
from tidings.chats.model import ChatType, Membership, Role, chat_type
from tidings.chats.ports import ChatStore
from tidings.kernel.ids import ChatKey, ClientKey, UserId, is_pseudonym


class ChatDepartures:
    """Ordinary entries of the log end what the user can do in a chat. So members and their clients see it."""

    def __init__(self, commands: ChatCommands, rows: ChatStore) -> None:
        self._commands = commands
        self._rows = rows

    async def depart(self, chat: ChatKey, user: UserId, key: ClientKey) -> None:
        """Leave a group, or block the other user of a direct chat. Idempotent, by the state of the rows and by `key`.

        An owner first transfers the group. An owner without other members stays: no other user can see the group.
        """
        own = await self._rows.membership(chat, user)
        if own is None or not own.is_member:
            return
        if chat_type(chat.chat) is ChatType.DIRECT:
            if not own.blocks_other:
                await self._block(chat, ChangeContext(user, key))
            return
        if own.role is Role.OWNER:
            heir = longest_member(await self._rows.members(chat), user)
            if heir is None:
                return
            # Race: the heir leaves at the same time. Then the transfer is refused, and the caller repeats this.
            await self._commands.transfer(chat, ChangeContext(user, ClientKey(f"{key}/owner")), heir)
        await self._commands.remove(chat, ChangeContext(user, key), user)

    async def _block(self, chat: ChatKey, caller: ChangeContext) -> None:
        for row in await self._rows.members(chat):
            # If the other user was erased too, they have blocked this user, and their id is a pseudonym.
            if row.user != caller.user and not is_pseudonym(row.user):
                await self._commands.block(chat.tenant, caller, row.user)


def longest_member(members: Sequence[Membership], owner: UserId) -> UserId | None:
    """Return the admin, or else the member, who has been in the group longest. None: there is no other member."""
    others = [row for row in members if row.is_member and row.user != owner]
    if not others:
        return None
    return min(others, key=lambda row: (row.role is not Role.ADMIN, row.intervals[-1].joined, row.user)).user
