"""Entries of a log as frames show them."""

from collections.abc import Iterable
from typing import Any

from tidings.kernel.ids import ChatId, UserId
from tidings.messages.content import Content
from tidings.messages.history import Page, Shown
from tidings.messages.model import Entry as Stored
from tidings.messages.model import Kind
from tidings.wire.frames.reading import Changed, Entry, EntryPush, HistoryPage, Reaction

CHANGES = frozenset({Kind.EDIT, Kind.REDACTION, Kind.REACTION})
"""Entries that have no content of their own: they changed a message."""

_EMPTY = Content()


def page_of(page: Page, reader: UserId) -> HistoryPage:
    return HistoryPage(
        after=page.after,
        up_to=page.up_to,
        entries=tuple(entry_of(shown, reader) for shown in page.entries),
        has_older=page.has_older,
        has_newer=page.has_newer,
    )


def entry_of(shown: Shown, reader: UserId, changed: Shown | None = None) -> Entry:
    return Entry(**_fields(shown, is_own=shown.entry.sender == reader, changed=changed))


def push_of(chat: ChatId, shown: Shown, *, is_own: bool, changed: Shown | None = None) -> EntryPush:
    return EntryPush(chat=chat, **_fields(shown, is_own=is_own, changed=changed))


def changed_of(shown: Shown) -> Changed:
    stored, content = shown.entry, shown.content or _EMPTY
    return Changed(
        state=shown.state.value,
        text=content.text,
        data=content.data,
        reply_to=content.reply_to,
        mentions=content.mentions,
        content_type=stored.content_type,
        edited_at=stored.edited_at_ms,
        redacted_at=stored.redacted_at_ms,
        expires_at=stored.visible_until_ms,
        reactions=_reactions(stored),
    )


def referred(entries: Iterable[Stored]) -> set[int]:
    """Messages that these entries changed."""
    return {e.refers_to for e in entries if e.kind in CHANGES and e.refers_to is not None}


def _fields(shown: Shown, *, is_own: bool, changed: Shown | None) -> dict[str, Any]:
    """`client_message_id` only for whom it is: it is how a device finds its own message among others."""
    stored, content = shown.entry, shown.content or _EMPTY
    fields: dict[str, Any] = {
        "sequence": stored.sequence,
        "by": stored.sender,
        "at": stored.created_at_ms,
        "state": shown.state.value,
        "text": content.text,
        "data": content.data,
        "reply_to": content.reply_to,
        "mentions": content.mentions,
        "content_type": stored.content_type,
        "client_message_id": stored.client_key if is_own else None,
        "edited_at": stored.edited_at_ms,
        "redacted_at": stored.redacted_at_ms,
        "expires_at": stored.visible_until_ms,
    }
    if stored.reaction_counts:
        fields["reactions"] = _reactions(stored)
    if stored.kind is not Kind.MESSAGE:
        fields |= _of_no_message(stored)
    if changed is not None:
        fields["changed"] = changed_of(changed)
    return fields


def _of_no_message(stored: Stored) -> dict[str, Any]:
    return {
        "kind": stored.kind.value,
        "refers_to": stored.refers_to,
        "emoji": stored.emoji,
        "name": stored.name,
        "role": stored.role,
        "users": stored.users,
        "member_count": stored.member_count,
    }


def _reactions(stored: Stored) -> tuple[Reaction, ...]:
    users: dict[str, list[str]] = {}
    for mark in stored.reaction_users:
        emoji, _, user = mark.partition(" ")
        users.setdefault(emoji, []).append(user)
    counts = stored.reaction_counts or {}
    return tuple(Reaction(emoji=e, count=n, users=tuple(users.get(e, ()))) for e, n in counts.items())
