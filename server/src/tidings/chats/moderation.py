"""Freeze chats, set slow mode and join rules, mute and ban. Each change is an entry of the chat's log.

Race: a user sends while an admin freezes the chat or mutes or bans them. Both are entries of one log, and a message is
appended at head + 1 by a sender who was authorized as of the head. So the message commits before the change, or its put
fails and the sender is checked again.
"""

from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tidings.chats import rules
from tidings.chats.commands import ChangeContext, ChatCommands, change_draft
from tidings.chats.model import FOREVER_MS, Chat, JoinRule, MemberPage, Membership
from tidings.chats.ports import ChatStore
from tidings.chats.rules import ChatAction
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import ChatRules, Draft, EntryKind

MAX_SLOW_MODE_S = 6 * 3600
MAX_REASON_CHARS = 60
BANS_PAGE = 200


class RulesChange(msgspec.Struct, frozen=True, kw_only=True):
    """New values of a chat's rules. None leaves a value as it is."""

    is_frozen: bool | None = None
    slow_mode_s: int | None = None
    join_rule: JoinRule | None = None

    def of(self, chat: Chat) -> Chat:
        return replace(
            chat,
            is_frozen=chat.is_frozen if self.is_frozen is None else self.is_frozen,
            slow_mode_s=chat.slow_mode_s if self.slow_mode_s is None else self.slow_mode_s,
            join_rule=self.join_rule or chat.join_rule,
        )


class RestrictionEnd(NamedTuple):
    """When a mute or ban ends, and its reason. `until_ms` 0 ends one."""

    until_ms: int
    reason: str | None


class ChatModeration:
    def __init__(self, rows: ChatStore, commands: ChatCommands, clock: Clock) -> None:
        self._rows = rows
        self._commands = commands
        self._clock = clock

    async def set_rules(self, chat: ChatKey, caller: ChangeContext, change: RulesChange) -> None:
        """Change the rules of a group. Takes effect with the entry: no message after it ignores the new rules."""
        await self._commands.attempt(chat, caller, partial(self._set_rules, chat, caller, change))

    async def mute(
        self,
        chat: ChatKey,
        caller: ChangeContext,
        user: UserId,
        *,
        until_ms: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Mute a member until a time, or without an end. The mute ends by the server's clock, without an entry."""
        step = partial(self._mute, chat, caller, user, self._end(until_ms), reason)
        await self._commands.attempt(chat, caller, step)

    async def unmute(self, chat: ChatKey, caller: ChangeContext, user: UserId) -> None:
        await self._commands.attempt(chat, caller, partial(self._mute, chat, caller, user, 0, None))

    async def ban(
        self,
        chat: ChatKey,
        caller: ChangeContext,
        user: UserId,
        *,
        until_ms: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Ban a user until a time, or without an end. A member is removed in the same entry.

        The ban refuses joins, invites and additions until it ends. It may name a user who was never a member.
        """
        step = partial(self._ban, chat, caller, user, self._end(until_ms), reason)
        await self._commands.attempt(chat, caller, step)

    async def unban(self, chat: ChatKey, caller: ChangeContext, user: UserId) -> None:
        """End a ban. The user does not become a member. A user without a ban causes no error and no entry."""
        await self._commands.attempt(chat, caller, partial(self._ban, chat, caller, user, 0, None))

    async def bans(
        self, chat: ChatKey, caller: ChangeContext, after: UserId | None, limit: int
    ) -> MemberPage[Membership]:
        """Return present bans by user id, from one read of the chat's memberships: a page may be empty and not the last."""
        await self._commands.check(chat, caller, ChatAction.REMOVE_MEMBER)
        page = await self._rows.member_page(chat, after, min(max(limit, 1), BANS_PAGE))
        now_ms = self._clock.now_ms()
        return MemberPage(tuple(row for row in page.items if row.is_banned(now_ms)), page.last)

    async def _set_rules(self, chat: ChatKey, caller: ChangeContext, change: RulesChange) -> None:
        seen = await self._commands.existing(chat)
        after = change.of(seen)
        if after == seen:
            await self._commands.refuse(chat, caller, ChatAction.CHANGE_RULES)
            return
        said = f"{after.is_frozen} {after.slow_mode_s} {after.join_rule}".encode()
        draft = replace(
            change_draft(EntryKind.RULES, caller, (), said),
            rules=ChatRules(after.is_frozen, after.slow_mode_s),
            role=after.join_rule.value,
        )
        await self._commands.append_change(
            seen, caller, ChatAction.CHANGE_RULES, draft, lambda _: self._rows.ruling(seen, after)
        )

    async def _mute(
        self, chat: ChatKey, caller: ChangeContext, user: UserId, until_ms: int, reason: str | None
    ) -> None:
        seen, row = await self._commands.existing(chat), await self._rows.membership(chat, user)
        if row is None or not row.is_member:
            raise TidingsError(Code.NOT_A_MEMBER, "The user is not a member of this chat.")
        action = _action_against(row)
        if not until_ms and not row.muted_until_ms:
            await self._commands.refuse(chat, caller, action)
            return
        verb = "mute" if until_ms else "unmute"
        draft = _restriction(EntryKind.MUTE, caller, user, verb, RestrictionEnd(until_ms, reason))
        now_ms = self._clock.now_ms()

        def muted(sequence: int) -> Membership:
            # A mute that ended at its time leaves `unmuted_at`: no message was refused since.
            is_lifted = not until_ms and now_ms < row.muted_until_ms
            return replace(row, muted_until_ms=until_ms, unmuted_at=sequence if is_lifted else row.unmuted_at)

        await self._commands.append_change(
            seen, caller, action, draft, lambda n: self._rows.restriction(chat, row, muted(n))
        )

    async def _ban(
        self, chat: ChatKey, caller: ChangeContext, user: UserId, until_ms: int, reason: str | None
    ) -> None:
        if user == caller.user:
            raise TidingsError(Code.REQUEST_INVALID, "You cannot ban yourself.")
        seen, row = await self._commands.existing(chat), await self._rows.membership(chat, user)
        is_member = row is not None and row.is_member
        action = _action_against(row) if row is not None and is_member else ChatAction.REMOVE_MEMBER
        if not until_ms and (row is None or not row.banned_until_ms):
            await self._commands.refuse(chat, caller, action)
            return
        if row is None:  # A ban of a user who was never a member creates a row.
            rules.refuse_erased(await self._rows.erased(chat.tenant, (user,)))
        banned = rules.with_ban(user, row, until_ms, reason)
        verb = "ban" if until_ms else "unban"
        if row is None or not is_member or not until_ms:
            draft = _restriction(EntryKind.BAN, caller, user, verb, RestrictionEnd(until_ms, reason))
            writes = self._rows.restriction(chat, row, banned)
            await self._commands.append_change(seen, caller, action, draft, lambda _: writes)
            return
        # A leave, so that every reader of the log that handles removals handles this one.
        draft = _restriction(EntryKind.LEAVE, caller, user, verb, RestrictionEnd(until_ms, reason))
        draft = replace(draft, member_count=seen.member_count - 1)
        await self._commands.append_change(
            seen,
            caller,
            action,
            draft,
            lambda n: self._rows.removal(seen, row, rules.with_leave(banned, n)),
        )

    def _end(self, until_ms: int | None) -> int:
        if until_ms is None:
            return FOREVER_MS
        if until_ms <= self._clock.now_ms():
            raise TidingsError(Code.REQUEST_INVALID, "`until` is in the past.")
        return min(until_ms, FOREVER_MS)


def _action_against(row: Membership) -> ChatAction:
    action = rules.removal_action(row.role)
    if action is None:
        raise TidingsError(Code.FORBIDDEN, "The owner of a group cannot be muted or banned.")
    return action


def _restriction(
    kind: EntryKind, caller: ChangeContext, user: UserId, verb: str, end: RestrictionEnd
) -> Draft:
    until_ms, reason = end
    said = f"{verb} {user} {until_ms} {reason or ''}".encode()
    has_end = 0 < until_ms < FOREVER_MS
    return replace(
        change_draft(kind, caller, (), said),
        users=(user,),
        role=verb,
        until_ms=until_ms if has_end else None,
        reason=reason,
    )
