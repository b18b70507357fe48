"""Entries of a log as JSON. The one answer that is made by hand: a page of them is what a busy server spends its time on.

`schemas.messages` describes what comes out here; the tests hold every answer against that. Making and checking as
many models took as long as the rest of the request (`just bench edge`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tidings.delivery.model import MessageStatus
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, UserId, message_id
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings.messages.model import Entry, EntryKind
from tidings.messages.sender import Content

_AS_IT_IS = ("content_type", "refers_to", "emoji", "name", "role", "member_count")
_TIMES = {
    "edited_at": "edited_at_ms",
    "redacted_at": "redacted_at_ms",
    "expires_at": "visible_until_ms",
}
_encode = msgspec.json.Encoder().encode


def entry_response(
    chat: ChatKey, shown: VisibleEntry, reader: UserId, status: MessageStatus | None
) -> Response:
    return _answer(_entry(chat, shown, reader, status))


def history_response(
    chat: ChatKey, page: HistorySlice, reader: UserId, statuses: Mapping[int, MessageStatus]
) -> Response:
    return _answer(
        {
            "entries": [
                _entry(chat, each, reader, statuses.get(each.entry.sequence)) for each in page.entries
            ],
            "covered_range": {"after": page.after, "up_to": page.up_to},
            "has_older": page.has_older,
            "has_newer": page.has_newer,
        }
    )


def _answer(value: dict[str, Any]) -> Response:
    return Response(_encode(value), media_type="application/json")


def _entry(
    chat: ChatKey, shown: VisibleEntry, reader: UserId, status: MessageStatus | None
) -> dict[str, Any]:
    entry, state, content = shown
    out: dict[str, Any] = {
        "id": message_id(chat.chat, entry.sequence),
        "sequence": entry.sequence,
        "kind": entry.kind,
        "sender": entry.sender,
        "created_at": format_ms(entry.created_at_ms),
        "state": state,
    }
    if entry.sender == reader:
        out["client_message_id"] = entry.client_key
    if status is not None and status.has_receipts:
        out["status"] = status.status
    if content is not None:
        _add_content(out, content)
    if not _is_untouched(entry):
        _add_rest(out, entry)
    return out


def _is_untouched(entry: Entry) -> bool:
    """A message as it was sent, as nearly all are: what `_add_rest` looks for is not there."""
    return (
        entry.kind is EntryKind.MESSAGE
        and entry.content_type is None
        and entry.visible_until_ms is None
        and entry.edited_at_ms is None
        and entry.redacted_at_ms is None
        and not entry.reaction_counts
    )


def _add_content(out: dict[str, Any], content: Content) -> None:
    out["text"] = content.text
    if content.data is not None:
        out["data"] = content.data
    if content.reply_to is not None:
        out["reply_to"] = content.reply_to
    if content.mentions:
        out["mentions"] = content.mentions


def _add_rest(out: dict[str, Any], entry: Entry) -> None:
    for name in _AS_IT_IS:
        if (value := getattr(entry, name)) is not None:
            out[name] = value
    for name, field in _TIMES.items():
        if (at_ms := getattr(entry, field)) is not None:
            out[name] = format_ms(at_ms)
    if entry.users:
        out["users"] = entry.users
    if entry.reaction_counts:
        out["reactions"] = _reactions(entry.reaction_counts, entry.reaction_users)


def _reactions(counts: Mapping[str, int], marks: tuple[str, ...]) -> list[dict[str, Any]]:
    users: dict[str, list[str]] = {}
    for mark in marks:
        emoji, _, user = mark.partition(" ")
        users.setdefault(emoji, []).append(user)
    return [{"emoji": emoji, "count": n, "users": users.get(emoji, [])} for emoji, n in counts.items()]
