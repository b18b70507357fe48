"""The JSON form of log entries, as REST answers and webhooks contain it.

Plain dictionaries instead of models: pages of entries are the most frequent large answers of the API, and building and
validating models took as long as the rest of the request (`just bench edge`).
"""

from collections.abc import Mapping
from typing import Any

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, message_id
from tidings.messages.history import VisibleEntry
from tidings.messages.model import NO_RULES, Entry, EntryKind
from tidings.messages.sender import Content

_COPIED = ("content_type", "refers_to", "emoji", "name", "role", "member_count", "reason")
_TIMES = {
    "edited_at": "edited_at_ms",
    "redacted_at": "redacted_at_ms",
    "expires_at": "visible_until_ms",
    "until": "until_ms",
}


def entry_fields(chat: ChatKey, shown: VisibleEntry) -> dict[str, Any]:
    """Return the fields of an entry that every reader receives."""
    entry, state, content = shown
    out: dict[str, Any] = {
        "id": message_id(chat.chat, entry.sequence),
        "sequence": entry.sequence,
        "kind": entry.kind,
        "sender": entry.sender,
        "created_at": format_ms(entry.created_at_ms),
        "state": state,
    }
    if content is not None:
        _add_content(out, content)
    if entry.attachments and shown.attachments:
        out["attachments"] = entry.attachments
    if not _is_untouched(entry):
        _add_rest(out, entry)
    return out


def _is_untouched(entry: Entry) -> bool:
    """Return whether the entry is a message without any field that `_add_rest` adds, as most are."""
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
    for name in _COPIED:
        if (value := getattr(entry, name)) is not None:
            out[name] = value
    for name, field in _TIMES.items():
        if (at_ms := getattr(entry, field)) is not None:
            out[name] = format_ms(at_ms)
    if entry.users:
        out["users"] = entry.users
    if entry.kind is EntryKind.RULES:
        rules = entry.rules or NO_RULES
        out["rules"] = {
            "is_frozen": rules.is_frozen,
            "slow_mode_seconds": rules.slow_mode_s,
            "join_rule": out.pop("role", "closed"),
        }
    if entry.reaction_counts:
        out["reactions"] = _reactions(entry.reaction_counts, entry.reaction_users)


def _reactions(counts: Mapping[str, int], marks: tuple[str, ...]) -> list[dict[str, Any]]:
    users: dict[str, list[str]] = {}
    for mark in marks:
        emoji, _, user = mark.partition(" ")
        users.setdefault(emoji, []).append(user)
    return [{"emoji": emoji, "count": n, "users": users.get(emoji, [])} for emoji, n in counts.items()]
