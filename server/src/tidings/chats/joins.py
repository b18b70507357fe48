"""Join a group by its rule, by a link or by an invite."""

import hashlib
import secrets
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from tidings.chats import rules
from tidings.chats.commands import ChangeContext, ChatCommands, change_draft
from tidings.chats.model import Chat, ChatType, Entrance, Invite, JoinRule, Membership, MemberStatus, Role
from tidings.chats.ports import ChatAppender, ChatStore, InviteStore
from tidings.chats.rules import ChatAction
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import NO_SUCH_CHAT, EntryKind, Proposal

MAX_INVITES = 200


class ChatJoins:
    def __init__(
        self,
        rows: ChatStore,
        invites: InviteStore,
        appends: ChatAppender,
        commands: ChatCommands,
        clock: Clock,
    ) -> None:
        self._rows = rows
        self._invites = invites
        self._appends = appends
        self._commands = commands
        self._clock = clock

    async def create_link(self, chat: ChatKey, caller: ChangeContext) -> str:
        """Return the token of a new link. The link before it is invalid from then on. Only a digest is stored."""
        await self._commands.check(chat, caller, ChatAction.CHANGE_RULES)
        token = secrets.token_urlsafe(16)
        await self._invites.set_link(chat, link_digest(token))
        return token

    async def revoke_link(self, chat: ChatKey, caller: ChangeContext) -> None:
        await self._commands.check(chat, caller, ChatAction.CHANGE_RULES)
        await self._invites.set_link(chat, None)

    async def join(self, chat: ChatKey, caller: ChangeContext, token: str | None = None) -> None:
        """Make the caller a member if the chat's rule allows it. A member causes no error and no entry.

        A chat that the caller may not join does not exist for them: `chat_not_found`.
        """
        await retry_on_conflict(partial(self._join, chat, caller, token))

    async def invite(self, chat: ChatKey, caller: ChangeContext, users: Sequence[UserId]) -> None:
        """Invite users. Members are skipped. Raises `banned` or `user_erased`; no user is invited then."""
        await self._commands.check(chat, caller, ChatAction.ADD_MEMBERS)
        rows, now_ms = await self._rows.memberships(chat, users), self._clock.now_ms()
        new = [user for user in dict.fromkeys(users) if not (user in rows and rows[user].is_member)]
        rules.refuse_banned((rows[user] for user in new if user in rows), now_ms)
        rules.refuse_erased(await self._rows.erased(chat.tenant, new))
        await self._invites.put(chat, new, Invite(chat.chat, caller.user, now_ms))

    async def revoke_invite(self, chat: ChatKey, caller: ChangeContext, user: UserId) -> None:
        await self._commands.check(chat, caller, ChatAction.ADD_MEMBERS)
        await self._invites.delete(chat, user)

    async def invites(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> tuple[Sequence[Invite], ChatId | None]:
        """Return the user's invites by chat id, and the cursor of the next page."""
        return await self._invites.page(tenant, user, after, min(max(limit, 1), MAX_INVITES))

    async def accept(self, chat: ChatKey, caller: ChangeContext) -> None:
        """Join by an invite, whatever the chat's rule is. The invite is deleted in the same transaction."""
        await retry_on_conflict(partial(self._accept, chat, caller))

    async def decline(self, chat: ChatKey, user: UserId) -> None:
        await self._require_invite(chat, user)
        await self._invites.delete(chat, user)

    async def _join(self, chat: ChatKey, caller: ChangeContext, token: str | None) -> None:
        seen, row = await self._rows.chat(chat), await self._rows.membership(chat, caller.user)
        if seen is None or seen.type is not ChatType.GROUP:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        if row is not None and row.is_member:
            return
        entrance = _entrance(seen, token)
        if entrance is None:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        await self._enter(seen, caller, row, entrance)

    async def _accept(self, chat: ChatKey, caller: ChangeContext) -> None:
        row = await self._rows.membership(chat, caller.user)
        if row is not None and row.is_member:
            await self._invites.delete(chat, caller.user)
            return
        await self._require_invite(chat, caller.user)
        await self._enter(await self._commands.existing(chat), caller, row, Entrance(is_invite=True))

    async def _require_invite(self, chat: ChatKey, user: UserId) -> None:
        if not await self._invites.has(chat, user):
            raise TidingsError(Code.INVITE_NOT_FOUND, "The user has no invite to this chat.")

    async def _enter(
        self, seen: Chat, caller: ChangeContext, row: Membership | None, entrance: Entrance
    ) -> None:
        known = [] if row is None else [row]
        rules.refuse_banned(known, self._clock.now_ms())
        rules.refuse_erased(await self._rows.erased(seen.key.tenant, (caller.user,)))
        await self._commands.refuse_full(seen.key.tenant, seen.member_count + 1)
        rules.check_rejoin_limit(known)
        draft = change_draft(EntryKind.JOIN, caller, (), b"join")
        draft = replace(draft, users=(caller.user,), member_count=seen.member_count + 1)
        # Race: an admin revokes the link or closes the chat between our read and the commit. The chat's row is written on
        # condition that rule and link are as they were read, so nothing commits and the next attempt is refused.
        await self._appends.append(
            seen.key,
            Proposal(draft, _anyone),
            lambda n: self._rows.admission(
                seen,
                {each.user: each for each in known},
                [rules.with_join(caller.user, row, Role.MEMBER, n)],
                entrance,
            ),
        )


def _anyone(status: MemberStatus, after: int | None, /) -> None:
    """Allow strangers: the condition of the chat's row decides."""
    del status, after


def _entrance(chat: Chat, token: str | None) -> Entrance | None:
    if chat.join_rule is JoinRule.OPEN:
        return Entrance(rule=JoinRule.OPEN)
    if chat.join_rule is not JoinRule.LINK or token is None or chat.join_link is None:
        return None
    digest = link_digest(token)
    is_valid = secrets.compare_digest(digest, chat.join_link)
    return Entrance(rule=JoinRule.LINK, link=digest) if is_valid else None


def link_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()[:16]
