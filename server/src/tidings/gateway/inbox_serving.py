"""What a device asks of its user's inboxes: the same use cases as REST has."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from tidings.gateway.inbox_frames import counts_frame, notification_page_frame
from tidings.gateway.ports import GatewayUseCases, InboxUseCases
from tidings.gateway.serving import Handler, RequestContext
from tidings.kernel.errors import Code, TidingsError
from tidings.notices.config import Inbox
from tidings.notices.model import InboxId, InboxKey, InboxSnapshot, NotificationId
from tidings.notices.read import NotificationFilter
from tidings.wire.frames.notices import (
    GetCounts,
    InboxCounts,
    ListNotifications,
    MarkNotifications,
    NotificationPage,
)


async def get_counts(cases: GatewayUseCases, caller: RequestContext, asked: GetCounts) -> InboxCounts:
    inboxes = _inboxes(cases)
    known = await inboxes.known.of(caller.tenant, asked.inbox)
    return counts_frame(await inboxes.read.counts(_owner(caller, known), asked.at_least), known)


async def list_notifications(
    cases: GatewayUseCases, caller: RequestContext, asked: ListNotifications
) -> NotificationPage:
    inboxes = _inboxes(cases)
    known = await inboxes.known.of(caller.tenant, asked.inbox)
    wanted = NotificationFilter(
        category=None if asked.category is None else known.code_of(asked.category),
        is_unread=asked.is_unread,
        is_archived=asked.is_archived,
    )
    owner = _owner(caller, known)
    page = await inboxes.read.page(owner, asked.limit, wanted, asked.below, asked.at_least)
    return notification_page_frame(page, known)


async def mark_notifications(
    cases: GatewayUseCases, caller: RequestContext, asked: MarkNotifications
) -> InboxCounts:
    inboxes = _inboxes(cases)
    _check(asked)
    known = await inboxes.known.of(caller.tenant, asked.inbox)
    return counts_frame(await _marked(inboxes, _owner(caller, known), known, asked), known)


async def _marked(
    inboxes: InboxUseCases, inbox_key: InboxKey, known: Inbox, asked: MarkNotifications
) -> InboxSnapshot:
    ids, do, known_up_to = [NotificationId(each) for each in asked.ids], inboxes.mark, asked.at_least
    match asked.to:
        case "read" if not ids:
            category = None if asked.category is None else known.code_of(asked.category)
            return await do.read_all(inbox_key, asked.before, category, known_up_to)
        case "read":
            return await do.read(inbox_key, ids, known_up_to)
        case "unread":
            return await do.reopen(inbox_key, ids, known_up_to)
        case "archived":
            return await do.archive(inbox_key, ids, known_up_to)
        case "restored":
            return await do.restore(inbox_key, ids, known_up_to)
        case "seen":
            return await do.see_all(inbox_key, known_up_to)


def _check(asked: MarkNotifications) -> None:
    """`read` takes notices or a time, `seen` neither, the others notices."""
    has_place = asked.before is not None or asked.category is not None
    if has_place and (asked.ids or asked.to != "read"):
        raise TidingsError(Code.REQUEST_INVALID, "`before` and `category` are for `read` without `ids`.")
    if asked.to == "seen" and asked.ids:
        raise TidingsError(Code.REQUEST_INVALID, "`seen` is of the whole inbox, it takes no `ids`.")
    if asked.to not in {"read", "seen"} and not asked.ids:
        raise TidingsError(Code.REQUEST_INVALID, f"`{asked.to}` needs `ids`.")


def _inboxes(cases: GatewayUseCases) -> InboxUseCases:
    if cases.inboxes is None:
        raise TidingsError(Code.UNKNOWN_REQUEST, "This server has no inboxes.")
    return cases.inboxes


def _owner(caller: RequestContext, known: Inbox) -> InboxKey:
    return InboxKey(caller.tenant, caller.user, InboxId(known.id))


INBOX_HANDLERS: Final[Mapping[type[Struct], Handler]] = {
    GetCounts: get_counts,
    ListNotifications: list_notifications,
    MarkNotifications: mark_notifications,
}
