"""Inboxes in the words of the socket."""

from tidings.notices.config import Inbox
from tidings.notices.model import Sheet
from tidings.notices.read import Notice as Found
from tidings.notices.read import Page
from tidings.wire.frames.notices import InboxCounts, Notice, NoticePage


def counts_of(sheet: Sheet, inbox: Inbox) -> InboxCounts:
    by_code = sheet.by_category
    names = {name: by_code.get(code, 0) for name, code in inbox.codes.items()}
    return InboxCounts(
        inbox=inbox.id,
        version=sheet.stored.version + sheet.wide.version,
        at=sheet.now_ms,
        unread=sheet.total,
        unseen=sheet.unseen,
        categories={name: count for name, count in names.items() if count or name in inbox.categories},
        next_change_at=sheet.next_change_ms,
        broadcasts_up_to=sheet.shown.board.head,
    )


def page_of(page: Page, inbox: Inbox) -> NoticePage:
    return NoticePage(
        notices=tuple(notice_of(each, inbox) for each in page.notices),
        counts=counts_of(page.sheet, inbox),
        below=page.below,
    )


def notice_of(found: Found, inbox: Inbox) -> Notice:
    row, content = found.row, found.content
    return Notice(
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
