"""Handlers of client requests, and the table that finds them. To add a request, write a handler and add it to `HANDLERS`."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.frames import (
    content_from_frame,
    counts_frame,
    history_page_frame,
    notification_page_frame,
)
from tidings.gateway.node import GatewayNode
from tidings.gateway.ports import GatewayUseCases, InboxUseCases
from tidings.gateway.preferences import serve_preferences
from tidings.gateway.protocol_state import ConnectionLimits
from tidings.gateway.push_requests import PUSH_REQUESTS, serve_push_request
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import InboxId, InboxKey, InboxSnapshot, NotificationId
from tidings.inboxes.queries import NotificationFilter
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import (
    ChatId,
    ChatKey,
    ClientKey,
    DeviceId,
    DeviceKey,
    Epoch,
    TenantId,
    UserId,
    initial_epoch,
    new_ulid,
)
from tidings.kernel.security import ADDRESS
from tidings.messages.edits import ChangeRequest
from tidings_wire.fields import PROTOCOL
from tidings_wire.frames.ephemeral import Ack, Presence, Read, Subscribe, Typing, Unsubscribe
from tidings_wire.frames.history import GetHistory, HistoryPage
from tidings_wire.frames.inbox import (
    ChangePreferences,
    GetCounts,
    InboxCounts,
    InboxPreferences,
    ListNotifications,
    MarkNotifications,
    NotificationPage,
)
from tidings_wire.frames.messages import CommitResult, Edit, React, Redact, Send
from tidings_wire.frames.session import Connect, Resume, Resumed, Welcome
from tidings_wire.frames.structs import Ok

_MAX_CONCURRENT_ACKS = 8
_OK = Ok()


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerDeps:
    """Dependencies that the handlers of all connections share."""

    cases: GatewayUseCases
    limits: ConnectionLimits
    clock: Clock
    epoch: Epoch = initial_epoch


@final
class RequestContext:
    """One connection, as its handlers see it. `connect` sets the caller; the connection then sets `device`.

    The tenant and the user come only from the verified credential.
    """

    __slots__ = ("_device", "address", "deps", "epoch", "key", "node", "principal")

    def __init__(self, deps: HandlerDeps, address: str, node: GatewayNode) -> None:
        self.deps = deps
        self.address = address
        self.node = node
        self.principal: Principal | None = None
        self.key: DeviceKey | None = None
        self.epoch = 0
        self._device: ConnectedDevice | None = None

    @property
    def cases(self) -> GatewayUseCases:
        return self.deps.cases

    @property
    def device(self) -> ConnectedDevice:
        if self._device is None:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Send `connect` first.")
        return self._device

    def enter(self, device: ConnectedDevice) -> None:
        self._device = device

    @property
    def tenant(self) -> TenantId:
        return self.device.key.tenant

    @property
    def user(self) -> UserId:
        return self.device.user

    def chat(self, name: str) -> ChatKey:
        return ChatKey(self.tenant, ChatId(name))

    async def charge(self, tokens: int) -> int | None:
        """Charge the user for work that a request caused. Return as `RequestLimiter.take`."""
        return await self.cases.limiter.take_work(self.device.principal, tokens)


async def connect(context: RequestContext, frame: Connect) -> Welcome:
    """Verify the credential. The device id comes from the credential, else from the frame, else it is generated."""
    ADDRESS.set(context.address)
    principal = await context.cases.credentials.verify(frame.credential)
    if principal.user is None:
        raise TidingsError(
            Code.FORBIDDEN,
            "The credential does not belong to a user.",
            hint="A socket is one device of one user. The servers of a tenant use REST.",
        )
    device = principal.device or DeviceId(frame.device or new_ulid())
    key = DeviceKey(principal.tenant, principal.user, device)
    context.principal, context.key, context.epoch = principal, key, context.deps.epoch()
    limits = context.deps.limits
    return Welcome(
        protocol=min(frame.protocol, PROTOCOL),
        user=key.user,
        device=key.device,
        epoch=context.epoch,
        at=context.deps.clock.now_ms(),
        heartbeat_s=round(limits.heartbeat_s),
        limits=limits.as_frame(),
        expires_at=principal.expires_at_ms,
    )


async def resume(context: RequestContext, frame: Resume) -> Resumed:
    return await context.node.resuming.resume(context.device, frame, context.epoch, context.charge)


async def send(context: RequestContext, frame: Send) -> CommitResult:
    sent = await context.cases.sender.send(
        context.chat(frame.chat),
        context.user,
        ClientKey(frame.client_message_id),
        content_from_frame(frame),
        after=frame.after,
        content_type=frame.content_type,
        ttl_s=frame.ttl_seconds,
    )
    context.node.acks.cover(context.chat(frame.chat), context.user, sent.sequence)
    return CommitResult(sequence=sent.sequence, is_repeat=sent.is_repeat)


async def edit(context: RequestContext, frame: Edit) -> CommitResult:
    done = await context.cases.edits.edit(_change(context, frame), content_from_frame(frame))
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def redact(context: RequestContext, frame: Redact) -> CommitResult:
    done = await context.cases.edits.redact(_change(context, frame))
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def react(context: RequestContext, frame: React) -> CommitResult:
    done = await context.cases.edits.react(
        _change(context, frame), frame.emoji, is_added=not frame.is_removed
    )
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def get_history(context: RequestContext, frame: GetHistory) -> HistoryPage:
    chat, user, history = context.chat(frame.chat), context.user, context.cases.history
    if frame.after is not None:
        page = await history.after(chat, user, frame.after, frame.limit)
    elif frame.around is not None:
        page = await history.around(chat, user, frame.around, frame.limit)
    else:
        page = await history.before(chat, user, frame.before, frame.limit)
    return history_page_frame(page, user)


async def mark_read(context: RequestContext, frame: Read) -> Ok:
    chat, user = context.chat(frame.chat), context.user
    read = await context.cases.watermarks.read(chat, user, frame.sequence)
    context.node.acks.cover(chat, user, read.sequence)
    return _OK


async def ack(context: RequestContext, frame: Ack) -> Ok:
    """Buffer the acks of entries that this gateway sent, and write the others. Raise the first failure after all."""
    device, acks = context.device, context.node.acks
    for name, at in frame.delivered.items():
        if (position := device.positions.get(ChatId(name))) is not None:
            position.on_ack(at)
    others = [each for each in frame.delivered.items() if not acks.take(device, ChatId(each[0]), each[1])]
    writes = (context.cases.watermarks.delivered(context.chat(name), context.user, at) for name, at in others)
    await gather_limited(writes, _MAX_CONCURRENT_ACKS)
    return _OK


async def subscribe(context: RequestContext, frame: Subscribe) -> Ok:
    context.node.ephemeral.subscribe(context.device, frame)
    return _OK


async def unsubscribe(context: RequestContext, frame: Unsubscribe) -> Ok:
    context.node.ephemeral.unsubscribe(context.device, frame)
    return _OK


async def typing(context: RequestContext, frame: Typing) -> Ok:
    await context.node.ephemeral.typing(context.device, ChatId(frame.chat), is_typing=frame.is_typing)
    return _OK


async def presence(context: RequestContext, frame: Presence) -> Ok:
    if frame.status == "offline":
        raise TidingsError(Code.REQUEST_INVALID, "A connected device is `online` or `away`.")
    context.node.ephemeral.presence(context.device, is_away=frame.status == "away")
    return _OK


async def get_counts(context: RequestContext, frame: GetCounts) -> InboxCounts:
    # Race: a worker changes the inbox after this read. The device watches it before the read, so the change is pushed.
    context.node.inboxes.watch(context.device, frame.inbox)
    inboxes = _inboxes(context)
    inbox = await inboxes.known.of(context.tenant, frame.inbox)
    snapshot = await inboxes.read.counts(_inbox_key(context, inbox), frame.at_least)
    counts = counts_frame(snapshot, inbox)
    context.node.inboxes.on_answered(context.device, frame, counts, snapshot.preferences)
    return counts


async def list_notifications(context: RequestContext, frame: ListNotifications) -> NotificationPage:
    # Watch before the read, as above.
    context.node.inboxes.watch(context.device, frame.inbox)
    inboxes = _inboxes(context)
    inbox = await inboxes.known.of(context.tenant, frame.inbox)
    wanted = NotificationFilter(
        category=None if frame.category is None else inbox.code_of(frame.category),
        is_unread=frame.is_unread,
        is_archived=frame.is_archived,
    )
    key = _inbox_key(context, inbox)
    page = await inboxes.read.page(key, frame.limit, wanted, frame.cursor, frame.at_least)
    answer = notification_page_frame(page, inbox)
    context.node.inboxes.on_answered(context.device, frame, answer, page.snapshot.preferences)
    return answer


async def mark_notifications(context: RequestContext, frame: MarkNotifications) -> InboxCounts:
    inboxes = _inboxes(context)
    _check_mark(frame)
    inbox = await inboxes.known.of(context.tenant, frame.inbox)
    snapshot = await _mark(inboxes, _inbox_key(context, inbox), inbox, frame)
    counts = counts_frame(snapshot, inbox)
    context.node.inboxes.on_answered(context.device, frame, counts, snapshot.preferences)
    return counts


async def change_preferences(context: RequestContext, frame: ChangePreferences) -> InboxPreferences:
    key = InboxKey(context.tenant, context.device.user, InboxId(frame.inbox))
    return await serve_preferences(_inboxes(context).preferences, key, frame)


async def push_request(context: RequestContext, frame: Struct) -> Struct:
    device = context.device
    return await serve_push_request(context.cases.push, device.principal, device.key, frame)


type Handler = Callable[[RequestContext, Any], Awaitable[Struct]]

HANDLERS: Final[Mapping[type[Struct], Handler]] = {
    Connect: connect,
    Resume: resume,
    Send: send,
    Edit: edit,
    Redact: redact,
    React: react,
    GetHistory: get_history,
    Read: mark_read,
    Ack: ack,
    Subscribe: subscribe,
    Unsubscribe: unsubscribe,
    Typing: typing,
    Presence: presence,
    GetCounts: get_counts,
    ListNotifications: list_notifications,
    MarkNotifications: mark_notifications,
    ChangePreferences: change_preferences,
    **dict.fromkeys(PUSH_REQUESTS, push_request),
}
"""The handler of each request. The connection's protocol answers `ping` and `pong` itself."""


def _change(context: RequestContext, frame: Edit | Redact | React) -> ChangeRequest:
    key = ClientKey(frame.client_message_id)
    return ChangeRequest(context.chat(frame.chat), context.user, key, frame.sequence, frame.after)


async def _mark(
    inboxes: InboxUseCases, key: InboxKey, inbox: Inbox, frame: MarkNotifications
) -> InboxSnapshot:
    ids, marker, at_least = [NotificationId(each) for each in frame.ids], inboxes.mark, frame.at_least
    match frame.to:
        case "read" if not ids:
            category = None if frame.category is None else inbox.code_of(frame.category)
            return await marker.read_all(key, frame.before, category, at_least)
        case "read":
            return await marker.read(key, ids, at_least)
        case "unread":
            return await marker.reopen(key, ids, at_least)
        case "archived":
            return await marker.archive(key, ids, at_least)
        case "restored":
            return await marker.restore(key, ids, at_least)
        case "seen":
            return await marker.see_all(key, at_least)


def _check_mark(frame: MarkNotifications) -> None:
    """Check the fields: `read` takes ids or a time, `seen` neither, the others ids."""
    has_range = frame.before is not None or frame.category is not None
    if has_range and (frame.ids or frame.to != "read"):
        raise TidingsError(Code.REQUEST_INVALID, "`before` and `category` require `read` without `ids`.")
    if frame.to == "seen" and frame.ids:
        raise TidingsError(Code.REQUEST_INVALID, "`seen` applies to the whole inbox and takes no `ids`.")
    if frame.to not in {"read", "seen"} and not frame.ids:
        raise TidingsError(Code.REQUEST_INVALID, f"`{frame.to}` requires `ids`.")


def _inboxes(context: RequestContext) -> InboxUseCases:
    if context.cases.inboxes is None:
        raise TidingsError(Code.UNKNOWN_REQUEST, "This server has no inboxes.")
    return context.cases.inboxes


def _inbox_key(context: RequestContext, inbox: Inbox) -> InboxKey:
    return InboxKey(context.tenant, context.user, InboxId(inbox.id))
