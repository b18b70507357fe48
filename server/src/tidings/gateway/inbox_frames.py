"""Inboxes in the words of the socket."""

from tidings.notices.config import Inbox
from tidings.notices.model import InboxSnapshot
from tidings.notices.read import NotificationSlice
from tidings.notices.read import VisibleNotification as Found
from tidings.wire.frames.notices import InboxCounts, Notification, NotificationPage


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
        notices=tuple(notification_frame(each, inbox) for each in page.notifications),
        counts=counts_frame(page.snapshot, inbox),
        below=page.below,
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
    )
