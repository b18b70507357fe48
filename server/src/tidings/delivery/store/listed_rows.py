"""Chat-list rows as a Query of all of a user's gives them: hundreds at a time, so straight from its bytes.

What an attribute means is said in `items`, for rows that come one at a time; a test holds the two together.
"""

from typing import Final

from msgspec import Struct

from tidings.delivery.model import Joined, Mark, News, Row, Shown
from tidings.kernel.ids import ChatId, UserId
from tidings.platform.dynamo.shapes import Binary, Shape, Text, Truth, Whole, shape


class RowItem(Struct, gc=False):
    chat_id: Text
    last_sequence: Whole | None = None
    last_ordinal: Whole | None = None
    last_at: Whole | None = None
    last_sender: Text | None = None
    last_preview: Binary | None = None
    preview_sequence: Whole | None = None
    preview_version: Whole | None = None
    preview_expires_at: Whole | None = None
    own_sequence: Whole | None = None
    own_ordinal: Whole | None = None
    joined_sequence: Whole | None = None
    joined_ordinal: Whole | None = None
    joined_at: Whole | None = None
    removed_sequence: Whole | None = None
    large: Truth | None = None
    other: Text | None = None
    last_acked_sequence: Whole | None = None
    last_acked_ordinal: Whole | None = None
    last_read_sequence: Whole | None = None
    read_ordinal: Whole | None = None
    read_at: Whole | None = None
    muted_until: Whole | None = None
    pinned: Truth | None = None
    archived: Truth | None = None


ROW_ITEM: Final[Shape[RowItem]] = shape(RowItem)


def row_in(item: RowItem) -> Row:
    return Row(
        chat=ChatId(item.chat_id.S.partition("#")[2]),
        known=News(
            head=_mark(item.last_sequence, item.last_ordinal),
            shown=_shown(item),
            own=_mark(item.own_sequence, item.own_ordinal),
            joined=_joined(item),
            removed=_number(item.removed_sequence),
            is_large=_is_set(item.large),
            other=None if item.other is None else UserId(item.other.S),
        ),
        delivered=_mark(item.last_acked_sequence, item.last_acked_ordinal),
        read=_mark(item.last_read_sequence, item.read_ordinal),
        read_at_ms=_number(item.read_at),
        muted_until_ms=_number(item.muted_until),
        is_pinned=_is_set(item.pinned),
        is_archived=_is_set(item.archived),
    )


def _shown(item: RowItem) -> Shown | None:
    if item.preview_sequence is None:
        return None
    return Shown(
        sequence=item.preview_sequence.N,
        version=_there(item.preview_version).N,
        at_ms=_there(item.last_at).N,
        sender=UserId(_there(item.last_sender).S),
        preview=None if item.last_preview is None else item.last_preview.B,
        expires_at_s=_number(item.preview_expires_at),
    )


def _joined(item: RowItem) -> Joined | None:
    if item.joined_sequence is None:
        return None
    return Joined(item.joined_sequence.N, _there(item.joined_ordinal).N, _there(item.joined_at).N)


def _mark(sequence: Whole | None, ordinal: Whole | None) -> Mark | None:
    return None if sequence is None else Mark(sequence.N, _there(ordinal).N)


def _number(found: Whole | None) -> int | None:
    return None if found is None else found.N


def _is_set(found: Truth | None) -> bool:
    return found is not None and found.BOOL


def _there[T](found: T | None) -> T:
    """Written with what stands before it, always."""
    if found is None:
        raise LookupError("half of a chat-list row is missing")
    return found
