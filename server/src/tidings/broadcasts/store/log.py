"""The log in DynamoDB: one partition for each inbox, entries in the order of their sequences."""

from collections.abc import Sequence

from tidings.broadcasts.model import Entry, Kind, LogId, Span
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Item, Value
from tidings.tables.items.inbox import ENTRY_SORT, OF_LOG
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import notices as patterns

_FIRST = KeyTemplate("b#").render()
_PAGE = 1_000


class DynamoLog:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def after(self, log: LogId, sequence: int) -> Sequence[Entry]:
        query = Query(
            condition="PK = :p AND SK > :s",
            values={":p": _partition(log), ":s": ENTRY_SORT.render(sequence=sequence)},
        )
        found: list[Entry] = []
        try:
            async for page in self._client.pages(patterns.FOLLOW_BROADCASTS, query):
                found += [_entry_of(item) for item in page.items]
        except DynamoError as error:
            unread(error)
        return found

    async def since(self, log: LogId, at_ms: int) -> Sequence[Entry]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :b)",
            values={":p": _partition(log), ":b": _FIRST},
            limit=_PAGE,
            backward=True,
        )
        found: list[Entry] = []
        try:
            async for page in self._client.pages(patterns.OPEN_BROADCASTS, query):
                found += [_entry_of(item) for item in page.items]
                if found and found[-1].at_ms < at_ms:
                    break
        except DynamoError as error:
            unread(error)
        return found[::-1]

    async def put(self, log: LogId, entry: Entry) -> Entry | None:
        try:
            await self._client.put(
                patterns.APPEND_BROADCAST,
                _item(log, entry),
                condition="attribute_not_exists(PK)",
                repeatable=True,
            )
        except ConditionFailedError as failed:
            return _entry_of(failed.item or {})
        except DynamoError as error:
            unwritten(error)
        return None


def _partition(log: LogId) -> str:
    return OF_LOG.render(tenant=log.tenant, inbox=log.inbox)


def _item(log: LogId, entry: Entry) -> dict[str, Value]:
    item: dict[str, Value] = {
        "PK": _partition(log),
        "SK": ENTRY_SORT.render(sequence=entry.sequence),
        "kind": entry.kind.value,
        "id": entry.id,
        "notice": entry.notice,
        "at": entry.at_ms,
        "category": entry.category or None,
        "segment": entry.segment,
        "hashes": None if entry.span is None else list(entry.span),
        "expires_at_ms": entry.expires_ms or None,
        "tracked": entry.is_tracked or None,
    }
    return {name: value for name, value in item.items() if value is not None}


def _entry_of(item: Item) -> Entry:
    span = item.get("hashes")
    return Entry(
        sequence=int(item["SK"].partition("#")[2]),
        kind=Kind(item["kind"]),
        id=item["id"],
        notice=item["notice"],
        at_ms=int(item["at"]),
        category=int(item.get("category", 0)),
        segment=item.get("segment"),
        span=None if span is None else Span(int(span[0]), int(span[1])),
        expires_ms=int(item.get("expires_at_ms", 0)),
        is_tracked=bool(item.get("tracked", False)),
    )
