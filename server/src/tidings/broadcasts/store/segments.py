"""Segments of a tenant, in the table `inbox`: one item each, with a version."""

from collections.abc import Sequence

import msgspec

from tidings.broadcasts.model import Segment
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.platform.dynamo.versions import put_if_version
from tidings.tables.items.inbox import OF_TENANT, SEGMENT_SORT
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import notices as patterns

_FIRST = KeyTemplate("sg#").render()


class DynamoSegmentStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, name: str) -> Segment | None:
        try:
            item = await self._client.get(patterns.READ_SEGMENT, _key(tenant, name))
        except DynamoError as error:
            raise_read_error(error)
        return None if item is None else _segment_from_item(item)

    async def listed(self, tenant: TenantId) -> Sequence[Segment]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :s)",
            values={":p": OF_TENANT.render(tenant=tenant), ":s": _FIRST},
        )
        found: list[Segment] = []
        try:
            async for page in self._client.pages(patterns.LIST_SEGMENTS, query):
                found += [_segment_from_item(item) for item in page.items]
        except DynamoError as error:
            raise_read_error(error)
        return found

    async def write(self, tenant: TenantId, segment: Segment) -> bool:
        return await put_if_version(
            self._client, patterns.WRITE_SEGMENT, _item(tenant, segment), segment.version
        )


def _key(tenant: TenantId, name: str) -> dict[str, ItemValue]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": SEGMENT_SORT.render(segment=name)}


def _item(tenant: TenantId, segment: Segment) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = _key(tenant, segment.name) | {
        "predicate": None if segment.predicate is None else msgspec.json.encode(segment.predicate),
        "list": segment.is_list or None,
        "active": segment.active,
        "newest": segment.newest,
        "version": segment.version,
        "updated_at": format_ms(segment.updated_ms),
    }
    return {name: value for name, value in item.items() if value is not None}


def _segment_from_item(item: Item) -> Segment:
    predicate = item.get("predicate")
    return Segment(
        name=item["SK"].partition("#")[2],
        predicate=None if predicate is None else msgspec.json.decode(predicate),
        is_list=bool(item.get("list", False)),
        active=int(item["active"]),
        newest=int(item["newest"]),
        version=int(item["version"]),
        updated_ms=parse_ms(item["updated_at"]),
    )
