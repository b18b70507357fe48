"""Convert items of `delivery_state` and `chat_counters` to rows and heads.

A Query returns hundreds of rows, so these are decoded directly from the response's bytes (`RowItem`). A test checks that
both conversions give the same result.
"""

from typing import Final, NamedTuple

from msgspec import Struct

from tidings.delivery.model import (
    ChatRow,
    JoinPosition,
    LastMessageRef,
    LogPosition,
    NotifyMode,
    RowUpdate,
)
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.operations import (
    BinaryValue,
    BoolValue,
    IntegerAttribute,
    ItemType,
    StringValue,
    item_type,
)
from tidings.schema.tables.items.chats import chat_key, user_key


def row_key(chat: ChatKey, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(chat.tenant, user), "chat_id": chat_key(chat)}


class HeadNames(NamedTuple):
    """The attribute names of a head, which differ between a member's row and a chat's head."""

    sequence: str
    ordinal: str


OF_A_ROW = HeadNames("last_sequence", "last_ordinal")
OF_A_CHAT = HeadNames("sequence_counter", "ordinal")


def row_from_item(item: Item) -> ChatRow:
    muted = item.get("muted_until")
    return ChatRow(
        chat=ChatId(item["chat_id"].partition("#")[2]),
        known=update_from_item(item, OF_A_ROW),
        delivered=_mark(item, "last_acked_sequence", "last_acked_ordinal"),
        read=_mark(item, "last_read_sequence", "read_ordinal"),
        read_at_ms=int(item["read_at"]) if "read_at" in item else None,
        muted_until_ms=None if muted is None else int(muted),
        is_pinned=item.get("pinned", False),
        is_archived=item.get("archived", False),
        notify=_NOTIFY_MODES.get(item.get("notify", "")),
    )


def update_from_item(item: Item, names: HeadNames) -> RowUpdate:
    joined, removed, other = (
        _mark(item, "joined_sequence", "joined_ordinal"),
        item.get("removed_sequence"),
        item.get("other"),
    )
    return RowUpdate(
        head=_mark(item, *names),
        shown=_last_message_ref(item),
        own=_mark(item, "own_sequence", "own_ordinal"),
        joined=None if joined is None else JoinPosition(*joined, int(item["joined_at"])),
        removed=None if removed is None else int(removed),
        is_large=item.get("large", False),
        other=None if other is None else UserId(other),
        entry_at_ms=int(item["entry_at"]) if "entry_at" in item else None,
        quiet_at_ms=int(item["quiet_at"]) if "quiet_at" in item else None,
        epoch=int(item.get("epoch", 0)),
    )


def _mark(item: Item, sequence: str, ordinal: str) -> LogPosition | None:
    found = item.get(sequence)
    return None if found is None else LogPosition(int(found), int(item[ordinal]))


def _last_message_ref(item: Item) -> LastMessageRef | None:
    sequence, expires_at = item.get("preview_sequence"), item.get("preview_expires_at")
    if sequence is None:
        return None
    return LastMessageRef(
        sequence=int(sequence),
        version=int(item["preview_version"]),
        at_ms=int(item["last_at"]),
        sender=UserId(item["last_sender"]),
        preview=item.get("last_preview"),
        expires_at_s=None if expires_at is None else int(expires_at),
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
    quiet_at: IntegerAttribute | None = None
    epoch: IntegerAttribute | None = None
    last_acked_sequence: IntegerAttribute | None = None
    last_acked_ordinal: IntegerAttribute | None = None
    last_read_sequence: IntegerAttribute | None = None
    read_ordinal: IntegerAttribute | None = None
    read_at: IntegerAttribute | None = None
    muted_until: IntegerAttribute | None = None
    pinned: BoolValue | None = None
    archived: BoolValue | None = None
    notify: StringValue | None = None


ROW_ITEM: Final[ItemType[RowItem]] = item_type(RowItem)


def row_from_bytes(item: RowItem) -> ChatRow:
    return ChatRow(
        chat=ChatId(item.chat_id.S.partition("#")[2]),
        known=RowUpdate(
            head=_position_of(item.last_sequence, item.last_ordinal),
            shown=_last_message_of(item),
            own=_position_of(item.own_sequence, item.own_ordinal),
            joined=_join_of(item),
            removed=_number(item.removed_sequence),
            is_large=_is_set(item.large),
            other=None if item.other is None else UserId(item.other.S),
            quiet_at_ms=_number(item.quiet_at),
            epoch=_number(item.epoch) or 0,
        ),
        delivered=_position_of(item.last_acked_sequence, item.last_acked_ordinal),
        read=_position_of(item.last_read_sequence, item.read_ordinal),
        read_at_ms=_number(item.read_at),
        muted_until_ms=_number(item.muted_until),
        is_pinned=_is_set(item.pinned),
        is_archived=_is_set(item.archived),
        notify=_notify_mode(item.notify),
    )


def _last_message_of(item: RowItem) -> LastMessageRef | None:
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


def _join_of(item: RowItem) -> JoinPosition | None:
    if item.joined_sequence is None:
        return None
    return JoinPosition(item.joined_sequence.N, _required(item.joined_ordinal).N, _required(item.joined_at).N)


def _position_of(sequence: IntegerAttribute | None, ordinal: IntegerAttribute | None) -> LogPosition | None:
    return None if sequence is None else LogPosition(sequence.N, _required(ordinal).N)


def _number(found: IntegerAttribute | None) -> int | None:
    return None if found is None else found.N


def _is_set(found: BoolValue | None) -> bool:
    return found is not None and found.BOOL


_NOTIFY_MODES: Final[dict[str, NotifyMode]] = {"a": "all", "m": "mentions", "n": "none"}
"""The stored letter of each mode."""


def _notify_mode(found: StringValue | None) -> NotifyMode | None:
    return None if found is None else _NOTIFY_MODES.get(found.S)


def _required[T](found: T | None) -> T:
    """Return an attribute that is always written together with another one."""
    if found is None:
        raise LookupError("a chat row lacks an attribute that is always written together with another one")
    return found
