"""Convert entries, chat rows and notifications to frames."""

from collections.abc import Iterable
from typing import Any

from tidings.delivery.model import ChatListItem, LastMessageState
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import InboxSnapshot
from tidings.inboxes.queries import NotificationSlice
from tidings.inboxes.queries import VisibleNotification as Found
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings.messages.model import NO_RULES, EntryKind
from tidings.messages.model import Entry as Stored
from tidings.messages.sender import Content
from tidings_wire.frames.history import (
    ChatRow,
    Entry,
    EntryPush,
    EntryRules,
    HistoryPage,
    MessageState,
    Reaction,
)
from tidings_wire.frames.inbox import InboxCounts, Notification, NotificationPage
from tidings_wire.frames.messages import Edit, Send

CHANGES = frozenset({EntryKind.EDIT, EntryKind.REDACTION, EntryKind.REACTION})
"""Entries without content of their own: each changes a message."""

_EMPTY = Content()


def history_page_frame(page: HistorySlice, reader: UserId) -> HistoryPage:
    return HistoryPage(
        after=page.after,
        up_to=page.up_to,
        entries=tuple(entry_frame(shown, reader) for shown in page.entries),
        has_older=page.has_older,
        has_newer=page.has_newer,
    )


def entry_frame(shown: VisibleEntry, reader: UserId, changed: VisibleEntry | None = None) -> Entry:
    return Entry(**_fields(shown, is_own=shown.entry.sender == reader, changed=changed))


def entry_push_frame(
    chat: ChatId, shown: VisibleEntry, *, is_own: bool, changed: VisibleEntry | None = None
) -> EntryPush:
    return EntryPush(chat=chat, **_fields(shown, is_own=is_own, changed=changed))


def message_state_frame(shown: VisibleEntry) -> MessageState:
    stored, content = shown.entry, shown.content or _EMPTY
    return MessageState(
        state=shown.state.value,
        text=content.text,
        data=content.data,
        reply_to=content.reply_to,
        mentions=content.mentions,
        attachments=shown.attachments,
        content_type=stored.content_type,
        edited_at=stored.edited_at_ms,
        redacted_at=stored.redacted_at_ms,
        expires_at=stored.visible_until_ms,
        reactions=_reactions(stored),
    )


def referenced_messages(entries: Iterable[Stored]) -> set[int]:
    """Return the sequences of the messages that these entries changed."""
    return {e.refers_to for e in entries if e.kind in CHANGES and e.refers_to is not None}


def _fields(shown: VisibleEntry, *, is_own: bool, changed: VisibleEntry | None) -> dict[str, Any]:
    """Return the fields of an entry. Only the sender's devices see `client_message_id`: it identifies their own message."""
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
    if stored.attachments and shown.attachments:
        fields["attachments"] = stored.attachments
    if stored.reaction_counts:
        fields["reactions"] = _reactions(stored)
    if stored.kind is not EntryKind.MESSAGE:
        fields |= _non_message_fields(stored)
    if changed is not None:
        fields["changed"] = message_state_frame(changed)
    return fields


def _non_message_fields(stored: Stored) -> dict[str, Any]:
    return {
        "kind": stored.kind.value,
        "refers_to": stored.refers_to,
        "emoji": stored.emoji,
        "name": stored.name,
        "role": None if stored.kind is EntryKind.RULES else stored.role,
        "users": stored.users,
        "member_count": stored.member_count,
        "until": stored.until_ms,
        "reason": stored.reason,
        "rules": _rules(stored) if stored.kind is EntryKind.RULES else None,
    }


def _rules(stored: Stored) -> EntryRules:
    rules = stored.rules or NO_RULES
    return EntryRules(
        is_frozen=rules.is_frozen, slow_mode_s=rules.slow_mode_s, join_rule=stored.role or "closed"
    )


def _reactions(stored: Stored) -> tuple[Reaction, ...]:
    users: dict[str, list[str]] = {}
    for mark in stored.reaction_users:
        emoji, _, user = mark.partition(" ")
        users.setdefault(emoji, []).append(user)
    counts = stored.reaction_counts or {}
    return tuple(Reaction(emoji=e, count=n, users=tuple(users.get(e, ()))) for e, n in counts.items())


def counts_frame(snapshot: InboxSnapshot, inbox: Inbox) -> InboxCounts:
    by_code = snapshot.by_category
    names = {name: by_code.get(code, 0) for name, code in inbox.codes.items()}
    return InboxCounts(
        inbox=inbox.id,
        version=snapshot.stored.version + snapshot.broadcast_state.version,
        at=snapshot.now_ms,
        unread=snapshot.total,
        unseen=snapshot.unseen,
        categories={name: count for name, count in names.items() if count or name in inbox.categories},
        next_change_at=snapshot.next_change_ms,
        broadcasts_up_to=snapshot.shown.log_index.head,
    )


def notification_page_frame(page: NotificationSlice, inbox: Inbox) -> NotificationPage:
    return NotificationPage(
        notifications=tuple(notification_frame(each, inbox) for each in page.notifications),
        counts=counts_frame(page.snapshot, inbox),
        cursor=page.below,
    )


def notification_frame(found: Found, inbox: Inbox) -> Notification:
    row, content = found.row, found.content
    return Notification(
        id=row.id,
        at=row.sent_ms,
        delivered_at=row.delivered_ms or 0,
        message=found.message,
        category=inbox.name_of(row.category),
        sender=content.sender,
        label=content.label,
        host_system_id=row.host_system_id,
        expires_at=row.expires_ms,
        is_read=found.is_read,
        is_seen=found.is_seen,
        is_archived=row.archived_ms is not None,
        version=content.version,
        digest_count=row.gathered or 1,
    )


def chat_row_frame(listed: ChatListItem) -> ChatRow:
    last = listed.last
    return ChatRow(
        chat=listed.chat.chat,
        head=listed.head_sequence,
        unread=listed.unread,
        read=listed.read_sequence,
        name=listed.name,
        members=listed.members,
        at=listed.at_ms,
        by=last.sender if last else None,
        preview=last.text if last and last.text else None,
        last=last.sequence if last else 0,
        state=last.state.value if last else LastMessageState.ACTIVE.value,
        is_muted=listed.muted_until_ms is not None,
        is_pinned=listed.is_pinned,
        is_archived=listed.is_archived,
    )


def content_from_frame(frame: Send | Edit) -> Content:
    return Content(
        text=frame.text,
        data=frame.data,
        reply_to=frame.reply_to,
        mentions=tuple(UserId(user) for user in frame.mentions),
        attachments=frame.attachments if isinstance(frame, Send) else (),
    )
