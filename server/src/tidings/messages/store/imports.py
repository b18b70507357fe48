"""Write the entries of imported chats, without conditions: the import is the only writer of the log."""

from collections.abc import Iterable, Sequence

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry
from tidings.messages.store.edits import reaction_key
from tidings.messages.store.entry_items import entry_item
from tidings.messages.store.log import DynamoMessageLog
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes
from tidings.platform.dynamo.errors import translate_write_errors
from tidings.schema.tables.patterns import imports as patterns

type ImportedReaction = tuple[int, UserId, str, int]


class DynamoImportLog:
    def __init__(self, client: DynamoClient, log: DynamoMessageLog) -> None:
        self._client = client
        self._log = log

    async def newest(self, chat: ChatKey) -> Entry | None:
        return await self._log.newest(chat)

    async def write(
        self, chat: ChatKey, entries: Sequence[Entry], reactions: Iterable[ImportedReaction]
    ) -> None:
        items = [_imported_item(chat, entry) for entry in entries]
        items += [_reaction_item(chat, *each) for each in reactions]
        with translate_write_errors:
            await self._client.batch_write(patterns.WRITE_ENTRIES, puts=items, repeatable=True)


def _imported_item(chat: ChatKey, entry: Entry) -> Attributes:
    """Return the item of an entry in its last state, marked so that the relay does not publish it."""
    item: dict[str, object] = {**entry_item(chat, entry), "imported": True}
    if entry.edited_at_ms is not None:
        item["edited_at"] = format_ms(entry.edited_at_ms)
    if entry.redacted_at_ms is not None:
        item["redacted_at"] = format_ms(entry.redacted_at_ms)
    if entry.reaction_counts is not None:
        item["reaction_counts"] = dict(entry.reaction_counts)
        item["reaction_users"] = list(entry.reaction_users)
    return item


def _reaction_item(chat: ChatKey, sequence: int, user: UserId, emoji: str, at_ms: int) -> Attributes:
    key = reaction_key(chat, sequence, user, emoji)
    return {**key, "sender_id": user, "emoji": emoji, "created_at": format_ms(at_ms)}
