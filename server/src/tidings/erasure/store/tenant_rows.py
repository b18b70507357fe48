"""Rows of a tenant that is deleted, in any table. Rows are neither verified nor decrypted: the keys are destroyed by then."""

from collections.abc import Mapping, Sequence
from typing import Final

from tidings.erasure.ports import RowKey
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.declaration import BY_NAME
from tidings.schema.tables.items.inboxes import profile_key
from tidings.schema.tables.model import Index
from tidings.schema.tables.patterns import tenant_deletion as patterns

_INDEXED: Final = {
    patterns.LIST_CHATS_OF_USER.index: patterns.LIST_CHATS_OF_USER,
    patterns.LIST_SESSIONS_OF_USER.index: patterns.LIST_SESSIONS_OF_USER,
    patterns.LIST_REVIEWS.index: patterns.LIST_REVIEWS,
}


class DynamoTenantRows:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def list(
        self, table: str, partition: str, limit: int, /, *, prefix: str = "", after: RowKey | None = None
    ) -> Sequence[Item]:
        declared = BY_NAME[table]
        names, values = {"#p": declared.partition.name}, {":p": partition}
        condition = "#p = :p"
        if prefix and declared.sort is not None:
            names["#s"], values[":s"] = declared.sort.name, prefix
            condition += " AND begins_with(#s, :s)"
        query = Query(
            condition=condition,
            names=names,
            values=values,
            limit=limit,
            start=None if after is None else row_key(table, after),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LISTS[table], query)
        return page.items

    async def list_index(
        self, table: str, index: str, partition: str, limit: int, /, *, after: RowKey | None = None
    ) -> Sequence[Item]:
        declared = next(each for each in BY_NAME[table].indexes if each.name == index)
        query = Query(
            condition="#p = :p",
            names={"#p": declared.partition.name},
            values={":p": partition},
            limit=limit,
            start=None if after is None else row_key(table, after) | _index_key(declared, after),
        )
        with translate_read_errors:
            page = await self._client.query(_INDEXED[index], query)
        return page.items

    async def delete(self, table: str, rows: Sequence[Mapping[str, ItemValue]], /) -> None:
        with translate_write_errors:
            await self._client.batch_write(
                patterns.DELETES[table], deletes=[row_key(table, row) for row in rows], repeatable=True
            )

    async def add_to_directory(self, tenant: TenantId, user: UserId, /) -> None:
        with translate_write_errors:
            await self._client.put(patterns.ADD_TO_DIRECTORY, profile_key(tenant, user), repeatable=True)


def row_key(table: str, row: Mapping[str, ItemValue]) -> dict[str, ItemValue]:
    """Return the key attributes of a row."""
    declared = BY_NAME[table]
    key = {declared.partition.name: row[declared.partition.name]}
    if declared.sort is not None:
        key[declared.sort.name] = row[declared.sort.name]
    return key


def _index_key(index: Index, row: Mapping[str, ItemValue]) -> dict[str, ItemValue]:
    names = [index.partition.name] + ([] if index.sort is None else [index.sort.name])
    return {name: row[name] for name in names}
