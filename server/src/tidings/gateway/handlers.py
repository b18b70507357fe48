"""From a request to its use case and back: one small function for each, and a table of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from tidings.gateway.frames import counts_frame, history_page_frame, notification_page_frame
from tidings.gateway.ports import GatewayUseCases, InboxUseCases
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import InboxId, InboxKey, InboxSnapshot, NotificationId
from tidings.inboxes.queries import NotificationFilter
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.edits import ChangeRequest
from tidings.messages.sender import Content
from tidings_wire.frames.ephemeral import Ack, Presence, Read, Subscribe, Typing, Unsubscribe
from tidings_wire.frames.history import GetHistory, HistoryPage
from tidings_wire.frames.inbox import (
    GetCounts,
    InboxCounts,
    ListNotifications,
    MarkNotifications,
    NotificationPage,
)
from tidings_wire.frames.messages import CommitResult, Edit, React, Redact, Send
from tidings_wire.frames.session import Resume, Resumed
from tidings_wire.frames.structs import Ok

_MAX_CONCURRENT_ACKS = 8
_DONE = Ok()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who is on the other end. The tenant comes from the verified credential alone."""

    tenant: TenantId
    user: UserId
    epoch: int

    def chat(self, name: str) -> ChatKey:
        return ChatKey(self.tenant, ChatId(name))


async def send(cases: GatewayUseCases, caller: RequestContext, asked: Send) -> CommitResult:
    sent = await cases.send(
        caller.chat(asked.chat),
        caller.user,
        ClientKey(asked.client_message_id),
        _content(asked),
        after=asked.after,
        content_type=asked.content_type,
        ttl_s=asked.ttl_seconds,
    )
    return CommitResult(sequence=sent.sequence, is_repeat=sent.is_repeat)


async def edit(cases: GatewayUseCases, caller: RequestContext, asked: Edit) -> CommitResult:
    done = await cases.change.edit(_about(caller, asked), _content(asked))
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def redact(cases: GatewayUseCases, caller: RequestContext, asked: Redact) -> CommitResult:
    done = await cases.change.redact(_about(caller, asked))
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def react(cases: GatewayUseCases, caller: RequestContext, asked: React) -> CommitResult:
    done = await cases.change.react(_about(caller, asked), asked.emoji, is_added=not asked.is_removed)
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def get_history(cases: GatewayUseCases, caller: RequestContext, asked: GetHistory) -> HistoryPage:
    chat, user = caller.chat(asked.chat), caller.user
    if asked.after is not None:
        page = await cases.history.after(chat, user, asked.after, asked.limit)
    elif asked.around is not None:
        page = await cases.history.around(chat, user, asked.around, asked.limit)
    else:
        page = await cases.history.before(chat, user, asked.before, asked.limit)
    return history_page_frame(page, user)


async def mark_read(cases: GatewayUseCases, caller: RequestContext, asked: Read) -> Ok:
    await cases.marking.read(caller.chat(asked.chat), caller.user, asked.sequence)
    return _DONE


async def ack(cases: GatewayUseCases, caller: RequestContext, asked: Ack) -> Ok:
    """All that can be marked are, a few at a time; of the others the first is told."""
    marks = (
        cases.marking.delivered(caller.chat(name), caller.user, at) for name, at in asked.delivered.items()
    )
    await gather_limited(marks, _MAX_CONCURRENT_ACKS)
    return _DONE


async def resume(cases: GatewayUseCases, caller: RequestContext, asked: Resume) -> Resumed:
    """Nothing is pushed ahead of a position yet: a device asks for what it missed with `get_history`."""
    del cases
    is_reset = not asked.counts_in(caller.epoch)
    return Resumed(epoch=caller.epoch, is_reset=is_reset, has_more=asked.has_more)


async def ephemeral_noop(
    cases: GatewayUseCases, caller: RequestContext, asked: Subscribe | Unsubscribe | Typing | Presence
) -> Ok:
    """Where devices have no routes, nobody is told of anybody."""
    del cases, caller, asked
    return _DONE


type Handler = Callable[[GatewayUseCases, RequestContext, Any], Awaitable[Struct]]

CHAT_HANDLERS: Final[Mapping[type[Struct], Handler]] = {
    Send: send,
    Edit: edit,
    Redact: redact,
    React: react,
    GetHistory: get_history,
    Read: mark_read,
    Ack: ack,
    Resume: resume,
    Subscribe: ephemeral_noop,
    Unsubscribe: ephemeral_noop,
    Typing: ephemeral_noop,
    Presence: ephemeral_noop,
}


def _content(asked: Send | Edit) -> Content:
    users = tuple(UserId(user) for user in asked.mentions)
    return Content(text=asked.text, data=asked.data, reply_to=asked.reply_to, mentions=users)


def _about(caller: RequestContext, asked: Edit | Redact | React) -> ChangeRequest:
    key = ClientKey(asked.client_message_id)
    return ChangeRequest(caller.chat(asked.chat), caller.user, key, asked.sequence, asked.after)


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
