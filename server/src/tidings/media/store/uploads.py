"""Uploads in DynamoDB."""

from collections.abc import AsyncIterator, Collection, Mapping

import msgspec

from tidings.kernel.ids import ChatId, ClientKey, TenantId, UserId
from tidings.media.model import CheckState, MediaFacts, Upload, UploadState
from tidings.media.ports import UploadPage
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    TransactionCancelledError,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Delete, Put, Query, Update
from tidings.schema.tables.items.media import SHARDS, TOTAL_SORT, shard_key, shard_of, upload_key
from tidings.schema.tables.patterns import media as patterns

_TABLE = "uploads"
_TOTAL = TOTAL_SORT.render()
PAGE_ROWS = 1_000
_ABSENT = "attribute_not_exists(tenant_shard)"
_ADD_BYTES = "ADD total_bytes :bytes"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(MediaFacts).decode
_OPTIONAL = {
    "expires_ms": "expires_ms",
    "multipart_id": "multipart_id",
    "message_sequence": "sequence",
    "client_message_id": "client_key",
}


class DynamoUploadStore:
    shards = SHARDS

    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def create(self, upload: Upload) -> None:
        put = Put(table=_TABLE, item=_item(upload), condition=_ABSENT)
        with translate_write_errors:
            await self._client.transact_write(
                patterns.CREATE_UPLOAD, [put, _count(upload, upload.size)], repeatable=False
            )

    async def find(self, tenant: TenantId, upload: str) -> Upload | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_UPLOAD, dict(upload_key(tenant, upload)))
        return None if item is None else upload_from_item(tenant, item)

    async def find_many(self, tenant: TenantId, uploads: Collection[str]) -> Mapping[str, Upload]:
        keys: list[Attributes] = [dict(upload_key(tenant, upload)) for upload in dict.fromkeys(uploads)]
        with translate_read_errors:
            items = await self._client.batch_get(patterns.READ_UPLOADS, keys)
        return {item["upload"]: upload_from_item(tenant, item) for item in items}

    async def total_bytes(self, tenant: TenantId) -> int:
        keys: list[Attributes] = [
            {"tenant_shard": shard_key(tenant, shard), "upload": _TOTAL} for shard in range(SHARDS)
        ]
        with translate_read_errors:
            items = await self._client.batch_get(patterns.READ_TOTALS, keys)
        return sum(int(item["total_bytes"]) for item in items)

    async def change_state(self, upload: Upload, to: UploadState) -> bool:
        # A repeated attempt finds its own effect: `to` also fulfils the condition.
        try:
            with translate_write_errors:
                await self._client.update(
                    patterns.CHANGE_UPLOAD,
                    dict(upload_key(upload.tenant, upload.id)),
                    "SET upload_state = :to",
                    condition="upload_state = :before OR upload_state = :to",
                    values={":before": upload.state.value, ":to": to.value},
                    repeatable=True,
                )
        except ConditionFailedError:
            return False
        return True

    async def record_facts(self, upload: Upload, check: CheckState, facts: MediaFacts) -> bool:
        try:
            with translate_write_errors:
                await self._client.update(
                    patterns.RECORD_FACTS,
                    dict(upload_key(upload.tenant, upload.id)),
                    "SET check_state = :check, facts = :facts",
                    condition="upload_state <> :deleting AND (check_state = :waiting OR facts = :facts)",
                    values={
                        ":check": check.value,
                        ":waiting": CheckState.WAITING.value,
                        ":facts": _encode(facts),
                        ":deleting": UploadState.DELETING.value,
                    },
                    repeatable=True,
                )
        except ConditionFailedError:
            return False
        return True

    async def delete(self, upload: Upload) -> bool:
        delete = Delete(
            table=_TABLE,
            key=dict(upload_key(upload.tenant, upload.id)),
            condition="upload_state = :deleting",
            values={":deleting": UploadState.DELETING.value},
        )
        # Repeatable: a second attempt finds no row, and its transaction uncounts nothing.
        try:
            with translate_write_errors:
                await self._client.transact_write(
                    patterns.DELETE_UPLOAD, [delete, _count(upload, -upload.size)], repeatable=True
                )
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            raise
        return True

    async def page(self, tenant: TenantId, shard: int, after: str, /) -> UploadPage:
        partition = shard_key(tenant, shard)
        query = Query(
            condition="tenant_shard = :s",
            values={":s": partition},
            limit=PAGE_ROWS,
            start={"tenant_shard": partition, "upload": after} if after else None,
        )
        with translate_read_errors:
            found = await self._client.query(patterns.LIST_UPLOADS, query)
        uploads = [upload_from_item(tenant, item) for item in found.items if item["upload"] != _TOTAL]
        return UploadPage(uploads, None if found.start is None else found.start["upload"])

    async def list_shard(self, tenant: TenantId, shard: int) -> AsyncIterator[Upload]:
        query = Query(condition="tenant_shard = :s", values={":s": shard_key(tenant, shard)})
        with translate_read_errors:
            async for page in self._client.pages(patterns.LIST_UPLOADS, query):
                for item in page.items:
                    if item["upload"] != _TOTAL:
                        yield upload_from_item(tenant, item)


def _count(upload: Upload, size: int) -> Update:
    key: dict[str, ItemValue] = {
        "tenant_shard": shard_key(upload.tenant, shard_of(upload.id)),
        "upload": _TOTAL,
    }
    return Update(table=_TABLE, key=key, update=_ADD_BYTES, values={":bytes": size})


def _item(upload: Upload) -> Attributes:
    item: dict[str, ItemValue] = {
        **upload_key(upload.tenant, upload.id),
        "upload_state": upload.state.value,
        "owner_id": upload.owner,
        "chat_id": upload.chat,
        "file_name": upload.name,
        "media_type": upload.type,
        "size_bytes": upload.size,
        "sha256": upload.sha256,
        "created_ms": upload.created_ms,
        "check_state": upload.check.value,
    }
    for name, field in _OPTIONAL.items():
        if (value := getattr(upload, field)) is not None:
            item[name] = value
    return item


def upload_from_item(tenant: TenantId, item: Item) -> Upload:
    """Convert an item. The redaction of a message whose upload was deleted before leaves a row without attributes."""
    facts = item.get("facts")
    sequence, expires_ms = item.get("message_sequence"), item.get("expires_ms")
    client_key = item.get("client_message_id")
    return Upload(
        tenant=tenant,
        id=item["upload"],
        owner=UserId(item.get("owner_id", "")),
        chat=ChatId(item.get("chat_id", "")),
        name=item.get("file_name", ""),
        type=item.get("media_type", ""),
        size=int(item.get("size_bytes", 0)),
        sha256=item.get("sha256", ""),
        state=UploadState(item["upload_state"]),
        created_ms=int(item.get("created_ms", 0)),
        expires_ms=None if expires_ms is None else int(expires_ms),
        multipart_id=item.get("multipart_id"),
        sequence=None if sequence is None else int(sequence),
        client_key=None if client_key is None else ClientKey(client_key),
        check=CheckState(item.get("check_state", CheckState.WAITING)),
        facts=MediaFacts() if facts is None else _decode(facts),
    )
