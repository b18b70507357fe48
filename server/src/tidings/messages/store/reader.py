"""The log in DynamoDB, for readers."""

from collections.abc import Mapping, Sequence

from tidings.kernel.clock import parse_ms
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.messages.store.items import KEYS_ONLY_NAMES, METADATA, entry_from_item, ephemeral_partition
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import translate_read_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import chats as patterns

_BETWEEN = "chat_id = :c AND #s BETWEEN :low AND :high"
_NAMES = {"#s": "sequence"}
MAX_READ_RANGE = 500


class DynamoLogReader:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]:
        query = Query(
            condition=_BETWEEN,
            names=_NAMES,
            values={":c": chat_key(chat), ":low": after + 1, ":high": up_to},
            limit=limit,
            backward=newest_first,
        )
        pattern = patterns.READ_RECENT if newest_first else patterns.READ_AFTER
        with translate_read_errors:
            page = await self._client.query(pattern, query)
        return [entry_from_item(item) for item in page.items]

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        values = {":c": chat_key(chat), ":low": after + 1, ":high": up_to}
        query = Query(condition=_BETWEEN, names=_NAMES, values=values, limit=MAX_READ_RANGE)
        with translate_read_errors:
            page = await self._client.query(patterns.FILL_GAP, query)
        return [entry_from_item(item) for item in page.items]

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None:
        with translate_read_errors:
            item = await self._client.get(
                patterns.READ_ONE, {"chat_id": chat_key(chat), "sequence": sequence}
            )
        return None if item is None else entry_from_item(item)

    async def committed_at_ms(self, chat: ChatKey, sequence: int) -> int | None:
        """Return when the entry was committed; None if the replica does not have it. Eventually consistent."""
        key = {"chat_id": chat_key(chat), "sequence": sequence}
        with translate_read_errors:
            item = await self._client.get(patterns.SHOW_ONE, key, projection="created_at")
        return None if item is None else parse_ms(item["created_at"])

    async def metadata(self, chat: ChatKey, after: int, up_to: int, limit: int) -> Sequence[Entry]:
        """Read the newest entries of a range, newest first, without their content."""
        query = Query(
            condition=_BETWEEN,
            names=KEYS_ONLY_NAMES,
            values={":c": chat_key(chat), ":low": after + 1, ":high": up_to},
            projection=METADATA,
            limit=limit,
            backward=True,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.SHOW_RANGE, query)
        return [entry_from_item(item) for item in page.items]

    async def ephemeral(self, chat: ChatKey, after: int, up_to: int) -> Mapping[int, bytes]:
        query = Query(
            condition=_BETWEEN,
            names=_NAMES,
            values={":c": ephemeral_partition(chat), ":low": after + 1, ":high": up_to},
        )
        found: dict[int, bytes] = {}
        with translate_read_errors:
            async for page in self._client.pages(patterns.READ_EPHEMERAL, query):
                found |= {int(item["sequence"]): item["content"] for item in page.items}
        return found
