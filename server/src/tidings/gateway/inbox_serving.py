"""What a device asks of its user's inboxes: the same use cases as REST has."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from tidings.gateway.inbox_frames import counts_of, page_of
from tidings.gateway.ports import InboxCases, UseCases
from tidings.gateway.serving import Caller, Serve
from tidings.kernel.errors import Code, TidingsError
from tidings.notices.config import Inbox
from tidings.notices.model import InboxId, NoticeId, Owner, Sheet
from tidings.notices.read import Filter
from tidings.wire.frames.notices import Counts, InboxCounts, MarkNotices, NoticePage, Notices


async def counts(cases: UseCases, caller: Caller, asked: Counts) -> InboxCounts:
    inboxes = _inboxes(cases)
    known = await inboxes.known.of(caller.tenant, asked.inbox)
    return counts_of(await inboxes.read.counts(_owner(caller, known), asked.at_least), known)


async def notices(cases: UseCases, caller: Caller, asked: Notices) -> NoticePage:
    inboxes = _inboxes(cases)
    known = await inboxes.known.of(caller.tenant, asked.inbox)
    wanted = Filter(
        category=None if asked.category is None else known.code_of(asked.category),
        is_unread=asked.is_unread,
        is_archived=asked.is_archived,
    )
    owner = _owner(caller, known)
    page = await inboxes.read.page(owner, asked.limit, wanted, asked.below, asked.at_least)
    return page_of(page, known)


async def mark(cases: UseCases, caller: Caller, asked: MarkNotices) -> InboxCounts:
    inboxes = _inboxes(cases)
    _check(asked)
    known = await inboxes.known.of(caller.tenant, asked.inbox)
    return counts_of(await _marked(inboxes, _owner(caller, known), known, asked), known)


async def _marked(inboxes: InboxCases, owner: Owner, known: Inbox, asked: MarkNotices) -> Sheet:
    ids, do, known_up_to = [NoticeId(each) for each in asked.ids], inboxes.mark, asked.at_least
    match asked.to:
        case "read" if not ids:
            category = None if asked.category is None else known.code_of(asked.category)
            return await do.read_all(owner, asked.before, category, known_up_to)
        case "read":
            return await do.read(owner, ids, known_up_to)
        case "unread":
            return await do.reopen(owner, ids, known_up_to)
        case "archived":
            return await do.archive(owner, ids, known_up_to)
        case "restored":
            return await do.restore(owner, ids, known_up_to)
        case "seen":
            return await do.see_all(owner, known_up_to)


def _check(asked: MarkNotices) -> None:
    """`read` takes notices or a time, `seen` neither, the others notices."""
    has_place = asked.before is not None or asked.category is not None
    if has_place and (asked.ids or asked.to != "read"):
        raise TidingsError(Code.REQUEST_INVALID, "`before` and `category` are for `read` without `ids`.")
    if asked.to == "seen" and asked.ids:
        raise TidingsError(Code.REQUEST_INVALID, "`seen` is of the whole inbox, it takes no `ids`.")
    if asked.to not in {"read", "seen"} and not asked.ids:
        raise TidingsError(Code.REQUEST_INVALID, f"`{asked.to}` needs `ids`.")


def _inboxes(cases: UseCases) -> InboxCases:
    if cases.inboxes is None:
        raise TidingsError(Code.REQUEST_UNKNOWN, "This server has no inboxes.")
    return cases.inboxes


def _owner(caller: Caller, known: Inbox) -> Owner:
    return Owner(caller.tenant, caller.user, InboxId(known.id))


INBOX_SERVED: Final[Mapping[type[Struct], Serve]] = {Counts: counts, Notices: notices, MarkNotices: mark}
