"""Rows and heads as items of `delivery_state` and `chat_counters`, and back. What is empty is left out."""

from typing import NamedTuple

from tidings.delivery.model import Joined, Mark, News, Row, Shown
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings.platform.dynamo.values import Item, Value
from tidings.tables.items.chat import chat_key, user_key


def row_key(chat: ChatKey, user: UserId) -> dict[str, Value]:
    return {"user_id": user_key(chat.tenant, user), "chat_id": chat_key(chat)}


class HeadNames(NamedTuple):
    """The head is spelled differently where it is a member's and where it is the chat's."""

    sequence: str
    ordinal: str


OF_A_ROW = HeadNames("last_sequence", "last_ordinal")
OF_A_CHAT = HeadNames("sequence_counter", "ordinal")


def row_of(item: Item) -> Row:
    muted = item.get("muted_until")
    return Row(
        chat=ChatId(item["chat_id"].partition("#")[2]),
        known=news_in(item, OF_A_ROW),
        delivered=_mark(item, "last_acked_sequence", "last_acked_ordinal"),
        read=_mark(item, "last_read_sequence", "read_ordinal"),
        read_at_ms=int(item["read_at"]) if "read_at" in item else None,
        muted_until_ms=None if muted is None else int(muted),
        is_pinned=item.get("pinned", False),
        is_archived=item.get("archived", False),
    )


def news_in(item: Item, names: HeadNames) -> News:
    joined, removed, other = (
        _mark(item, "joined_sequence", "joined_ordinal"),
        item.get("removed_sequence"),
        item.get("other"),
    )
    return News(
        head=_mark(item, *names),
        shown=_shown(item),
        own=_mark(item, "own_sequence", "own_ordinal"),
        joined=None if joined is None else Joined(*joined, int(item["joined_at"])),
        removed=None if removed is None else int(removed),
        is_large=item.get("large", False),
        other=None if other is None else UserId(other),
    )


def _mark(item: Item, sequence: str, ordinal: str) -> Mark | None:
    found = item.get(sequence)
    return None if found is None else Mark(int(found), int(item[ordinal]))


def _shown(item: Item) -> Shown | None:
    sequence, expires_at = item.get("preview_sequence"), item.get("preview_expires_at")
    if sequence is None:
        return None
    return Shown(
        sequence=int(sequence),
        version=int(item["preview_version"]),
        at_ms=int(item["last_at"]),
        sender=UserId(item["last_sender"]),
        preview=item.get("last_preview"),
        expires_at_s=None if expires_at is None else int(expires_at),
    )
