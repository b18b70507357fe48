"""Side writes of edits, redactions, reactions and ephemeral content in DynamoDB.

Each write is conditional on the message as it was read, so a concurrent change of the message fails the transaction.
"""

import hashlib
from collections.abc import Sequence

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, UserId, message_id
from tidings.messages.model import Draft, Entry, ReactionChange, SideWrites
from tidings.messages.store.log import ephemeral_partition
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Delete, Put, Query, TransactAction, TransactionPart, Update
from tidings.schema.tables.items.chats import REACTION, chat_key, user_key
from tidings.schema.tables.items.media import upload_key
from tidings.schema.tables.items.moderation import (
    CONTENT_RULE,
    DECISION,
    MESSAGE_REVIEW,
    OPEN,
    REVIEW_RETENTION_S,
    WAITING,
    queue_keys,
    review_key,
)
from tidings.schema.tables.patterns import media as media_patterns
from tidings.schema.tables.patterns import messages as patterns
from tidings.schema.tables.patterns import moderation as moderation_patterns

_TABLE, _MEMBERS, _UPLOADS, _REPORTS = "messages", "chat_memberships", "uploads", "reports"
_REACTION_BYTES = 15
_NOT_REDACTED = "attribute_exists(chat_id) AND attribute_not_exists(redacted_at)"
# Race: a message expires after it was read for an edit or a reaction. Its content must not return.
_NOT_EXPIRED = f"{_NOT_REDACTED} AND attribute_not_exists(visible_until)"
_NOT_ARCHIVED = f"{_NOT_EXPIRED} AND attribute_not_exists(archived_in)"


class DynamoEditStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    def paced(
        self, chat: ChatKey, user: UserId, side_writes: SideWrites | None, now_ms: int, /
    ) -> TransactionPart:
        # Without a condition: the entry's own condition decides. A view that does not have the sender's last message is
        # behind the log, so its put at head + 1 fails.
        row = Update(
            table=_MEMBERS,
            key={"chat_id": chat_key(chat), "user_id": user_key(chat.tenant, user)},
            update="SET last_sent = :now",
            values={":now": now_ms},
        )
        if side_writes is None:
            return TransactionPart(patterns.APPEND_PACED, (row,))
        part = _part(side_writes)
        return TransactionPart(part.pattern, (*part.actions, row))

    def flagged(
        self, chat: ChatKey, sequence: int, author: UserId, side_writes: SideWrites | None, now_ms: int, /
    ) -> TransactionPart:
        # Without a condition: a new message has no review, and a flagged edit opens that of its message again.
        name = MESSAGE_REVIEW + message_id(chat.chat, sequence)
        queued = queue_keys(chat.tenant, WAITING, now_ms, name)
        values: dict[str, ItemValue] = {
            ":open": OPEN,
            ":author": author,
            ":now": now_ms,
            ":ttl": now_ms // 1000 + REVIEW_RETENTION_S,
            ":one": 1,
            ":reasons": frozenset({CONTENT_RULE}),
            ":shard": queued["queue_shard"],
            ":at": queued["queued_at"],
        }
        review = Update(
            table=_REPORTS,
            key=dict(review_key(chat.tenant, name)),
            update="SET review_state = :open, author_id = :author, opened_ms = :now, reported_ms = :now, #ttl = :ttl, "
            f"queue_shard = :shard, queued_at = :at REMOVE {', '.join(DECISION)} "
            "ADD report_count :one, reasons :reasons",
            values=values,
            names={"#ttl": "ttl"},
        )
        actions = () if side_writes is None else _part(side_writes).actions
        return TransactionPart(moderation_patterns.APPEND_FLAGGED, (*actions, review))

    def ephemeral(self, chat: ChatKey, sequence: int, content: bytes, draft: Draft) -> TransactionPart:
        # `expires_at` is the table's TTL attribute. Log entries never have it, because they are permanent.
        if draft.visible_until_ms is None:
            raise ValueError("the content of a permanent message is stored in its entry")
        item: dict[str, ItemValue] = {
            "chat_id": ephemeral_partition(chat),
            "sequence": sequence,
            "content": content,
            # Rounded up, so that the store never deletes content that is still visible.
            "expires_at": -(-draft.visible_until_ms // 1000),
        }
        put = Put(table=_TABLE, item=item, condition="attribute_not_exists(chat_id)")
        return TransactionPart(patterns.APPEND_EPHEMERAL, (put,))

    def attach(self, chat: ChatKey, sequence: int, draft: Draft, content: bytes | None) -> TransactionPart:
        ephemeral = () if content is None else self.ephemeral(chat, sequence, content, draft).actions
        uploads = tuple(_attached(chat, sequence, draft, upload) for upload in draft.attachments)
        return TransactionPart(media_patterns.APPEND_ATTACHMENTS, (*ephemeral, *uploads))

    def edit(self, chat: ChatKey, seen: Entry, content: bytes, now_ms: int) -> TransactionPart:
        update = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET content = :content, edited_at = :now",
            condition=_NOT_ARCHIVED,
            values={":content": content, ":now": format_ms(now_ms)},
        )
        return TransactionPart(patterns.APPEND_CHANGE, (update,))

    def redaction(self, chat: ChatKey, seen: Entry, now_ms: int) -> TransactionPart:
        empty = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET redacted_at = :now REMOVE content, archive_key, content_type, reaction_counts, reaction_users",
            condition=_NOT_REDACTED,
            values={":now": format_ms(now_ms)},
        )
        actions: list[TransactAction] = [empty]
        if seen.visible_until_ms is not None:
            place: dict[str, ItemValue] = {"chat_id": ephemeral_partition(chat), "sequence": seen.sequence}
            actions.append(Delete(table=_TABLE, key=place))
        actions += [_deleted(chat, upload) for upload in seen.attachments]
        pattern = media_patterns.REDACT_ATTACHMENTS if seen.attachments else patterns.APPEND_CHANGE
        return TransactionPart(pattern, tuple(actions))

    async def finish_redaction(self, chat: ChatKey, seen: Entry, redacted_at_ms: int, /) -> None:
        actions = self.redaction(chat, seen, redacted_at_ms).actions
        with translate_write_errors:
            # Race: a user redacts the message at the same time. The condition of the first write fails, and nothing is
            # left to do.
            await self._client.try_transact_write(media_patterns.FINISH_REDACTION, actions, repeatable=True)

    def reaction(self, chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> TransactionPart:
        values: dict[str, ItemValue] = {":counts": dict(reacted.counts), ":users": list(reacted.users)}
        unchanged = _NOT_EXPIRED if seen.visible_until_ms is None else _NOT_REDACTED
        condition = f"{unchanged} AND attribute_not_exists(reaction_counts)"
        if seen.reaction_counts is not None:
            condition = f"{unchanged} AND reaction_counts = :seen AND reaction_users = :seen_users"
            values |= {":seen": dict(seen.reaction_counts), ":seen_users": list(seen.reaction_users)}
        update = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET reaction_counts = :counts, reaction_users = :users",
            condition=condition,
            values=values,
        )
        return TransactionPart(patterns.APPEND_CHANGE, (update, _own_item(chat, seen, reacted, now_ms)))

    async def has_reaction(self, chat: ChatKey, sequence: int, user: UserId, emoji: str) -> bool:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_REACTION, reaction_key(chat, sequence, user, emoji))
        return item is not None

    async def reactions(self, chat: ChatKey, sequence: int) -> Sequence[tuple[UserId, str]]:
        """Return all reactions to a message: users and emoji."""
        query = Query(condition="chat_id = :c", values={":c": _reaction_partition(chat, sequence)})
        with translate_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_REACTIONS, query)]
        return [(UserId(item["sender_id"]), item["emoji"]) for page in pages for item in page.items]

    async def clear_reactions(self, chat: ChatKey, sequence: int) -> None:
        """Delete all reactions to a redacted message. Idempotent."""
        # Race: a user reacts while the worker deletes. The reaction fails, because it commits only if the message's
        # row is not redacted; so nothing remains after the last page.
        query = Query(
            condition="chat_id = :c",
            values={":c": _reaction_partition(chat, sequence)},
            names={"#s": "sequence"},
            projection="chat_id, #s",
        )
        with translate_write_errors:
            async for page in self._client.pages(patterns.LIST_REACTIONS, query):
                if page.items:
                    await self._client.batch_write(
                        patterns.CLEAR_REACTIONS, deletes=page.items, repeatable=True
                    )


def _part(side_writes: SideWrites) -> TransactionPart:
    if not isinstance(side_writes, TransactionPart):
        raise TypeError(f"side writes must be a TransactionPart, not {side_writes!r}")
    return side_writes


ATTACHABLE = "upload_state = :uploaded AND owner_id = :owner AND chat_id = :chat AND check_state <> :refused"
"""The condition of the write that attaches an upload. The check before it can be outdated."""


def _attached(chat: ChatKey, sequence: int, draft: Draft, upload: str) -> Update:
    """Return the write that attaches an upload. It expires with the content of an ephemeral message."""
    values: dict[str, ItemValue] = {
        ":attached": "attached",
        ":uploaded": "uploaded",
        ":refused": "refused",
        ":sequence": sequence,
        ":key": draft.client_key,
        ":owner": draft.sender,
        ":chat": chat.chat,
    }
    change = "SET upload_state = :attached, message_sequence = :sequence, client_message_id = :key"
    if draft.visible_until_ms is None:
        change += " REMOVE expires_ms"
    else:
        change += ", expires_ms = :until"
        values[":until"] = draft.visible_until_ms
    return Update(
        table=_UPLOADS,
        key=dict(upload_key(chat.tenant, upload)),
        update=change,
        condition=ATTACHABLE,
        values=values,
    )


def _deleted(chat: ChatKey, upload: str) -> Update:
    # Without a condition: an upload that expired before may have no row, and must not prevent the redaction. The sweeper
    # deletes the row that this write then creates.
    return Update(
        table=_UPLOADS,
        key=dict(upload_key(chat.tenant, upload)),
        update="SET upload_state = :deleting",
        values={":deleting": "deleting"},
    )


def _own_item(chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> Put | Delete:
    """Return the write of the user's reaction item. Its condition keeps the counts exact under concurrent retries."""
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


def _reaction_partition(chat: ChatKey, sequence: int) -> str:
    return REACTION.partition.render(tenant=chat.tenant, chat=chat.chat, sequence=sequence)


def reaction_key(chat: ChatKey, sequence: int, user: UserId, emoji: str) -> dict[str, ItemValue]:
    """Return the key of a reaction. The sort key is a number, so user and emoji are hashed to 120 bits."""
    digest = hashlib.sha256(f"{user}\0{emoji}".encode()).digest()
    return {
        "chat_id": _reaction_partition(chat, sequence),
        "sequence": int.from_bytes(digest[:_REACTION_BYTES]),
    }
