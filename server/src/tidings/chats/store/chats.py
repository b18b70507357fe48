"""Chats and memberships in DynamoDB."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tidings.chats import items
from tidings.chats.model import (
    MAX_SMALL_MEMBERS,
    SOME_MEMBERS,
    Chat,
    Entrance,
    MemberPage,
    Membership,
    MemberStatus,
    chat_type,
    member_status_of,
)
from tidings.chats.store.reconciler import MembershipReconciler
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId, is_pseudonym
from tidings.messages.model import MODERATOR, Interval
from tidings.messages.ports import PastLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import (
    Check,
    Delete,
    Put,
    Query,
    QueryPage,
    TransactAction,
    TransactionPart,
    Update,
)
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.patterns import accounts as account_patterns
from tidings.schema.tables.patterns import chats as patterns

_CHATS, _MEMBERS, _STATE = "chats", "chat_memberships", "delivery_state"
ABSENT = "attribute_not_exists(chat_id)"
NO_BLOCK = "attribute_not_exists(user_id)"


class DynamoChatStore:
    """`past`: the logs as a restore or failover has left them. Rows of an earlier epoch are compared with these."""

    def __init__(
        self, client: DynamoClient, clock: Clock, past: PastLogReader, *, is_read_only: bool = False
    ) -> None:
        self._client = client
        self._clock = clock
        self._reconciler = MembershipReconciler(client, past, clock, is_read_only=is_read_only)

    async def member_status(self, chat: ChatKey, user: UserId) -> MemberStatus:
        if user == MODERATOR:
            return MemberStatus(chat_type(chat.chat), None, is_moderator=True)
        return member_status_of(chat.chat, await self.membership(chat, user))

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        row = await self.membership(chat, user)
        return () if row is None else row.intervals

    async def chat(self, chat: ChatKey) -> Chat | None:
        with translate_read_errors:
            item = await self._client.get(patterns.CHECK, {"chat_id": chat_key(chat)})
        return await self._reconciler.chat(chat, item)

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        with translate_read_errors:
            item = await self._client.get(patterns.CHECK_MEMBER, items.membership_key(chat, user))
        return await self._reconciler.membership(chat, user, item)

    async def memberships(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Membership]:
        keys = [items.membership_key(chat, user) for user in dict.fromkeys(users)]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.CHECK_MEMBERS, keys)
        stored: dict[UserId, Item | None] = dict.fromkeys(users)
        return await self._reconciler.memberships(chat, stored | _by_user(found))

    async def erased(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        keys = [{"user_id": user_key(tenant, user)} for user in dict.fromkeys(users)]
        with translate_read_errors:
            found = await self._client.batch_get(account_patterns.FIND_ERASED, keys) if keys else []
        erased = {UserId(item["user_id"].partition("#")[2]) for item in found if "erased" in item}
        return erased | {user for user in users if is_pseudonym(user)}

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        await self._reconciler.apply(chat)
        query = Query(condition="chat_id = :c", values={":c": chat_key(chat)})
        stored: list[Item] = []
        with translate_read_errors:
            async for page in self._client.pages(patterns.LIST_MEMBERS, query):
                stored += page.items
        found = await self._reconciler.memberships(chat, _by_user(stored))
        # A user who was banned and never joined has a row without intervals.
        return [row for row in found.values() if row.intervals]

    async def blockers(self, tenant: TenantId, users: Collection[UserId], blocked: UserId) -> set[UserId]:
        """Return the users among `users` who block `blocked`."""
        keys = [items.block_key(tenant, user, blocked) for user in users]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.FIND_BLOCKS, keys) if keys else []
        return {UserId(item["user_id"].partition("#")[2]) for item in found}

    async def names(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, Chat]:
        keys = [{"chat_id": chat_key(ChatKey(tenant, chat))} for chat in chats]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_MANY, keys)
        rows = (items.chat_from_item(item) for item in found)
        return {row.key.chat: row for row in rows}

    async def find_chat(self, chat: ChatKey) -> Chat | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ, {"chat_id": chat_key(chat)})
        # Race: the chat was created just before and the replica that answered does not have it yet. Read again,
        # strongly consistent, before the caller reports that it does not exist.
        if item is None or not self._reconciler.is_reconciled(item):
            return await self.chat(chat)
        return items.chat_from_item(item)

    async def member_page(self, chat: ChatKey, after: UserId | None, limit: int) -> MemberPage[Membership]:
        query = Query(
            condition="chat_id = :chat",
            values={":chat": chat_key(chat)},
            limit=limit,
            start=None if after is None else items.membership_key(chat, after),
        )
        await self._reconciler.apply(chat)
        page = await self._page(patterns.LIST_MEMBERS, query)
        rows = tuple((await self._reconciler.memberships(chat, _by_user(page.items))).values())
        return MemberPage(rows, rows[-1].user if rows and page.start is not None else None)

    async def chats_of(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> Sequence[tuple[ChatId, Membership]]:
        """Return all chats that the user is or was a member of, by id. Reads an index: the last seconds may be missing."""
        own = user_key(tenant, user)
        start = None if after is None else items.membership_key(ChatKey(tenant, after), user)
        query = Query(condition="user_id = :user", values={":user": own}, limit=limit, start=start)
        page = await self._page(patterns.LIST_CHATS_OF_USER, query)
        return await gather_limited(self._membership_of(tenant, user, item) for item in page.items)

    async def _membership_of(self, tenant: TenantId, user: UserId, item: Item) -> tuple[ChatId, Membership]:
        chat = items.chat_id_from_key(item)
        found = items.membership_from_item(item)
        if not self._reconciler.is_reconciled(item):
            found = await self.membership(ChatKey(tenant, chat), user) or replace(found, intervals=())
        return chat, found

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]:
        query = Query(
            condition="user_id = :user AND begins_with(chat_id, :block)",
            values={":user": user_key(tenant, user), ":block": items.BLOCKS},
            limit=limit,
            start=None if after is None else items.block_key(tenant, user, after),
        )
        page = await self._page(patterns.LIST_BLOCKS, query)
        others = tuple(map(items.blocked_from_item, page.items))
        return MemberPage(others, others[-1] if others and page.start is not None else None)

    async def _page(self, pattern: AccessPattern, query: Query) -> QueryPage[Item]:
        with translate_read_errors:
            return await self._client.query(pattern, query)

    async def block_stranger(self, chat: ChatKey, user: UserId, other: UserId, *, is_blocked: bool) -> bool:
        no_chat = Check(table=_CHATS, key={"chat_id": chat_key(chat)}, condition=ABSENT)
        actions = [no_chat, self._block_row(chat, user, other, is_blocked=is_blocked)]
        with translate_write_errors:
            return await self._client.try_transact_write(patterns.BLOCK_STRANGER, actions, repeatable=True)

    def creation(self, chat: Chat, members: Sequence[Membership]) -> TransactionPart:
        return TransactionPart(patterns.CREATE, tuple(self._creation(chat, members)))

    def direct_creation(self, chat: Chat, members: Sequence[Membership]) -> TransactionPart:
        one, other = (member.user for member in members)
        tenant = chat.key.tenant
        unblocked = [
            Check(table=_STATE, key=items.block_key(tenant, *pair), condition=NO_BLOCK)
            for pair in ((one, other), (other, one))
        ]
        return TransactionPart(patterns.CREATE_DIRECT, (*self._creation(chat, members), *unblocked))

    def admission(
        self,
        chat: Chat,
        seen: Mapping[UserId, Membership],
        after: Iterable[Membership],
        entrance: Entrance | None = None,
    ) -> TransactionPart:
        rows = list(after)
        actions = [self._row(chat.key, seen.get(row.user), row) for row in rows]
        pattern = patterns.ADD_MEMBERS
        if entrance is not None and entrance.is_invite:
            key = items.invite_key(chat.key, rows[0].user)
            actions.append(Delete(table=_STATE, key=key, condition="attribute_exists(user_id)"))
            pattern = patterns.ACCEPT_INVITE
        return self._with_count(pattern, chat, rows, actions, entrance)

    def removal(self, chat: Chat, seen: Membership, after: Membership) -> TransactionPart:
        return self._with_count(patterns.REMOVE_MEMBER, chat, [after], [self._row(chat.key, seen, after)])

    def roles(
        self, chat: Chat, changes: Iterable[tuple[Membership, Membership]], sequence: int
    ) -> TransactionPart:
        placed = ((seen, replace(after, right_since=sequence)) for seen, after in changes)
        return TransactionPart(patterns.CHANGE_ROLE, tuple(self._row(chat.key, *change) for change in placed))

    def renaming(self, chat: Chat, name: str) -> TransactionPart:
        values: dict[str, ItemValue] = {":name": name, ":now": self._now()}
        rename = Update(
            table=_CHATS,
            key={"chat_id": chat_key(chat.key)},
            update="SET #n = :name, updated_at = :now",
            condition=self._reconciler.with_epoch("attribute_exists(chat_id)", values),
            names={"#n": "name"},
            values=values,
        )
        return TransactionPart(patterns.RENAME, (rename,))

    def ruling(self, chat: Chat, after: Chat) -> TransactionPart:
        values: dict[str, ItemValue] = {
            ":frozen": after.is_frozen,
            ":slow": after.slow_mode_s,
            ":join": after.join_rule.value,
            ":now": self._now(),
        }
        row = Update(
            table=_CHATS,
            key={"chat_id": chat_key(chat.key)},
            update="SET frozen = :frozen, slow_mode = :slow, join_rule = :join, updated_at = :now",
            condition=self._reconciler.with_epoch("attribute_exists(chat_id)", values),
            values=values,
        )
        return TransactionPart(patterns.SET_RULES, (row,))

    def restriction(self, chat: ChatKey, seen: Membership | None, after: Membership) -> TransactionPart:
        return TransactionPart(patterns.RESTRICT, (self._row(chat, seen, after),))

    def blocking(
        self, chat: ChatKey, user: UserId, other: UserId, *, unblocked_at: int | None
    ) -> TransactionPart:
        is_blocked = unblocked_at is None
        lifted = "" if is_blocked else ", right_since = :at"
        values: dict[str, ItemValue] = {":is_blocked": is_blocked} | (
            {} if is_blocked else {":at": unblocked_at}
        )
        condition = self._reconciler.with_epoch("attribute_exists(chat_id)", values)
        marks = [
            Update(
                table=_MEMBERS,
                key=items.membership_key(chat, who),
                update=f"SET {flag} = :is_blocked{lifted}",
                condition=condition,
                values=values,
            )
            for who, flag in ((user, "blocks"), (other, "blocked"))
        ]
        return TransactionPart(
            patterns.BLOCK, (*marks, self._block_row(chat, user, other, is_blocked=is_blocked))
        )

    def _creation(self, chat: Chat, members: Sequence[Membership]) -> Iterable[TransactAction]:
        some = frozenset(member.user for member in members[:SOME_MEMBERS])
        item = items.chat_item(replace(chat, some_members=some), self._now(), self._reconciler.epoch)
        yield Put(table=_CHATS, item=item, condition=ABSENT)
        # Rows of a chat whose log is lost may remain after a restore. The first entry is written if the log is empty.
        yield from (Put(table=_MEMBERS, item=self._item(chat.key, member)) for member in members)

    def _row(self, chat: ChatKey, seen: Membership | None, after: Membership) -> TransactAction:
        """Return the write of a membership row, on condition that intervals, role and ban are as they were read."""
        if seen is None:
            return Put(table=_MEMBERS, item=self._item(chat, after), condition=ABSENT)
        restriction = items.restriction_change(seen, after)
        values: dict[str, ItemValue] = {
            ":after": items.intervals_value(after.intervals),
            ":role": after.role.value,
            ":since": after.right_since,
            ":seen": items.intervals_value(seen.intervals),
            ":seen_role": seen.role.value,
            **restriction.values,
        }
        as_seen = f"intervals = :seen AND #r = :seen_role AND {restriction.condition}"
        return Update(
            table=_MEMBERS,
            key=items.membership_key(chat, after.user),
            update="SET intervals = :after, #r = :role, right_since = :since" + restriction.update,
            condition=self._reconciler.with_epoch(as_seen, values),
            names={"#r": "role"},
            values=values,
        )

    def _item(self, chat: ChatKey, row: Membership) -> dict[str, ItemValue]:
        return items.membership_item(chat, row, self._now(), self._reconciler.epoch)

    def _with_count(
        self,
        pattern: AccessPattern,
        chat: Chat,
        changed: Sequence[Membership],
        actions: Sequence[TransactAction],
        entrance: Entrance | None = None,
    ) -> TransactionPart:
        """Return the writes of memberships together with the chat's member count, `large_since` and listed members."""
        joined = [row for row in changed if row.is_member]
        count = chat.member_count + len(joined) - (len(changed) - len(joined))
        update = "SET member_count = :after, updated_at = :now"
        values: dict[str, ItemValue] = {":after": count, ":seen": chat.member_count, ":now": self._now()}
        if joined and count > MAX_SMALL_MEMBERS and chat.large_since is None:
            update += ", large_since = :since"
            values[":since"] = joined[0].intervals[-1].joined + 1
        # ADD and DELETE change a set element by element, so no condition on the value read is needed.
        verb, some = items.some_members_change(chat, changed)
        if some:
            update += f" {verb} some_members :some"
            values[":some"] = some
        row = Update(
            table=_CHATS,
            key={"chat_id": chat_key(chat.key)},
            update=update,
            condition=self._reconciler.with_epoch("member_count = :seen", values)
            + items.entrance_condition(entrance, values),
            values=values,
        )
        return TransactionPart(pattern, (row, *actions))

    def _block_row(self, chat: ChatKey, user: UserId, other: UserId, *, is_blocked: bool) -> TransactAction:
        key = items.block_key(chat.tenant, user, other)
        if is_blocked:
            return Put(table=_STATE, item=key | {"created_at": self._now()})
        return Delete(table=_STATE, key=key)

    def _now(self) -> str:
        return format_ms(self._clock.now_ms())


def _by_user(found: Iterable[Item]) -> dict[UserId, Item | None]:
    return {items.user_of(item): item for item in found}
