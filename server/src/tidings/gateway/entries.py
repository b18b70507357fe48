"""Entries of a log as frames show them."""

from tidings.kernel.ids import UserId
from tidings.messages.content import Content
from tidings.messages.history import Page, Shown
from tidings.messages.model import Entry as Stored
from tidings.wire.frames.reading import Entry, HistoryPage, Reaction

_EMPTY = Content()


def page_of(page: Page, reader: UserId) -> HistoryPage:
    return HistoryPage(
        after=page.after,
        up_to=page.up_to,
        entries=tuple(entry_of(shown, reader) for shown in page.entries),
        has_older=page.has_older,
        has_newer=page.has_newer,
    )


def entry_of(shown: Shown, reader: UserId) -> Entry:
    """`client_message_id` only for whom it is: it is how a device finds its own message among others."""
    stored, content = shown.entry, shown.content or _EMPTY
    return Entry(
        sequence=stored.sequence,
        by=stored.sender,
        at=stored.created_at_ms,
        kind=stored.kind.value,
        state=shown.state.value,
        text=content.text,
        data=content.data,
        reply_to=content.reply_to,
        mentions=content.mentions,
        content_type=stored.content_type,
        client_message_id=stored.client_key if stored.sender == reader else None,
        edited_at=stored.edited_at_ms,
        redacted_at=stored.redacted_at_ms,
        expires_at=stored.visible_until_ms,
        reactions=_reactions(stored),
        refers_to=stored.refers_to,
        emoji=stored.emoji,
        name=stored.name,
        role=stored.role,
        users=stored.users,
        member_count=stored.member_count,
    )


def _reactions(stored: Stored) -> tuple[Reaction, ...]:
    users: dict[str, list[str]] = {}
    for mark in stored.reaction_users:
        emoji, _, user = mark.partition(" ")
        users.setdefault(emoji, []).append(user)
    counts = stored.reaction_counts or {}
    return tuple(Reaction(emoji=e, count=n, users=tuple(users.get(e, ()))) for e, n in counts.items())
