"""Chats and memberships in DynamoDB. Makes what goes beside an entry; the log writes it."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from tidings.chats.model import Chat, Interval, Membership, Standing, standing_of
from tidings.chats.store import items
from tidings.kernel.clock import Clock, time_text
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.beside import Beside
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.transactions import Action, Check, Delete, Put, Update
from tidings.platform.dynamo.values import Value
from tidings.tables.patterns import chats as patterns

_CHATS, _MEMBERS, _STATE = "chats", "chat_memberships", "delivery_state"
ABSENT = "attribute_not_exists(chat_id)"
NO_BLOCK = "attribute_not_exists(user_id)"


class DynamoRows:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def standing(self, chat: ChatKey, user: UserId) -> Standing:
        return standing_of(chat.chat, await self.membership(chat, user))

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        row = await self.membership(chat, user)
        return () if row is None else row.intervals

    async def chat(self, chat: ChatKey) -> Chat | None:
        try:
            item = await self._client.get(patterns.CHECK, {"chat_id": items.chat_key(chat)})
        except DynamoError as error:
            unread(error)
        return None if item is None else items.chat_of(item)

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        try:
            item = await self._client.get(patterns.CHECK_MEMBER, items.membership_key(chat, user))
        except DynamoError as error:
            unread(error)
        return None if item is None else items.membership_of(item)

    async def memberships(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Membership]:
        keys = [items.membership_key(chat, user) for user in dict.fromkeys(users)]
        try:
            found = await self._client.batch_get(patterns.CHECK_MEMBERS, keys)
        except DynamoError as error:
            unread(error)
        rows = (items.membership_of(item) for item in found)
        return {row.user: row for row in rows}

    async def mute(self, chat: ChatKey, user: UserId, until_ms: int | None) -> bool:
        update = "REMOVE muted_until" if until_ms is None else "SET muted_until = :until"
        values = None if until_ms is None else {":until": until_ms}
        try:
            await self._client.update(
                patterns.MUTE,
                items.membership_key(chat, user),
                update,
                condition="attribute_exists(chat_id)",
                values=values,
                repeatable=True,
            )
        except ConditionFailedError:
            return False
        except DynamoError as error:
            unwritten(error)
        return True

    async def block_stranger(self, chat: ChatKey, user: UserId, other: UserId, *, is_blocked: bool) -> bool:
        no_chat = Check(table=_CHATS, key={"chat_id": items.chat_key(chat)}, condition=ABSENT)
        actions = [no_chat, self._block_row(chat, user, other, is_blocked=is_blocked)]
        try:
            await self._client.transact_write(patterns.BLOCK_STRANGER, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            unwritten(cancelled)
        except DynamoError as error:
            unwritten(error)
        return True

    def creation(self, chat: Chat, members: Sequence[Membership]) -> Beside:
        return Beside(patterns.CREATE, tuple(self._creation(chat, members)))

    def direct_creation(self, chat: Chat, members: Sequence[Membership]) -> Beside:
        one, other = (member.user for member in members)
        tenant = chat.key.tenant
        unblocked = [
            Check(table=_STATE, key=items.block_key(tenant, *pair), condition=NO_BLOCK)
            for pair in ((one, other), (other, one))
        ]
        return Beside(patterns.CREATE_DIRECT, (*self._creation(chat, members), *unblocked))

    def admission(self, chat: Chat, seen: Mapping[UserId, Membership], after: Iterable[Membership]) -> Beside:
        rows = list(after)
        actions = [self._row(chat.key, seen.get(row.user), row) for row in rows]
        return self._with_count(patterns.ADD_MEMBERS, chat, len(rows), actions)

    def removal(self, chat: Chat, seen: Membership, after: Membership) -> Beside:
        return self._with_count(patterns.REMOVE_MEMBER, chat, -1, [self._row(chat.key, seen, after)])

    def roles(self, chat: Chat, changes: Iterable[tuple[Membership, Membership]], sequence: int) -> Beside:
        placed = ((seen, replace(after, right_since=sequence)) for seen, after in changes)
        return Beside(patterns.CHANGE_ROLE, tuple(self._row(chat.key, *change) for change in placed))

    def renaming(self, chat: Chat, name: str) -> Beside:
        rename = Update(
            table=_CHATS,
            key={"chat_id": items.chat_key(chat.key)},
            update="SET #n = :name, updated_at = :now",
            names={"#n": "name"},
            values={":name": name, ":now": self._now()},
        )
        return Beside(patterns.RENAME, (rename,))

    def blocking(self, chat: ChatKey, user: UserId, other: UserId, *, unblocked_at: int | None) -> Beside:
        is_blocked = unblocked_at is None
        lifted = "" if is_blocked else ", right_since = :at"
        values: dict[str, Value] = {":is_blocked": is_blocked} | ({} if is_blocked else {":at": unblocked_at})
        marks = [
            Update(
                table=_MEMBERS,
                key=items.membership_key(chat, who),
                update=f"SET {flag} = :is_blocked{lifted}",
                values=values,
            )
            for who, flag in ((user, "blocks"), (other, "blocked"))
        ]
        return Beside(patterns.BLOCK, (*marks, self._block_row(chat, user, other, is_blocked=is_blocked)))

    def _creation(self, chat: Chat, members: Sequence[Membership]) -> Iterable[Action]:
        yield Put(table=_CHATS, item=items.chat_item(chat, self._now()), condition=ABSENT)
        yield from (self._row(chat.key, None, member) for member in members)

    def _row(self, chat: ChatKey, seen: Membership | None, after: Membership) -> Action:
        """Holds only if the row is as it was read: the intervals and the role tell."""
        if seen is None:
            return Put(table=_MEMBERS, item=items.membership_item(chat, after, self._now()), condition=ABSENT)
        return Update(
            table=_MEMBERS,
            key=items.membership_key(chat, after.user),
            update="SET intervals = :after, #r = :role, right_since = :since",
            condition="intervals = :seen AND #r = :seen_role",
            names={"#r": "role"},
            values={
                ":after": items.intervals_value(after.intervals),
                ":role": after.role.value,
                ":since": after.right_since,
                ":seen": items.intervals_value(seen.intervals),
                ":seen_role": seen.role.value,
            },
        )

    def _with_count(
        self, pattern: AccessPattern, chat: Chat, change: int, actions: Sequence[Action]
    ) -> Beside:
        count = Update(
            table=_CHATS,
            key={"chat_id": items.chat_key(chat.key)},
            update="SET member_count = :after, updated_at = :now",
            condition="member_count = :seen",
            values={
                ":after": chat.member_count + change,
                ":seen": chat.member_count,
                ":now": self._now(),
            },
        )
        return Beside(pattern, (count, *actions))

    def _block_row(self, chat: ChatKey, user: UserId, other: UserId, *, is_blocked: bool) -> Action:
        key = items.block_key(chat.tenant, user, other)
        if is_blocked:
            return Put(table=_STATE, item=key | {"created_at": self._now()})
        return Delete(table=_STATE, key=key)

    def _now(self) -> str:
        return time_text(self._clock.now_ms())
