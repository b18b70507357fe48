"""Encode log entries as JSON without pydantic models.

`schemas.messages` describes the output; tests validate every answer against it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tidings.delivery.model import MessageStatus
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.entry_json import entry_fields
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings.search.model import SearchPage

_encode = msgspec.json.Encoder().encode


def entry_response(
    chat: ChatKey, shown: VisibleEntry, reader: UserId, status: MessageStatus | None
) -> Response:
    return _response(_entry(chat, shown, reader, status))


def history_response(
    chat: ChatKey, page: HistorySlice, reader: UserId, statuses: Mapping[int, MessageStatus]
) -> Response:
    return _response(
        {
            "entries": [
                _entry(chat, each, reader, statuses.get(each.entry.sequence)) for each in page.entries
            ],
            "covered_range": {"after": page.after, "up_to": page.up_to},
            "has_older": page.has_older,
            "has_newer": page.has_newer,
        }
    )


def search_response(page: SearchPage[VisibleEntry], reader: UserId, cursor: str | None) -> Response:
    results = [
        {
            "chat": each.chat.chat,
            "message": _entry(each.chat, each.shown, reader, None),
            "highlights": [{"text": part.text, "is_match": part.is_match} for part in each.highlights],
        }
        for each in page.found
    ]
    return _response({"results": results} | ({} if cursor is None else {"cursor": cursor}))


def _response(value: dict[str, Any]) -> Response:
    return Response(_encode(value), media_type="application/json")


def _entry(
    chat: ChatKey, shown: VisibleEntry, reader: UserId, status: MessageStatus | None
) -> dict[str, Any]:
    out = entry_fields(chat, shown)
    if shown.entry.sender == reader:
        out["client_message_id"] = shown.entry.client_key
    if status is not None and status.has_receipts:
        out["status"] = status.status
    return out
