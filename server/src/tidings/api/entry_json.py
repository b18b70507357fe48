"""Encode log entries and chat lists as JSON without pydantic models.

`schemas.messages` and `schemas.chat_list` describe the output; tests validate every answer against them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tidings.delivery.chat_list import ChatListPage
from tidings.delivery.model import ChatListItem, LastMessage, MessageStatus
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.entry_json import entry_fields
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings.search.model import SearchPage

_encode = msgspec.json.Encoder().encode


def entry_response(
    chat: ChatKey, shown: VisibleEntry, reader: UserId, status: MessageStatus | None
) -> Response:
    return _response(entry_for_reader(chat, shown, reader, status))


def history_response(
    chat: ChatKey, page: HistorySlice, reader: UserId, statuses: Mapping[int, MessageStatus]
) -> Response:
    out: dict[str, Any] = {
        "entries": [
            entry_for_reader(chat, each, reader, statuses.get(each.entry.sequence)) for each in page.entries
        ],
        "covered_range": {"after": page.after, "up_to": page.up_to},
        "has_older": page.has_older,
        "has_newer": page.has_newer,
    }
    if page.archived_up_to:
        out["archived_up_to"] = page.archived_up_to
    return _response(out)


def search_response(page: SearchPage[VisibleEntry], reader: UserId, cursor: str | None) -> Response:
    results = [
        {
            "chat": each.chat.chat,
            "message": entry_for_reader(each.chat, each.shown, reader, None),
            "highlights": [{"text": part.text, "is_match": part.is_match} for part in each.highlights],
        }
        for each in page.found
    ]
    return _response({"results": results} | ({} if cursor is None else {"cursor": cursor}))


def _response(value: dict[str, Any]) -> Response:
    return Response(_encode(value), media_type="application/json")


def entry_for_reader(
    chat: ChatKey, shown: VisibleEntry, reader: UserId, status: MessageStatus | None
) -> dict[str, Any]:
    """Return an entry as one reader receives it: with the client's key on their own entries."""
    out = entry_fields(chat, shown)
    if shown.entry.sender == reader:
        out["client_message_id"] = shown.entry.client_key
    if status is not None and status.has_receipts:
        out["status"] = status.status
    return out


def chat_list_response(page: ChatListPage, cursor: str | None) -> Response:
    out: dict[str, Any] = {
        "chats": list(map(chat_list_fields, page.chats)),
        "unread_chats": page.unread_chats,
    }
    if cursor is not None:
        out["cursor"] = cursor
    return _response(out)


def chat_list_fields(row: ChatListItem) -> dict[str, Any]:
    """Return a chat as the list of its member shows it."""
    out: dict[str, Any] = {
        "id": row.chat.chat,
        "type": row.type,
        "active_at": format_ms(row.at_ms),
        "unread": row.unread,
        "is_member": row.is_member,
        "members": row.members,
        "head_sequence": row.head_sequence,
        "message_count": row.message_count,
        "read_sequence": row.read_sequence,
        "delivered_sequence": row.delivered_sequence,
        "is_pinned": row.is_pinned,
        "is_archived": row.is_archived,
    }
    if row.name is not None:
        out["name"] = row.name
    if row.member_count is not None:
        out["member_count"] = row.member_count
    if row.last is not None:
        out["last"] = _last(row.last)
    if row.muted_until_ms is not None:
        out["muted_until"] = format_ms(row.muted_until_ms)
    if row.notify is not None:
        out["notify"] = row.notify
    return out


def _last(last: LastMessage) -> dict[str, Any]:
    out: dict[str, Any] = {
        "sequence": last.sequence,
        "at": format_ms(last.at_ms),
        "sender": last.sender,
        "state": last.state,
    }
    if last.text:
        out["text"] = last.text
    return out
