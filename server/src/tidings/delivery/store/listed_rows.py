"""Chat-list rows as a Query of all of a user's gives them: hundreds at a time, so straight from its bytes.

What an attribute means is said in `items`, for rows that come one at a time; a test holds the two together.
"""

from typing import Final

from msgspec import Struct

from tidings.delivery.model import ChatRow, JoinPosition, LastMessageRef, LogPosition, RowUpdate
from tidings.kernel.ids import ChatId, UserId
from tidings.platform.dynamo.shapes import (
    BinaryValue,
    BoolValue,
    IntegerAttribute,
    ItemType,
    StringValue,
    item_type,
)


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
        version=_there(item.preview_version).N,
        at_ms=_there(item.last_at).N,
        sender=UserId(_there(item.last_sender).S),
        preview=None if item.last_preview is None else item.last_preview.B,
        expires_at_s=_number(item.preview_expires_at),
    )


def _joined(item: RowItem) -> JoinPosition | None:
    if item.joined_sequence is None:
        return None
    return JoinPosition(item.joined_sequence.N, _there(item.joined_ordinal).N, _there(item.joined_at).N)


def _mark(sequence: IntegerAttribute | None, ordinal: IntegerAttribute | None) -> LogPosition | None:
    return None if sequence is None else LogPosition(sequence.N, _there(ordinal).N)


def _number(found: IntegerAttribute | None) -> int | None:
    return None if found is None else found.N


def _is_set(found: BoolValue | None) -> bool:
    return found is not None and found.BOOL


def _there[T](found: T | None) -> T:
    """Written with what stands before it, always."""
    if found is None:
        raise LookupError("half of a chat-list row is missing")
    return found
