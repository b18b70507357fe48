"""Empty the entries of an erased user, and replace their id by a pseudonym. Every call can be repeated.

Entries are never deleted: sequence, ordinal, kind and time stay, so the log stays dense and unread counts stay exact.
"""

from collections.abc import Iterable
from typing import Final

from tidings.kernel.concurrency import gather_limited, retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ErasedUser, UserId
from tidings.messages.model import Entry, EntryKind, reaction_mark
from tidings.messages.ports import ErasedEntries
from tidings.messages.store.edits import reaction_key
from tidings.messages.store.entry_items import entry_from_item
from tidings.messages.store.log import ephemeral_partition
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import (
    DynamoError,
    TransactionCancelledError,
    condition_held,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Delete, Put, Query, TransactAction, Update
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.patterns import erasure as erase_patterns
from tidings.schema.tables.patterns import messages as patterns

PAGE_ENTRIES: Final = 200
_TABLE: Final = "messages"
_CLIENT_KEY: Final = "erased"
_FINGERPRINT: Final = b"\x00"
"""Replaces the fingerprint. That of a membership change is a plain digest with ids: it would confirm a guess."""
_MAX_CONCURRENT: Final = 16


class DynamoLogEraser:
    def __init__(self, client: DynamoClient, page_entries: int = PAGE_ENTRIES) -> None:
        self._client = client
        self._page_entries = page_entries

    async def erase(self, chat: ChatKey, erased: ErasedUser, after: int, /) -> ErasedEntries:
        # `limit` bounds the work that a killed worker repeats.
        query = Query(
            condition="chat_id = :c AND #s > :n",
            values={":c": chat_key(chat), ":n": after},
            names={"#s": "sequence"},
            limit=self._page_entries,
        )
        with translate_read_errors:
            page = await self._client.query(erase_patterns.READ_TO_ERASE, query)
        entries = [entry_from_item(item) for item in page.items]
        own = [entry for entry in entries if entry.sender in erased]
        named = [entry for entry in entries if _names(entry, erased)]
        await self._delete_ephemeral(chat, own)
        for entry in own:  # One at a time: two reactions to the same message would conflict.
            await self._replace_reaction(chat, entry, erased)
        changed = [entry for entry in named if entry.sender == erased.user or erased.user in entry.users]
        reasons = [entry for entry in changed if entry.sender == erased.user and entry.reason is not None]
        # Before the entries lose them: a repeated page must find them.
        await gather_limited((self._delete_reason(chat, entry) for entry in reasons), _MAX_CONCURRENT)
        await gather_limited((self._empty(chat, entry, erased) for entry in changed), _MAX_CONCURRENT)
        return ErasedEntries(
            up_to=entries[-1].sequence if entries else after,
            has_more=page.start is not None,
            named_at=named[-1].sequence if named else 0,
            read=len(entries),
            entries=len(named),
            messages=sum(entry.kind is EntryKind.MESSAGE for entry in own),
            reactions=sum(entry.kind is EntryKind.REACTION for entry in own),
        )

    async def delete_keys(self, chat: ChatKey, user: UserId, /) -> int:
        query = Query(
            condition="chat_id = :c AND begins_with(client_message_id, :sender)",
            values={":c": chat_key(chat), ":sender": f"{user}#"},
            projection="chat_id, client_message_id",
        )
        count = 0
        with translate_write_errors:
            async for page in self._client.pages(erase_patterns.LIST_KEYS, query):
                if page.items:
                    await self._client.batch_write(
                        erase_patterns.DELETE_KEYS, deletes=page.items, repeatable=True
                    )
                count += len(page.items)
        return count

    async def _delete_ephemeral(self, chat: ChatKey, own: Iterable[Entry]) -> None:
        keys: list[dict[str, ItemValue]] = [
            {"chat_id": ephemeral_partition(chat), "sequence": entry.sequence}
            for entry in own
            if entry.visible_until_ms is not None
        ]
        if keys:
            with translate_write_errors:
                await self._client.batch_write(erase_patterns.ERASE_EPHEMERAL, deletes=keys, repeatable=True)

    async def _delete_reason(self, chat: ChatKey, entry: Entry) -> None:
        """Delete the reason of a ban from the banned user's row, unless a later ban has given another one."""
        for user in entry.users:
            with translate_write_errors:
                await condition_held(
                    self._client.update(
                        erase_patterns.ERASE_REASON,
                        {"chat_id": chat_key(chat), "user_id": user_key(chat.tenant, user)},
                        "REMOVE ban_reason",
                        condition="ban_reason = :reason",
                        values={":reason": entry.reason},
                        repeatable=True,
                    )
                )

    async def _empty(self, chat: ChatKey, entry: Entry, erased: ErasedUser) -> None:
        """Empty one entry in one update, so that an entry with the pseudonym is known to be done."""
        is_own = entry.sender == erased.user
        sets, removes = ["fingerprint = :fingerprint"], ["reason"]
        values: dict[str, ItemValue] = {":fingerprint": _FINGERPRINT}
        if is_own:
            sets += ["sender_id = :pseudonym", "client_message_id = :key"]
            removes += ["content", "archive_key", "content_type", "attachments"]
            values |= {":pseudonym": erased.pseudonym, ":key": _CLIENT_KEY}
        if erased.user in entry.users:
            sets.append("#users = :users")
            values[":users"] = [
                erased.pseudonym if user == erased.user else str(user) for user in entry.users
            ]
        with translate_write_errors:
            await self._client.update(
                erase_patterns.ERASE,
                _key(chat, entry.sequence),
                f"SET {', '.join(sets)} REMOVE {', '.join(removes)}",
                condition="attribute_exists(chat_id)",
                names={"#users": "users"} if ":users" in values else None,
                values=values,
                repeatable=True,
            )

    async def _replace_reaction(self, chat: ChatKey, entry: Entry, erased: ErasedUser) -> None:
        """Replace the user in the reaction that this entry added, unless it was removed since.

        Every reaction has an entry that added it, so the entries of the user lead to all of their reactions.
        """
        if entry.kind is not EntryKind.REACTION or entry.refers_to is None or entry.emoji is None:
            return
        sequence, emoji = entry.refers_to, entry.emoji.removeprefix("+")
        if emoji != entry.emoji:  # An entry that removes a reaction has a `-`.
            await retry_on_conflict(lambda: self._try_replacing(chat, sequence, emoji, erased))

    async def _try_replacing(self, chat: ChatKey, sequence: int, emoji: str, erased: ErasedUser) -> None:
        before, after = (reaction_key(chat, sequence, user, emoji) for user in erased)
        with translate_read_errors:
            found = await self._client.get(patterns.READ_REACTION, before)
            if found is None:
                return
            message = await self._client.get(patterns.READ_ONE, _key(chat, sequence))
        if message is None or "redacted_at" in message:
            return  # The delivery worker deletes the reactions to a redacted message.
        seen = message.get("reaction_users", [])
        mark = reaction_mark(emoji, erased.user)
        marks = [reaction_mark(emoji, erased.pseudonym) if each == mark else each for each in seen]
        actions: list[TransactAction] = [
            # Race: another user reacts to the message, or an admin redacts it. Both change this row, and then nothing
            # is written.
            Update(
                table=_TABLE,
                key=_key(chat, sequence),
                update="SET reaction_users = :marks",
                condition="attribute_not_exists(redacted_at) AND reaction_users = :seen",
                values={":marks": marks, ":seen": seen},
            ),
            Delete(table=_TABLE, key=before, condition="attribute_exists(chat_id)"),
            Put(table=_TABLE, item={**found, **after, "sender_id": erased.pseudonym}),
        ]
        try:
            await self._client.transact_write(erase_patterns.ERASE_REACTION, actions)
        except TransactionCancelledError as cancelled:
            # Race: another worker has replaced it after our first read. The second attempt finds nothing to do.
            if any(reason.is_condition for reason in cancelled.reasons):
                raise TidingsError(Code.WRITE_CONFLICT, "The reactions have changed.") from cancelled
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)


def _names(entry: Entry, erased: ErasedUser) -> bool:
    """Return whether the user sent the entry or is one of its users, also if the id was already replaced."""
    return entry.sender in erased or not set(erased).isdisjoint(entry.users)


def _key(chat: ChatKey, sequence: int) -> dict[str, ItemValue]:
    return {"chat_id": chat_key(chat), "sequence": sequence}
