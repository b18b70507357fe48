"""Read chat rows and heads.

A Query returns hundreds of rows, so they are decoded directly from the response's bytes (`RowItem`). `items` converts
single rows; a test checks that both give the same result.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from tidings.delivery.model import ChatRow, JoinPosition, LastMessageRef, LogPosition, RowUpdate
from tidings.delivery.store.epoch_reconciler import EpochReconciler
from tidings.delivery.store.items import OF_A_CHAT, row_from_item, row_key, update_from_item
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError, raise_read_error
from tidings.platform.dynamo.operations import (
    BinaryValue,
    BoolValue,
    IntegerAttribute,
    ItemType,
    StringValue,
    item_type,
)
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import delivery as patterns


class RowItem(Struct, gc=False):
    chat_id: StringValue
    last_sequence: IntegerAttribute | None = None
    last_ordinal: IntegerAttribute | None = None
    last_at: IntegerAttribute | None = None
    last_sender: StringValue | None = None
    last_preview: BinaryValue | None = None
    preview_sequence: IntegerAttribute | None = None
    preview_version: IntegerAttribute | None = None
    preview_expires_at: IntegerAttribute | None = None
    own_sequence: IntegerAttribute | None = None
    own_ordinal: IntegerAttribute | None = None
    joined_sequence: IntegerAttribute | None = None
    joined_ordinal: IntegerAttribute | None = None
    joined_at: IntegerAttribute | None = None
    removed_sequence: IntegerAttribute | None = None
    large: BoolValue | None = None
    other: StringValue | None = None
    epoch: IntegerAttribute | None = None
    last_acked_sequence: IntegerAttribute | None = None
    last_acked_ordinal: IntegerAttribute | None = None
    last_read_sequence: IntegerAttribute | None = None
    read_ordinal: IntegerAttribute | None = None
    read_at: IntegerAttribute | None = None
    muted_until: IntegerAttribute | None = None
    pinned: BoolValue | None = None
    archived: BoolValue | None = None


ROW_ITEM: Final[ItemType[RowItem]] = item_type(RowItem)


def row_from_bytes(item: RowItem) -> ChatRow:
    return ChatRow(
        chat=ChatId(item.chat_id.S.partition("#")[2]),
        known=RowUpdate(
            head=_mark(item.last_sequence, item.last_ordinal),
            shown=_last_message_ref_from(item),
            own=_mark(item.own_sequence, item.own_ordinal),
            joined=_joined(item),
            removed=_number(item.removed_sequence),
            is_large=_is_set(item.large),
            other=None if item.other is None else UserId(item.other.S),
            epoch=_number(item.epoch) or 0,
        ),
        delivered=_mark(item.last_acked_sequence, item.last_acked_ordinal),
        read=_mark(item.last_read_sequence, item.read_ordinal),
        read_at_ms=_number(item.read_at),
        muted_until_ms=_number(item.muted_until),
        is_pinned=_is_set(item.pinned),
        is_archived=_is_set(item.archived),
    )


def _last_message_ref_from(item: RowItem) -> LastMessageRef | None:
    if item.preview_sequence is None:
        return None
    return LastMessageRef(
        sequence=item.preview_sequence.N,
        version=_required(item.preview_version).N,
        at_ms=_required(item.last_at).N,
        sender=UserId(_required(item.last_sender).S),
        preview=None if item.last_preview is None else item.last_preview.B,
        expires_at_s=_number(item.preview_expires_at),
    )


def _joined(item: RowItem) -> JoinPosition | None:
    if item.joined_sequence is None:
        return None
    return JoinPosition(item.joined_sequence.N, _required(item.joined_ordinal).N, _required(item.joined_at).N)


def _mark(sequence: IntegerAttribute | None, ordinal: IntegerAttribute | None) -> LogPosition | None:
    return None if sequence is None else LogPosition(sequence.N, _required(ordinal).N)


def _number(found: IntegerAttribute | None) -> int | None:
    return None if found is None else found.N


def _is_set(found: BoolValue | None) -> bool:
    return found is not None and found.BOOL


def _required[T](found: T | None) -> T:
    """Return an attribute that is always written together with another one."""
    if found is None:
        raise LookupError("a chat row lacks an attribute that is always written together with another one")
    return found


_CHATS_OF = KeyTemplate("{tenant}#")


class DynamoChatRowReader:
    """Rows and heads of another epoch are compared with their logs before they are returned."""

    def __init__(self, client: DynamoClient, reconciler: EpochReconciler) -> None:
        self._client = client
        self._reconciler = reconciler

    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[ChatRow]:
        # The prefix excludes the user's blocks, which have the sort key `block#…` in the same partition.
        query = Query(
            condition="user_id = :u AND begins_with(chat_id, :t)",
            values={":u": user_key(tenant, user), ":t": _CHATS_OF.render(tenant=tenant)},
        )
        found: list[ChatRow] = []
        try:
            async for page in self._client.pages_as(ROW_ITEM, patterns.READ_ROWS, query):
                found += map(row_from_bytes, page.items)
        except DynamoError as error:
            raise_read_error(error)
        return await self._reconciler.rows_in(tenant, user, found)

    async def row(self, chat: ChatKey, user: UserId) -> ChatRow | None:
        try:
            item = await self._client.get(patterns.READ_ROW, row_key(chat, user))
        except DynamoError as error:
            raise_read_error(error)
        return None if item is None else await self._reconciler.row(chat, user, row_from_item(item))

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]:
        keys = [{"chat_id": chat_key(ChatKey(tenant, chat))} for chat in chats]
        try:
            found = await self._client.batch_get(patterns.READ_HEADS, keys) if keys else []
        except DynamoError as error:
            raise_read_error(error)
        heads = {
            ChatId(item["chat_id"].partition("#")[2]): update_from_item(item, OF_A_CHAT) for item in found
        }
        reconciled = [self._reconciler.head(ChatKey(tenant, chat), head) for chat, head in heads.items()]
        return dict(zip(heads, await gather_limited(reconciled), strict=True))
