"""The log in DynamoDB: one partition for each inbox, entries in the order of their sequences."""

from collections.abc import Sequence

from tidings.broadcasts.model import BroadcastEntry, BroadcastEntryKind, BroadcastLogId, BucketRange
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error, raise_write_error
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.tables.items.inbox import ENTRY_SORT, OF_LOG
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import notices as patterns

_FIRST = KeyTemplate("b#").render()
_PAGE = 1_000


class DynamoBroadcastLog:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def after(self, log: BroadcastLogId, sequence: int) -> Sequence[BroadcastEntry]:
        query = Query(
            condition="PK = :p AND SK > :s",
            values={":p": _partition(log), ":s": ENTRY_SORT.render(sequence=sequence)},
        )
        found: list[BroadcastEntry] = []
        try:
            async for page in self._client.pages(patterns.FOLLOW_BROADCASTS, query):
                found += [_entry_from_item(item) for item in page.items]
        except DynamoError as error:
            raise_read_error(error)
        return found

    async def since(self, log: BroadcastLogId, at_ms: int) -> Sequence[BroadcastEntry]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :b)",
            values={":p": _partition(log), ":b": _FIRST},
            limit=_PAGE,
            backward=True,
        )
        found: list[BroadcastEntry] = []
        try:
            async for page in self._client.pages(patterns.OPEN_BROADCASTS, query):
                found += [_entry_from_item(item) for item in page.items]
                if found and found[-1].at_ms < at_ms:
                    break
        except DynamoError as error:
            raise_read_error(error)
        return found[::-1]

    async def put(self, log: BroadcastLogId, entry: BroadcastEntry) -> BroadcastEntry | None:
        try:
            await self._client.put(
                patterns.APPEND_BROADCAST,
                _item(log, entry),
                condition="attribute_not_exists(PK)",
                repeatable=True,
            )
        except ConditionFailedError as failed:
            return _entry_from_item(failed.item or {})
        except DynamoError as error:
            raise_write_error(error)
        return None


def _partition(log: BroadcastLogId) -> str:
    return OF_LOG.render(tenant=log.tenant, inbox=log.inbox)


def _item(log: BroadcastLogId, entry: BroadcastEntry) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = {
        "PK": _partition(log),
        "SK": ENTRY_SORT.render(sequence=entry.sequence),
        "kind": entry.kind.value,
        "id": entry.id,
        "notice": entry.notification,
        "at": entry.at_ms,
        "category": entry.category or None,
        "segment": entry.segment,
        "hashes": None if entry.span is None else list(entry.span),
        "expires_at_ms": entry.expires_ms or None,
        "tracked": entry.is_tracked or None,
    }
    return {name: value for name, value in item.items() if value is not None}


def _entry_from_item(item: Item) -> BroadcastEntry:
    span = item.get("hashes")
    return BroadcastEntry(
        sequence=int(item["SK"].partition("#")[2]),
        kind=BroadcastEntryKind(item["kind"]),
        id=item["id"],
        notification=item["notice"],
        at_ms=int(item["at"]),
        category=int(item.get("category", 0)),
        segment=item.get("segment"),
        span=None if span is None else BucketRange(int(span[0]), int(span[1])),
        expires_ms=int(item.get("expires_at_ms", 0)),
        is_tracked=bool(item.get("tracked", False)),
    )
