"""Compare rows of chats and members of an earlier epoch with the log, and write them back with the present epoch.

After a restore or failover a row may be ahead of its log or behind it (see `tidings.chats.restored`). An installation
that was never restored has epoch 0, its rows have none, and nothing is compared.
"""

from collections.abc import Mapping
from functools import partial
from itertools import batched
from typing import Final

from msgspec.structs import replace

from tidings.chats import items
from tidings.chats.model import MAX_SMALL_MEMBERS, SOME_MEMBERS, Chat, Membership
from tidings.chats.restored import restored_chat, restored_membership
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.concurrency import SingleFlight, gather_limited
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.ports import PastEnd, PastLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    raise_write_error,
    translate_read_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Query, Update
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import chats as patterns

_READ_AT_ONCE: Final = 100


class MembershipReconciler:
    """Used by the store of chats, so that no reader gets a row that contradicts the log.

    With `is_read_only`, nothing is written back.
    """

    def __init__(
        self, client: DynamoClient, past: PastLogReader, clock: Clock, *, is_read_only: bool = False
    ) -> None:
        self._client = client
        self._past = past
        self._clock = clock
        self._is_read_only = is_read_only
        self._applications: SingleFlight[tuple[ChatKey, int], None] = SingleFlight()

    @property
    def epoch(self) -> int:
        return self._past.epoch()

    def is_reconciled(self, item: Item | None) -> bool:
        """Return whether a row can be trusted. A missing row can be trusted before the first restore only."""
        return not self.epoch or (item is not None and item.get("epoch", 0) == self.epoch)

    def with_epoch(self, condition: str, values: dict[str, ItemValue]) -> str:
        """Return a condition that a row of an earlier epoch does not meet: it must be compared with the log first."""
        if not self.epoch:
            return condition
        values[":epoch"] = self.epoch
        return f"{condition} AND epoch = :epoch"

    async def membership(self, chat: ChatKey, user: UserId, item: Item | None) -> Membership | None:
        """Return the membership of a row that was read with a strongly consistent read."""
        # Race: an admin changes the membership while a reader compares its row. A change is written to a row of the
        # present epoch only, and a result only to the row as it was read, so one of them fails.
        row = None if item is None else items.membership_from_item(item)
        if self.is_reconciled(item):
            return row
        # Race: another restore raises the epoch while the log is read. The row is written with the epoch that it was
        # compared in, so its next reader compares it again.
        epoch, past = self.epoch, await self._past.end(chat)
        found = restored_membership(chat.chat, user, row, past)
        if found is not None:
            await self._write_membership(chat, row, found, _epoch_of(item), epoch)
        return found

    async def memberships(
        self, chat: ChatKey, found: Mapping[UserId, Item | None]
    ) -> Mapping[UserId, Membership]:
        """Return the memberships of users; None for a user without a row."""
        calls = (self.membership(chat, user, item) for user, item in found.items())
        rows = await gather_limited(calls) if found else []
        return {row.user: row for row in rows if row is not None}

    async def apply(self, chat: ChatKey) -> None:
        """Compare the rows of all users that the end of the log names, before a list of members is read.

        Otherwise a member whose row was lost would be missing in the list.
        """
        if self.epoch and not (past := await self._past.end(chat)).is_applied:
            await self._applications.run((chat, self.epoch), partial(self._apply, chat, past))

    async def _apply(self, chat: ChatKey, past: PastEnd) -> None:
        named = dict.fromkeys(user for entry in past.changes for user in entry.users)
        for some in batched(named, _READ_AT_ONCE):
            keys = [items.membership_key(chat, user) for user in some]
            with translate_read_errors:
                found = await self._client.batch_get(patterns.CHECK_MEMBERS, keys)
            rows = {items.user_of(item): item for item in found}
            await self.memberships(chat, {user: rows.get(user) for user in some})
        past.is_applied = True

    async def chat(self, chat: ChatKey, item: Item | None) -> Chat | None:
        """Return the chat of a row that was read with a strongly consistent read."""
        row = None if item is None else items.chat_from_item(item)
        if self.is_reconciled(item) or (item is not None and "importing" in item):
            return row
        epoch, past = self.epoch, await self._past.end(chat)
        found = restored_chat(chat, row, past)
        if found is None:
            await self._delete_chat(chat, item)
            return None
        found = await self._with_members(chat, found)
        await self._write_chat(chat, row, found, _epoch_of(item), epoch)
        return found

    async def _with_members(self, chat: ChatKey, row: Chat) -> Chat:
        """Compare the rows of all members of a small chat, and count them."""
        await self.apply(chat)
        if row.member_count > MAX_SMALL_MEMBERS:
            return row
        query = Query(condition="chat_id = :c", values={":c": chat_key(chat)})
        stored = list[Item]()
        with translate_read_errors:
            async for page in self._client.pages(patterns.LIST_MEMBERS, query):
                stored += page.items
        by_user = {items.user_of(item): item for item in stored}
        members = [row.user for row in (await self.memberships(chat, by_user)).values() if row.is_member]
        listed = [user for user in row.some_members if user in members] + members
        some = frozenset(list(dict.fromkeys(listed))[:SOME_MEMBERS])
        return replace(row, member_count=len(members), some_members=some)

    async def _write_membership(
        self, chat: ChatKey, row: Membership | None, found: Membership, was: int | None, epoch: int
    ) -> None:
        seen = row or Membership(user=found.user, role=found.role, intervals=())
        restriction = items.restriction_change(seen, found)
        update = "SET intervals = :after, #r = :role, right_since = :since, epoch = :epoch"
        values: dict[str, ItemValue] = {
            ":after": items.intervals_value(found.intervals),
            ":role": found.role.value,
            ":since": found.right_since,
            **restriction.values,
        }
        condition = f"{_as_read(was, values)} AND {restriction.condition}"
        if row is None:
            update += ", joined_at = :now"
            values[":now"] = self._now()
        else:
            condition += " AND intervals = :seen AND #r = :seen_role"
            values |= {":seen": items.intervals_value(row.intervals), ":seen_role": row.role.value}
        flags = (
            ("blocks", seen.blocks_other, found.blocks_other),
            ("blocked", seen.blocked_by_other, found.blocked_by_other),
        )
        for name, before, after in flags:
            if before != after:
                update += f", {name} = :{name}"
                values[f":{name}"] = after
        change = Update(
            table="chat_memberships",
            key=items.membership_key(chat, found.user),
            update=update + restriction.update,
            condition=condition,
            names={"#r": "role"},
            values=values | {":epoch": epoch},
        )
        await self._update(patterns.RECONCILE_MEMBER, change)

    async def _write_chat(
        self, chat: ChatKey, row: Chat | None, found: Chat, was: int | None, epoch: int
    ) -> None:
        item = items.chat_item(found, self._now(), epoch) | items.rules_of(found)
        new = Chat(key=chat, type=found.type, created_by=found.created_by, member_count=0)
        before = items.rules_of(row or new) | {"chat_id": chat_key(chat)}
        values: dict[str, ItemValue] = {}
        condition = _as_read(was, values)
        if row is not None:
            before |= {**items.chat_item(row, "", 0), "created_at": item["created_at"]}
            condition += " AND member_count = :seen"
            values[":seen"] = row.member_count
        sets = {name: value for name, value in item.items() if before.get(name) != value}
        change = Update(
            table="chats",
            key={"chat_id": chat_key(chat)},
            update="SET " + ", ".join(f"#{name} = :{name}" for name in sets),
            condition=condition,
            names={f"#{name}": name for name in sets},
            values=values | {f":{name}": value for name, value in sets.items()},
        )
        await self._update(patterns.RECONCILE_CHAT, change)

    async def _update(self, pattern: AccessPattern, change: Update) -> None:
        if self._is_read_only:
            return
        try:
            await self._client.update(
                pattern,
                change.key,
                change.update,
                condition=change.condition,
                names=change.names,
                values=change.values,
                repeatable=True,
            )
        except ConditionFailedError:
            # Race: another reader was faster. Its result is the same, or the next reader compares the row again.
            return
        except DynamoError as error:
            raise_write_error(error)

    async def _delete_chat(self, chat: ChatKey, item: Item | None) -> None:
        """Delete the row of a chat whose whole log is lost, so that it can be created again."""
        if item is None or self._is_read_only:
            return
        values: dict[str, ItemValue] = {}
        try:
            await self._client.delete(
                patterns.DELETE_LOST_CHAT,
                {"chat_id": chat_key(chat)},
                condition=_as_read(_epoch_of(item), values),
                values=values or None,
                repeatable=True,
            )
        except ConditionFailedError:
            return  # The chat was created again.
        except DynamoError as error:
            raise_write_error(error)

    def _now(self) -> str:
        return format_ms(self._clock.now_ms())


def _epoch_of(item: Item | None) -> int | None:
    """Return the epoch of a stored row; None without a row."""
    return None if item is None else int(item.get("epoch", 0))


def _as_read(epoch: int | None, values: dict[str, ItemValue]) -> str:
    """Return the condition that a row is of the epoch that was read, or still missing. Adds the value that it needs."""
    if epoch is None:
        return "attribute_not_exists(chat_id)"
    if not epoch:
        return "attribute_exists(chat_id) AND attribute_not_exists(epoch)"
    values[":was"] = epoch
    return "epoch = :was"
