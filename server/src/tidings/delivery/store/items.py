"""Convert items of `delivery_state` and `chat_counters` to rows and heads."""

from typing import NamedTuple

from tidings.delivery.model import ChatRow, JoinPosition, LastMessageRef, LogPosition, RowUpdate
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings.platform.dynamo.codec import Item, ItemValue
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
