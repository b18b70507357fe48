"""What goes beside an entry that changes a message. Each holds only if the message is as it was read."""

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Draft, Entry, ReactionChange
from tidings.messages.store.items import ephemeral_partition, reaction_key
from tidings.platform.dynamo.beside import TransactionPart
from tidings.platform.dynamo.transactions import Delete, Put, Update
from tidings.platform.dynamo.values import ItemValue
from tidings.tables.items.chat import chat_key
from tidings.tables.patterns import messages as patterns

_TABLE = "messages"
_NOT_REDACTED = "attribute_exists(chat_id) AND attribute_not_exists(redacted_at)"


class DynamoEditWriter:
    def ephemeral(self, chat: ChatKey, sequence: int, content: bytes, draft: Draft) -> TransactionPart:
        """`expires_at` is the table's TTL attribute: it stands here and never in the log itself."""
        if draft.visible_until_ms is None:
            raise ValueError("a message that does not expire has its content in the log")
        item: dict[str, ItemValue] = {
            "chat_id": ephemeral_partition(chat),
            "sequence": sequence,
            "content": content,
            # rounded up: the store never deletes what may still be seen
            "expires_at": -(-draft.visible_until_ms // 1000),
        }
        put = Put(table=_TABLE, item=item, condition="attribute_not_exists(chat_id)")
        return TransactionPart(patterns.APPEND_EPHEMERAL, (put,))

    def edit(self, chat: ChatKey, seen: Entry, content: bytes, now_ms: int) -> TransactionPart:
        update = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET content = :content, edited_at = :now",
            condition=_NOT_REDACTED,
            values={":content": content, ":now": format_ms(now_ms)},
        )
        return TransactionPart(patterns.APPEND_CHANGE, (update,))

    def redaction(self, chat: ChatKey, seen: Entry, now_ms: int) -> TransactionPart:
        empty = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET redacted_at = :now REMOVE content, content_type, reaction_counts, reaction_users",
            condition=_NOT_REDACTED,
            values={":now": format_ms(now_ms)},
        )
        if seen.visible_until_ms is None:
            return TransactionPart(patterns.APPEND_CHANGE, (empty,))
        apart = Delete(table=_TABLE, key={"chat_id": ephemeral_partition(chat), "sequence": seen.sequence})
        return TransactionPart(patterns.APPEND_CHANGE, (empty, apart))

    def reaction(self, chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> TransactionPart:
        values: dict[str, ItemValue] = {":counts": dict(reacted.counts), ":users": list(reacted.users)}
        condition = f"{_NOT_REDACTED} AND attribute_not_exists(reaction_counts)"
        if seen.reaction_counts is not None:
            condition = f"{_NOT_REDACTED} AND reaction_counts = :seen AND reaction_users = :seen_users"
            values |= {":seen": dict(seen.reaction_counts), ":seen_users": list(seen.reaction_users)}
        update = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET reaction_counts = :counts, reaction_users = :users",
            condition=condition,
            values=values,
        )
        return TransactionPart(patterns.APPEND_CHANGE, (update, _own_item(chat, seen, reacted, now_ms)))


def _own_item(chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> Put | Delete:
    """Counts follow this item: no user is counted twice, and nobody withdraws what they never gave."""
    key = reaction_key(chat, seen.sequence, reacted.user, reacted.emoji)
    if not reacted.is_added:
        return Delete(table=_TABLE, key=key, condition="attribute_exists(chat_id)")
    item: dict[str, ItemValue] = {
        **key,
        "sender_id": reacted.user,
        "emoji": reacted.emoji,
        "created_at": format_ms(now_ms),
    }
    return Put(table=_TABLE, item=item, condition="attribute_not_exists(chat_id)")


def _key(chat: ChatKey, seen: Entry) -> dict[str, ItemValue]:
    return {"chat_id": chat_key(chat), "sequence": seen.sequence}
