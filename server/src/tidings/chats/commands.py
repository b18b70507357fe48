"""Create chats; add, remove and promote members; rename, transfer, block. Each change is an entry of the chat's log.

Race: two users change the same rows at the same time. Each transaction is conditional on the rows as they were read; the
one that fails reads them again and retries.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import batched

from msgspec.structs import replace

from tidings.chats import rules
from tidings.chats.model import (
    DEFAULT_MAX_MEMBERS,
    MAX_JOINS_PER_CALL,
    Chat,
    ChatType,
    Membership,
    Role,
    direct_chat_key,
    group_chat_key,
    member_status_of,
    was_member,
)
from tidings.chats.ports import ChatAppender, ChatStore, ReadMaxMembers
from tidings.chats.rules import ChatAction
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import (
    MODERATOR,
    NO_SUCH_CHAT,
    Appended,
    Draft,
    EntryKind,
    Proposal,
    SideWrites,
    SideWritesFactory,
)

_REFUSALS = frozenset({Code.CHAT_FULL, Code.CHAT_NOT_FOUND, Code.FORBIDDEN, Code.NOT_A_MEMBER})


async def _default_max_members(_: TenantId) -> int:
    return DEFAULT_MAX_MEMBERS


type Admit = Callable[[], Awaitable[None]]
"""Called before a chat is created, but not for an existing chat. Raises to refuse the creation."""


async def _always_admit() -> None: ...


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """The user who makes a change, its idempotency key, and `after` as for a message."""

    user: UserId
    client_key: ClientKey
    after: int | None = None


class ChatCommands:
    def __init__(
        self,
        rows: ChatStore,
        appends: ChatAppender,
        max_members: ReadMaxMembers = _default_max_members,
        clock: Clock | None = None,
    ) -> None:
        self._clock, self._rows = clock or SystemClock(), rows
        self._appends = appends
        self.max_members = max_members

    async def direct(
        self, tenant: TenantId, user: UserId, other: UserId, *, admit: Admit = _always_admit
    ) -> ChatKey:
        """Return the direct chat of two users; create it if it does not exist. Idempotent."""
        if user == other:
            raise TidingsError(Code.REQUEST_INVALID, "A direct chat needs two different users.")
        key = direct_chat_key(tenant, user, other)
        if await self._rows.chat(key) is not None:
            return key  # One read. The transaction below costs six items even if it writes none.
        await admit()
        rules.refuse_erased(await self._rows.erased(tenant, (user, other)))
        members = [rules.with_join(member, None, Role.MEMBER, 1) for member in sorted((user, other))]
        chat = Chat(key=key, type=ChatType.DIRECT, created_by=user, member_count=len(members))
        draft = change_draft(EntryKind.CREATE, ChangeContext(user, ClientKey("create")), members, b"direct")
        begun = await self._appends.begin(key, draft, self._rows.direct_creation(chat, members))
        if not begun.is_new and begun.first is None:
            raise TidingsError(Code.BLOCKED, "One of the two users has blocked the other.")
        return key

    async def group(
        self,
        tenant: TenantId,
        caller: ChangeContext,
        name: str,
        others: Iterable[UserId] = (),
        *,
        admit: Admit = _always_admit,
    ) -> ChatKey:
        """Create a group with the caller as its owner and less than `MAX_JOINS_PER_CALL` others, in one entry.

        Idempotent: a retry returns the same group.
        """
        key = group_chat_key(tenant, caller.user, caller.client_key)
        users = [user for user in dict.fromkeys(others) if user != caller.user]
        rules.check_batch_size(1 + len(users))
        await self.refuse_full(tenant, 1 + len(users))
        if await self._rows.chat(key) is None:
            await admit()
            rules.refuse_erased(await self._rows.erased(tenant, (caller.user, *users)))
        members = [rules.with_join(caller.user, None, Role.OWNER, 1)]
        members += [rules.with_join(user, None, Role.MEMBER, 1) for user in users]
        chat = Chat(
            key=key, type=ChatType.GROUP, created_by=caller.user, member_count=len(members), name=name
        )
        draft = replace(change_draft(EntryKind.CREATE, caller, members, name.encode()), name=name)
        begun = await self._appends.begin(key, draft, self._rows.creation(chat, members))
        if not begun.is_new and (begun.first is None or begun.first.fingerprint != draft.fingerprint):
            raise TidingsError(
                Code.IDEMPOTENCY_CONFLICT,
                "This idempotency key was already used to create a group with another name. Use a new key.",
            )
        return key

    async def check_may_add(self, chat: ChatKey, caller: ChangeContext) -> None:
        """Raise what `add` would raise for a caller who may not add members. `add` checks again when it commits."""
        await self.check(chat, caller, ChatAction.ADD_MEMBERS)

    async def check(self, chat: ChatKey, caller: ChangeContext, action: ChatAction) -> None:
        """Raise the error of a change that the caller may not make. Change nothing."""
        await self.attempt(chat, caller, partial(self.refuse, chat, caller, action))

    async def add(self, chat: ChatKey, caller: ChangeContext, users: Sequence[UserId]) -> None:
        """Add at most `MAX_JOINS_PER_CALL` users in one entry; existing members are skipped. Raises `user_erased`."""
        rules.check_batch_size(len(users))
        await self.attempt(chat, caller, partial(self._add, chat, caller, users))

    async def add_chunk(self, chat: ChatKey, caller: ChangeContext, users: Sequence[UserId]) -> list[UserId]:
        """Add the users of one chunk of a job. Returns the users that are not members afterwards.

        Idempotent: a repeat finds its entry by the caller's key, also if some of the users have left since. A user who
        has joined too often or is banned or erased does not prevent the others from joining. If the caller may not add members any more,
        or the chat is full, no user is added.
        """
        rules.check_batch_size(len(users))
        try:
            await self.attempt(chat, caller, partial(self._add, chat, caller, users, skips_at_limit=True))
        except TidingsError as error:
            if error.code not in _REFUSALS:
                raise
        rows = await self._rows.memberships(chat, users)
        return [user for user in users if not (user in rows and rows[user].is_member)]

    async def count_new(self, chat: ChatKey, users: Sequence[UserId]) -> int:
        """Count the users that are not members, with one read for each. The chat's limit applies to these."""
        found = 0
        for some in batched(users, MAX_JOINS_PER_CALL):
            rows = await self._rows.memberships(chat, some)
            found += sum(user not in rows or not rows[user].is_member for user in some)
        return found

    async def member_count(self, chat: ChatKey) -> int:
        return (await self.existing(chat)).member_count

    async def remove(self, chat: ChatKey, caller: ChangeContext, user: UserId) -> None:
        """Remove a member. A user who removes themselves leaves."""
        await self.attempt(chat, caller, partial(self._remove, chat, caller, user))

    async def change_role(self, chat: ChatKey, caller: ChangeContext, user: UserId, role: Role) -> None:
        """Make a user an admin or a plain member. Use `transfer` to change the owner."""
        if role is Role.OWNER or user == caller.user:
            raise TidingsError(
                Code.REQUEST_INVALID,
                "You cannot change your own role or grant `owner`. Transfer the group instead.",
            )
        step = partial(self._change_roles, chat, caller, ChatAction.CHANGE_ROLE, {user: role})
        await self.attempt(chat, caller, step)

    async def transfer(self, chat: ChatKey, caller: ChangeContext, user: UserId) -> None:
        """Transfer a group: the member becomes the owner and the owner an admin, in one entry."""
        if user == caller.user:
            raise TidingsError(Code.REQUEST_INVALID, "You already own this group.")
        roles = {user: Role.OWNER, caller.user: Role.ADMIN}
        await self.attempt(
            chat, caller, partial(self._change_roles, chat, caller, ChatAction.TRANSFER, roles)
        )

    async def rename(self, chat: ChatKey, caller: ChangeContext, name: str) -> None:
        seen = await self.existing(chat)
        draft = replace(change_draft(EntryKind.RENAME, caller, (), name.encode()), name=name)
        await self.append_change(
            seen, caller, ChatAction.RENAME, draft, lambda _: self._rows.renaming(seen, name)
        )

    async def block(
        self, tenant: TenantId, caller: ChangeContext, other: UserId, *, is_blocked: bool = True
    ) -> None:
        """Block or unblock another user.

        If the two have a chat, the block is an entry of its log: a message that is sent at the same time commits either
        before the block or not at all.
        """
        chat = direct_chat_key(tenant, caller.user, other)
        if await self._rows.block_stranger(chat, caller.user, other, is_blocked=is_blocked):
            return
        change = b"block" if is_blocked else b"unblock"
        draft = replace(
            change_draft(EntryKind.BLOCK, caller, (), change), users=(other,), role=change.decode()
        )

        def side_writes_at(sequence: int) -> SideWrites:
            unblocked_at = None if is_blocked else sequence
            return self._rows.blocking(chat, caller.user, other, unblocked_at=unblocked_at)

        await self.append_change(await self.existing(chat), caller, ChatAction.BLOCK, draft, side_writes_at)

    async def _add(
        self,
        chat: ChatKey,
        caller: ChangeContext,
        users: Sequence[UserId],
        *,
        skips_at_limit: bool = False,
    ) -> None:
        seen = await self.existing(chat)
        reads = self._rows.memberships(chat, users), self._rows.erased(chat.tenant, users)
        rows, erased = await asyncio.gather(*reads)
        now_ms = self._clock.now_ms()
        new = [user for user in dict.fromkeys(users) if not (user in rows and rows[user].is_member)]
        if skips_at_limit:
            new = [user for user in new if not (user in rows and rules.cannot_join(rows[user], now_ms))]
            new = [user for user in new if user not in erased]
        if not new:
            await self.refuse(chat, caller, ChatAction.ADD_MEMBERS)
            return
        rules.refuse_erased(erased.intersection(new))
        rules.refuse_banned((rows[user] for user in new if user in rows), now_ms)
        await self.refuse_full(chat.tenant, seen.member_count + len(new))
        rules.check_rejoin_limit(rows[user] for user in new if user in rows)

        def members(sequence: int) -> list[Membership]:
            return [rules.with_join(user, rows.get(user), Role.MEMBER, sequence) for user in new]

        draft = change_draft(EntryKind.JOIN, caller, members(1), "\n".join(users).encode())
        draft = replace(draft, member_count=seen.member_count + len(new))
        await self.append_change(
            seen,
            caller,
            ChatAction.ADD_MEMBERS,
            draft,
            lambda n: self._rows.admission(seen, rows, members(n)),
        )

    async def _remove(self, chat: ChatKey, caller: ChangeContext, user: UserId) -> None:
        seen, row = await self.existing(chat), await self._rows.membership(chat, user)
        if row is None or not row.is_member:
            await self.refuse(chat, caller, ChatAction.READ)
            return
        action = ChatAction.LEAVE if user == caller.user else rules.removal_action(row.role)
        if action is None:
            raise TidingsError(Code.FORBIDDEN, "The owner cannot be removed. Transfer ownership first.")
        draft = replace(
            change_draft(EntryKind.LEAVE, caller, [row], user.encode()), member_count=seen.member_count - 1
        )
        await self.append_change(
            seen, caller, action, draft, lambda n: self._rows.removal(seen, row, rules.with_leave(row, n))
        )

    async def _change_roles(
        self, chat: ChatKey, caller: ChangeContext, action: ChatAction, roles: dict[UserId, Role]
    ) -> None:
        seen, rows = await self.existing(chat), await self._rows.memberships(chat, list(roles))
        if any(user not in rows or not rows[user].is_member for user in roles):
            raise TidingsError(Code.NOT_A_MEMBER, "The user is not a member of this chat.")
        changes = [(rows[user], replace(rows[user], role=role)) for user, role in roles.items()]
        change = "\n".join(f"{user} {role}" for user, role in roles.items()).encode()
        draft = replace(
            change_draft(EntryKind.ROLE, caller, [after for _, after in changes], change),
            role=next(iter(roles.values())),
        )
        await self.append_change(seen, caller, action, draft, lambda n: self._rows.roles(seen, changes, n))

    async def attempt(
        self, chat: ChatKey, caller: ChangeContext, step: Callable[[], Awaitable[None]]
    ) -> None:
        """Run a step. On a refusal, read the caller's membership once: a stranger receives `chat_not_found` instead."""
        try:
            await retry_on_conflict(step)
        except TidingsError as error:
            is_known = error.retryable or caller.user == MODERATOR
            if is_known or was_member(await self._rows.membership(chat, caller.user)):
                raise
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT) from None

    async def append_change(
        self,
        chat: Chat,
        caller: ChangeContext,
        action: ChatAction,
        draft: Draft,
        side_writes_at: SideWritesFactory,
    ) -> Appended:
        may = partial(rules.check_permission, action)
        return await self._appends.append(chat.key, Proposal(draft, may, caller.after), side_writes_at)

    async def refuse(self, chat: ChatKey, caller: ChangeContext, action: ChatAction) -> None:
        """Check the permission of a change that has no effect, so that a stranger does not learn that."""
        row = await self._rows.membership(chat, caller.user)
        code = rules.check_permission(action, member_status_of(chat.chat, row))
        if code is not None:
            raise TidingsError(code, "You may not do this in this chat.")

    async def existing(self, chat: ChatKey) -> Chat:
        found = await self._rows.chat(chat)
        if found is None:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        return found

    async def refuse_full(self, tenant: TenantId, members: int) -> None:
        """Raise `chat_full` if `members` is more than a group of the tenant may have."""
        allowed = await self.max_members(tenant)
        if members > allowed:
            raise TidingsError(
                Code.CHAT_FULL,
                f"The chat would have {members} members; the tenant's `max_members` allows {allowed}.",
                hint="An operator can raise it with `tidings tenant set TENANT --max-members N`.",
            )


def change_draft(
    kind: EntryKind, caller: ChangeContext, members: Iterable[Membership], content: bytes
) -> Draft:
    users = tuple(member.user for member in members)
    return Draft(
        kind=kind,
        sender=caller.user,
        client_key=caller.client_key,
        fingerprint=rules.request_fingerprint(kind, content),
        users=users,
        member_count=len(users) if kind is EntryKind.CREATE else None,
    )
