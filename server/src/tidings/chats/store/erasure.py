"""Replace an erased user in the rows of a chat by a pseudonym."""

from collections.abc import Collection

from tidings.chats.items import membership_key
from tidings.chats.store.chats import DynamoChatStore
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ErasedUser
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    DynamoError,
    TransactionCancelledError,
    raise_write_error,
    translate_read_errors,
)
from tidings.platform.dynamo.requests import Delete, Put, TransactAction, Update
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import chats as patterns
from tidings.schema.tables.patterns import erasure as erase_patterns

_CHATS, _MEMBERS = "chats", "chat_memberships"
_PERSONAL = ("ban_reason", "muted_until", "unmuted_at", "banned_until", "last_sent")


class DynamoMembershipEraser(DynamoChatStore):
    async def move(self, chat: ChatKey, erased: ErasedUser) -> bool:
        """Move the membership to the pseudonym, with the creator and the listed members of the chat; atomic."""
        before, after = (membership_key(chat, user) for user in erased)
        with translate_read_errors:
            row = await self._client.get(patterns.CHECK_MEMBER, before)
            if not self._reconciler.is_reconciled(row):
                await self.membership(chat, erased.user)
                row = await self._client.get(patterns.CHECK_MEMBER, before)
            found = await self._client.get(patterns.CHECK, {"chat_id": chat_key(chat)})
        if row is None:
            return False
        kept = {name: value for name, value in row.items() if name not in _PERSONAL}
        actions: list[TransactAction] = [
            # Race: another worker moves it, or an admin bans the user. The intervals are those that were read, or nothing
            # is written.
            Delete(
                table=_MEMBERS,
                key=before,
                condition="intervals = :seen",
                values={":seen": row["intervals"]},
            ),
            Put(table=_MEMBERS, item={**kept, **after}),
        ]
        if found is not None and (update := _chat_update(chat, found, erased)) is not None:
            actions.append(update)
        try:
            await self._client.transact_write(erase_patterns.ERASE_MEMBER, actions)
        except TransactionCancelledError as cancelled:
            if any(reason.is_condition for reason in cancelled.reasons):
                raise TidingsError(
                    Code.WRITE_CONFLICT, "The membership or the chat has changed."
                ) from cancelled
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return True


def _chat_update(chat: ChatKey, found: Item, erased: ErasedUser) -> Update | None:
    """Return the update of a chat that names the user as its creator or as one of its listed members."""
    some: Collection[str] = found.get("some_members", ())
    if found["created_by"] != erased.user and erased.user not in some:
        return None
    values: dict[str, ItemValue] = {":by": _replaced(found["created_by"], erased)}
    update, condition = "SET created_by = :by", None
    if some:
        update += ", some_members = :some"
        condition = "some_members = :seen"
        values |= {":some": {_replaced(user, erased) for user in some}, ":seen": set(some)}
    key: dict[str, ItemValue] = {"chat_id": chat_key(chat)}
    return Update(table=_CHATS, key=key, update=update, condition=condition, values=values)


def _replaced(user: str, erased: ErasedUser) -> str:
    return erased.pseudonym if user == erased.user else user
